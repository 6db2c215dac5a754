"""Signing in with a second factor, as a person does it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from app.accounts.rules.roles import Role
from tests.browser.conftest import Visit
from tests.browser.looking import go
from tests.console.second_factor import code_of
from tests.console.visitor import email_of

pytestmark = pytest.mark.system


def test_second_factor_from_setup_to_use(visit: Visit) -> None:
    page = visit.sign_in(email_of(Role.VIEWER))
    expect(page.get_by_role("heading", name="Dashboard")).to_be_visible()
    visit.open("/admin/account/")
    go(page.get_by_role("link", name="Set up authenticator app"))
    go(page.get_by_role("button", name="Set up authenticator app"))
    expect(page.get_by_alt_text("The key as a QR code")).to_be_visible()
    visit.check_accessibility()
    key = page.locator("code.break").inner_text()
    page.get_by_label("code").fill(code_of(key))
    go(page.get_by_role("button", name="Turn on"))
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    go(page.get_by_role("link", name="Not now"))
    codes = page.locator("dl.facts").filter(has_text="Authenticator app")
    expect(codes.locator("dd").first).to_contain_text("on")
    go(page.get_by_role("button", name="Sign out", exact=True))

    visit.give_password(email_of(Role.VIEWER))
    expect(page.get_by_role("heading", name="Second factor")).to_be_visible()
    visit.check_accessibility()
    page.get_by_label("code").fill("000000")
    go(page.get_by_role("button", name="Continue"))
    expect(page.locator(".field-error")).to_be_visible()
    page.get_by_label("code").fill(code_of(key, 1))  # this period's is used up
    go(page.get_by_role("button", name="Continue"))
    expect(page.get_by_role("heading", name="Dashboard")).to_be_visible()
