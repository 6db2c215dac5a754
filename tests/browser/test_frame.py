"""What every page does in a real browser: focus after an error, kept input, and times of its reader."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from app import create_app
from app.accounts.rules.roles import Role
from app.db.database import Database
from app.http.application import part_of
from app.webhooks.services.subscriptions import send_test
from tests.applications import close_connections, make_settings
from tests.browser.conftest import NewWindow, Visit
from tests.browser.looking import PHONE, go
from tests.console.visitor import email_of
from tests.databases import SharedSqlite
from tests.serving.server import Server
from tests.webhooks.services.hooks import to_subjects

pytestmark = pytest.mark.system

INDIA = "Asia/Kolkata"
ENDED = "console error: Failed to load resource: the server responded with a status of 401 (UNAUTHORIZED)"


def test_first_wrong_field_has_focus(visit: Visit) -> None:
    visit.enter(email_of(Role.OPERATOR))
    page = visit.open("/admin/chains/1")
    page.get_by_label("Name").fill(" ")
    go(page.get_by_role("button", name="Preview change"))
    expect(page.get_by_label("Name")).to_be_focused()
    expect(page).to_have_title(re.compile("^Error: "))
    page.goto(page.url)
    expect(page).not_to_have_title(re.compile("^Error: "))


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


def test_input_returns_after_signing_in(visit: Visit, new_window: NewWindow) -> None:
    visit.enter(email_of(Role.OPERATOR))
    page = visit.open("/admin/chains/1")
    page.get_by_label("Name").fill("Ethereum, as typed")
    other = new_window()
    other.enter(email_of(Role.OPERATOR))
    other.page.on("dialog", lambda dialog: dialog.accept())
    other.open("/admin/account/").get_by_role("button", name="Sign out everywhere").click()
    other.page.wait_for_url("**/sign-in*")
    go(page.get_by_role("button", name="Preview change"))
    assert "You signed out everywhere from another browser." in page.locator("main").inner_text()
    assert visit.complaints == [ENDED]
    visit.complaints.clear()
    go(page.get_by_role("link", name="Sign in"))
    visit.give_password(email_of(Role.OPERATOR))
    page.wait_for_url("**/admin/account/kept")
    visit.check_accessibility()
    go(page.get_by_role("button", name="Send again"))
    expect(page).to_have_url(f"{visit.base}/admin/chains/1")
    assert "Ethereum, as typed" in page.locator(".diff").inner_text()
    assert page.evaluate("sessionStorage.length") == 0


def test_kept_page_hides_input_of_other_account(visit: Visit) -> None:
    visit.enter(email_of(Role.VIEWER))
    visit.open("/admin/account/")
    kept = '{"who": "somebody@else", "action": "/admin/chains/1", "fields": [["name", "theirs"]]}'
    visit.page.evaluate("kept => sessionStorage.setItem('console-kept', kept)", kept)
    page = visit.open("/admin/account/kept")
    assert "This window has no input to send" in page.locator("main").inner_text()
    assert "theirs" not in page.content()
    assert page.evaluate("sessionStorage.length") == 0


def test_times_are_typed_in_readers_zone(new_window: NewWindow) -> None:
    visit = new_window(timezone_id=INDIA)
    visit.enter(email_of(Role.OPERATOR))
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


@pytest.fixture
def hook(server: Server, sandbox: SharedSqlite) -> str:
    """A webhook with a delivery that was written now."""
    app = create_app(make_settings(sandbox.url, doors=("admin",)))
    with app.app_context():
        public_id = str(to_subjects(app, ["0xab"]).public_id)
        send_test(part_of(app, Database), public_id)
        close_connections()
    return public_id


def test_webhook_sends_again_in_readers_zone(new_window: NewWindow, hook: str) -> None:
    visit = new_window(timezone_id=INDIA)
    visit.enter(email_of(Role.OPERATOR))
    page = visit.open(f"/admin/webhooks/{hook}")
    local = datetime.now(UTC) + timedelta(hours=5, minutes=30)
    page.get_by_label("From (UTC+5:30)").fill(f"{local - timedelta(minutes=5):%Y-%m-%dT%H:%M}")
    page.get_by_label("To (UTC+5:30)").fill(f"{local + timedelta(minutes=5):%Y-%m-%dT%H:%M}")
    page.get_by_label("Also events that were delivered").check()
    with page.expect_request(f"**/webhooks/{hook}/replay") as sent:
        go(page.get_by_role("button", name="Send again"))
    in_utc = f"since={local - timedelta(hours=5, minutes=35):%Y-%m-%dT%H%%3A%M}"
    assert in_utc in str(sent.value.post_data)
    expect(page.locator("main .message-error")).to_have_count(0)


def test_phone_shows_state_and_stop(visit: Visit) -> None:
    visit.enter(email_of(Role.ADMIN))
    visit.page.set_viewport_size(PHONE)

    def on_screen(selector: str) -> bool:
        boxes = [each.bounding_box() for each in visit.page.locator(selector).all()]
        return bool(boxes) and all(
            box and box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"] for box in boxes
        )

    visit.open("/admin/chains/")
    assert on_screen("td .pill") and on_screen('a[href$="/stop"]')
    visit.open("/admin/transfers/?stuck=user")
    assert on_screen("td .pill") and on_screen("td input")
