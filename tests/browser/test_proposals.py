"""Two people at two browsers: one proposes, the other sees the same and approves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from app.accounts.rules.roles import Role
from tests.browser.conftest import DESKTOP, Visit
from tests.browser.looking import go, save
from tests.console.visitor import email_of
from tests.serving.server import Server

pytestmark = pytest.mark.slow

WHY = "the vault's operator asks for less"


@pytest.fixture
def second(browser: Browser, server: Server) -> Iterator[Visit]:
    """Somebody else's window."""
    context = browser.new_context(viewport=DESKTOP, locale="en-GB")
    visit = Visit(context.new_page(), server)
    yield visit
    context.close()
    assert visit.complaints == []


def waiting(page: Page) -> Locator:
    """How many proposals wait, in the menu."""
    return page.get_by_role("link", name="Proposals").locator(".badge")


def test_a_fee_is_changed_by_two(visit: Visit, second: Visit) -> None:
    visit.sign_in(email_of(Role.OPERATOR))
    page = visit.open("/admin/pegged_pairs/1")
    fee = page.locator("input[name=burn_base_fee]")
    wanted = str(int(fee.input_value()) + 1)
    fee.fill(wanted)
    go(page.get_by_role("button", name="Preview change"))
    page.get_by_label("Reason").fill(WHY)
    visit.check_accessibility()
    go(page.get_by_role("button", name="Propose change"))
    expect(page).to_have_url(f"{visit.base}/admin/proposals/1")
    visit.check_accessibility()
    expect(page.get_by_role("button", name="Withdraw proposal")).to_be_visible()
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    assert visit.open("/admin/pegged_pairs/1").locator("input[name=burn_base_fee]").input_value() != wanted

    second.sign_in(email_of(Role.ADMIN))
    other = second.open("/admin/")
    assert waiting(other).inner_text().startswith("1")
    go(other.get_by_role("link", name="Proposals"))
    second.check_accessibility()
    go(other.get_by_role("row").filter(has_text=WHY).get_by_role("link"))
    second.check_accessibility()
    save(other.get_by_role("button", name="Approve change"))
    assert "Audit record" in other.get_by_role("status").first.inner_text()
    second.check_accessibility()
    expect(waiting(other)).to_have_count(0)
    assert visit.open("/admin/pegged_pairs/1").locator("input[name=burn_base_fee]").input_value() == wanted
