"""Transfers in the console in a browser: found by keyboard, copied, filtered in the reader's zone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from app.accounts.rules.roles import Role
from app.sandbox.catalogue import sandbox_id
from app.values.codes import TransferHistoryStatus as Status
from tests.browser.conftest import Visit
from tests.browser.looking import go, leaving
from tests.console.visitor import email_of

pytestmark = pytest.mark.system

SIGNING = sandbox_id(Status.TRANSFER_REQUESTING_REFUND)
COMPLETED = sandbox_id(Status.TRANSFER_COMPLETED)


def clipboard(page: Page) -> str:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    return str(page.evaluate("navigator.clipboard.readText()"))


def test_explorer_link_opens_transfer(visit: Visit) -> None:
    """From any page, without the mouse; a slash in a note is a slash."""
    visit.enter(email_of(Role.OPERATOR))
    page = visit.open(f"/admin/transfers/{COMPLETED}")
    link = page.get_by_role("link", name=re.compile("^Explorer")).first.get_attribute("href")
    page = visit.open("/admin/routes/")
    page.keyboard.press("/")
    page.keyboard.insert_text(f"{link}#eventlog")
    with leaving(page):
        page.keyboard.press("Enter")
    expect(page).to_have_url(f"{visit.base}/admin/transfers/{COMPLETED}")
    note = page.get_by_label("Add a note")
    note.fill("a / in a note is a / in a note")
    note.press("/")
    expect(note).to_be_focused()
    go(page.get_by_role("button", name="Add note"))
    expect(page.locator(".note-text")).to_have_text("a / in a note is a / in a note/")
    page.keyboard.press("/")
    page.keyboard.press("Escape")
    expect(page.get_by_role("searchbox", name="Search")).not_to_be_focused()


def test_what_is_copied_is_whole(visit: Visit) -> None:
    visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit.enter(email_of(Role.VIEWER))
    page = visit.open(f"/admin/transfers/{SIGNING}")
    page.get_by_role("heading", level=1).get_by_role("button").click()
    expect(page.get_by_role("status").filter(has_text="Copied")).to_be_visible()
    assert clipboard(page) == SIGNING
    page.get_by_role("button", name="Copy reply").click()
    page.wait_for_function("navigator.clipboard.readText().then(t => t.includes('Your funds are safe'))")


def test_times_are_filtered_in_the_readers_zone(visit: Visit) -> None:
    visit.enter(email_of(Role.VIEWER))
    page = visit.open("/admin/transfers/")
    page.get_by_text("More filters").click()
    page.get_by_label("Changed from").fill("2026-01-31T12:00")
    wanted = page.evaluate("new Date('2026-01-31T12:00').toISOString()")
    go(page.get_by_role("button", name="Apply"))
    expect(page).to_have_url(re.compile(r"/admin/transfers/\?since=."))
    assert page.evaluate("new URLSearchParams(location.search).get('since')") == wanted
    assert page.evaluate("[...new URLSearchParams(location.search).keys()]") == ["since"]
    expect(page.get_by_label("Changed from")).to_have_value("2026-01-31T12:00")
