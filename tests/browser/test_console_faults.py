"""In a real browser: what was typed is kept, times are the reader's, and a phone shows State and Stop."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, expect

from app.accounts.rules.roles import Role
from tests.browser.conftest import DESKTOP, Visit
from tests.browser.looking import PHONE, go
from tests.console.visitor import email_of
from tests.serving.server import Server

ENDED = "console error: Failed to load resource: the server responded with a status of 401 (UNAUTHORIZED)"


@pytest.mark.slow
def test_input_returns_after_signing_in(visit: Visit, browser: Browser, server: Server) -> None:
    visit.sign_in(email_of(Role.OPERATOR))
    page = visit.open("/admin/chains/1")
    page.get_by_label("Name").fill("Ethereum, as typed")
    elsewhere = browser.new_context()
    other = Visit(elsewhere.new_page(), server)
    other.sign_in(email_of(Role.OPERATOR))
    other.page.on("dialog", lambda dialog: dialog.accept())
    other.open("/admin/account/").get_by_role("button", name="Sign out everywhere").click()
    other.page.wait_for_url("**/sign-in*")
    elsewhere.close()
    go(page.get_by_role("button", name="Preview change"))
    assert "You signed out everywhere from another browser." in page.locator("main").inner_text()
    assert visit.complaints == [ENDED]
    visit.complaints.clear()
    visit.check_accessibility()
    go(page.get_by_role("link", name="Sign in"))
    visit.give_password(email_of(Role.OPERATOR))
    page.wait_for_url("**/admin/account/kept")
    visit.check_accessibility()
    go(page.get_by_role("button", name="Send again"))
    expect(page).to_have_url(f"{visit.base}/admin/chains/1")
    assert "Ethereum, as typed" in page.locator(".diff").inner_text()
    assert page.evaluate("sessionStorage.length") == 0


@pytest.mark.slow
def test_what_another_person_typed_is_not_shown(visit: Visit) -> None:
    visit.sign_in(email_of(Role.VIEWER))
    kept = '{"who": "somebody@else", "action": "/admin/chains/1", "fields": [["name", "theirs"]]}'
    visit.page.evaluate("kept => sessionStorage.setItem('console-kept', kept)", kept)
    page = visit.open("/admin/account/kept")
    assert "Nothing is kept in this window" in page.locator("main").inner_text()
    assert "theirs" not in page.content()
    assert page.evaluate("sessionStorage.length") == 0


@pytest.mark.slow
def test_times_are_typed_in_the_readers_zone(browser: Browser, server: Server) -> None:
    context = browser.new_context(viewport=DESKTOP, locale="en-GB", timezone_id="Asia/Kolkata")
    visit = Visit(context.new_page(), server)
    visit.sign_in(email_of(Role.OPERATOR))
    page = visit.open("/admin/blocked_addresses/1")
    end = page.get_by_label("Ends (UTC+5:30)")
    end.fill("2027-01-31T18:00")
    go(page.get_by_role("button", name="Preview change"))
    assert page.locator('.diff time[datetime="2027-01-31T12:30:00Z"]').inner_text() == "2027-01-31 18:00:00"
    go(page.get_by_role("button", name="Back to form"))
    assert page.get_by_label("Ends (UTC+5:30)").input_value() == "2027-01-31T18:00"
    page = visit.open("/admin/audit/")
    for name in ("since", "until"):
        page.locator(f"input[name={name}]").fill("2026-11-22")
    go(page.get_by_role("button", name="Apply"))
    day = "since=2026-11-21T18%3A30%3A00.000Z&until=2026-11-22T18%3A30%3A00.000Z"
    expect(page).to_have_url(f"{visit.base}/admin/audit/?{day}")
    expect(page.locator("input[name=until]")).to_have_value("2026-11-22")
    page = visit.open("/admin/transfers/?since=2026-11-21T10:00:30Z")
    assert page.locator("input[name=since]").input_value() == "2026-11-21T15:30"
    go(page.get_by_role("button", name="Apply"))
    untouched = re.compile(r"since=2026-11-21T10(:|%3A)00(:|%3A)30")
    expect(page, "what is not touched keeps its seconds").to_have_url(untouched)
    assert visit.complaints == []
    context.close()


@pytest.mark.parametrize(
    "scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)]
)
@pytest.mark.slow
def test_a_phone_shows_state_and_stop(visit: Visit, scheme: str) -> None:
    visit.page.emulate_media(color_scheme=scheme)
    visit.sign_in(email_of(Role.ADMIN))
    visit.page.set_viewport_size(PHONE)

    def on_screen(selector: str) -> bool:
        boxes = [each.bounding_box() for each in visit.page.locator(selector).all()]
        return bool(boxes) and all(
            box and box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"] for box in boxes
        )

    visit.open("/admin/chains/")
    assert on_screen("td .pill") and on_screen('a[href$="/stop"]')
    visit.open("/admin/")
    assert on_screen("#freshness .pill") and on_screen("#stuck .pill")
    visit.open("/admin/transfers/?stuck=user")
    assert on_screen("td .pill") and on_screen("td input")
    visit.check_accessibility()
    visit.open("/admin/account/")
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
