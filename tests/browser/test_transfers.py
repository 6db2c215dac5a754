"""An operator at work: finds a user's transfer, follows a refund, copies what they answer with."""

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

SIGNING = sandbox_id(Status.TRANSFER_REQUESTING_REFUND)
COMPLETED = sandbox_id(Status.TRANSFER_COMPLETED)


def clipboard(page: Page) -> str:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    return str(page.evaluate("navigator.clipboard.readText()"))


def source_transaction(page: Page) -> str:
    found = page.locator("dt:text-is('Source transaction') + dd [data-copy]").get_attribute("data-copy")
    assert found
    return found


@pytest.mark.slow
def test_find_a_transfer_by_its_transaction(visit: Visit) -> None:
    visit.sign_in(email_of(Role.VIEWER))
    page = visit.open(f"/admin/transfers/{COMPLETED}")
    tx_hash = source_transaction(page)
    page.keyboard.press("/")
    box = page.get_by_role("searchbox", name="Search")
    expect(box).to_be_focused()
    box.fill(f"  {tx_hash[2:].upper()} ")
    with leaving(page):
        box.press("Enter")
    expect(page).to_have_url(f"{visit.base}/admin/transfers/{COMPLETED}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Completed")
    link = page.get_by_role("link", name=re.compile("^Explorer")).first
    assert str(link.get_attribute("href")).endswith(f"/tx/{tx_hash}")


@pytest.mark.slow
def test_link_from_user_opens_transfer(visit: Visit) -> None:
    """From anywhere, without the mouse; and a note for whoever looks next."""
    visit.sign_in(email_of(Role.OPERATOR))
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


@pytest.mark.slow
def test_follow_a_refund_signer_by_signer(visit: Visit) -> None:
    visit.sign_in(email_of(Role.VIEWER))
    page = visit.open("/admin/transfers/")
    page.get_by_label("Status").select_option("In a refund")
    go(page.get_by_role("button", name="Apply"))
    go(page.locator(f"a[href='/admin/transfers/{SIGNING}']"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("Refund being signed")
    expect(page.locator("[aria-current=step]")).to_contain_text("Signed by a quorum")
    signers = page.get_by_role("region", name="Signers").locator("tbody tr")
    expect(signers).to_have_count(5)
    waiting = signers.filter(has_text="Not signed")
    assert 0 < waiting.count() < 5
    assert waiting.first.locator("meter").bounding_box()
    page.locator(".stage", has_text="Refund requested").get_by_text("1 event").click()
    expect(page.locator(".stage", has_text="Refund requested").locator(".event")).to_contain_text(
        "Reported by"
    )


@pytest.mark.slow
def test_what_is_copied_is_whole(visit: Visit) -> None:
    visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit.sign_in(email_of(Role.VIEWER))
    page = visit.open(f"/admin/transfers/{SIGNING}")
    page.get_by_role("heading", level=1).get_by_role("button").click()
    expect(page.get_by_role("status").filter(has_text="Copied")).to_be_visible()
    assert clipboard(page) == SIGNING
    page.get_by_role("button", name="Copy reply").click()
    page.wait_for_function("navigator.clipboard.readText().then(t => t.includes('Your funds are safe'))")


@pytest.mark.slow
def test_times_are_filtered_in_the_readers_zone(visit: Visit) -> None:
    visit.sign_in(email_of(Role.VIEWER))
    page = visit.open("/admin/transfers/")
    page.get_by_text("More filters").click()
    page.get_by_label("Changed from").fill("2026-01-31T12:00")
    wanted = page.evaluate("new Date('2026-01-31T12:00').toISOString()")
    go(page.get_by_role("button", name="Apply"))
    expect(page).to_have_url(re.compile(r"/admin/transfers/\?since=."))
    assert page.evaluate("new URLSearchParams(location.search).get('since')") == wanted
    assert page.evaluate("[...new URLSearchParams(location.search).keys()]") == ["since"]
    expect(page.get_by_label("Changed from")).to_have_value("2026-01-31T12:00")


@pytest.mark.slow
def test_refused_and_passing_estimate(visit: Visit) -> None:
    visit.sign_in(email_of(Role.VIEWER))
    page = visit.open("/admin/estimates/")
    page.get_by_label("From").select_option("1")
    page.get_by_label("To", exact=True).select_option("56")
    page.get_by_label("Token").select_option("USDT")
    page.get_by_label("Amount").fill("100000000")
    go(page.get_by_role("button", name="Estimate"))
    expect(page.get_by_role("heading", name="Refused: You can transfer up to")).to_be_visible()
    expect(page.locator(".check-refused")).to_contain_text("Within the source pool's inbound limit")
    go(page.locator(".suggestions a").first)
    expect(page.get_by_role("heading", name=re.compile("^Receives .* USDT"))).to_be_visible()
