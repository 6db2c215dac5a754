"""What every page does in a real browser: focus after an error, Escape, one format of times."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from app.accounts.rules.roles import Role
from tests.browser.conftest import Visit
from tests.browser.looking import PHONE, go
from tests.console.visitor import email_of

pytestmark = pytest.mark.system


def test_first_wrong_field_has_focus(visit: Visit) -> None:
    visit.enter(email_of(Role.OPERATOR))
    page = visit.open("/admin/chains/1")
    page.get_by_label("Name").fill(" ")
    go(page.get_by_role("button", name="Preview change"))
    expect(page.get_by_label("Name")).to_be_focused()
    expect(page).to_have_title(re.compile("^Error: "))
    page.goto(page.url)
    expect(page).not_to_have_title(re.compile("^Error: "))


def test_first_field_describes_wrong_password(visit: Visit) -> None:
    page = visit.open("/admin/sign-in")
    visit.give_password("someone@example.org", "wrong password")
    expect(page.get_by_label("Email")).to_be_focused()
    expect(page.get_by_label("Email")).to_have_accessible_description("Wrong email or password.")
    visit.check_accessibility()


def test_escape_closes_menu(visit: Visit) -> None:
    """The skip link is reached first."""
    visit.enter(email_of(Role.VIEWER))
    visit.page.set_viewport_size(PHONE)
    page = visit.open("/admin/audit/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    button = page.get_by_role("button", name="Menu")
    page.keyboard.press("Tab")
    expect(button).to_be_focused()
    page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Escape")
    expect(button).to_have_attribute("aria-expanded", "false")
    expect(button).to_be_focused()


def test_audit_page_formats_all_times_alike(visit: Visit) -> None:
    visit.enter(email_of(Role.VIEWER))
    page = visit.open("/admin/audit/")
    texts = page.locator("main time").all_inner_texts()
    assert texts
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", text) for text in texts), texts
