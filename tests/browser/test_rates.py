"""A token is connected with a curve that its pools do not fit: the pages say so before it is saved."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from app.accounts.rules.roles import Role
from tests.browser.conftest import Visit
from tests.browser.looking import go
from tests.console.visitor import email_of

pytestmark = pytest.mark.system

BASE = 8453
CONFIG_MAX_AGE_MILLISECONDS = 1_100
CONNECT = f"/admin/connect/token?chain={BASE}&symbol=USDT"
PREVIEW = "main form .form-actions button.primary"
CONFIRM = "button[name=confirm]"


def connected(visit: Visit) -> Page:
    """The form of USDT on Base, sent with little liquidity beside pools of millions."""
    visit.enter(email_of(Role.OPERATOR))
    page = visit.open(CONNECT)
    page.locator("main [name=token0_address]").fill(f"0x{7:040x}")
    page.locator("main [name=token0_liquidity]").fill("250000")
    go(page.locator(PREVIEW))
    return page


def test_unfit_curve_is_not_saved_unconfirmed(visit: Visit) -> None:
    page = connected(visit)
    reasons = page.locator("main .field-error").all_inner_texts()
    assert reasons, "the curves of the other chain do not fit"
    assert all("is not copied: " in reason for reason in reasons)
    visit.check_look()
    for rate in page.locator("main input[name$=_rate][aria-invalid=true]").all():
        rate.fill("curve 20")
    go(page.locator(PREVIEW))
    trials = page.locator("#trials")
    expect(trials.locator(".effect-grave").first).to_be_visible()
    expect(trials).to_contain_text("differs from 1 by more than 1 %")
    visit.check_look()
    go(page.locator(CONFIRM))
    expect(page.locator("main .message-error").first).to_contain_text("Type “USDT” to confirm")
    page.locator("main [name=typed]").fill("usdt")
    go(page.locator(CONFIRM))
    page.wait_for_timeout(CONFIG_MAX_AGE_MILLISECONDS)  # then every worker has it
    page = visit.open("/admin/")
    far = page.locator("#rates")
    expect(far).to_contain_text("USDT from Base")
    visit.check_look()
