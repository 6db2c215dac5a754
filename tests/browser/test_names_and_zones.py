"""In a real browser: a page names its rows, has one zone for its times, and one meaning of 24 hours."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from app import create_app
from app.accounts.rules.roles import Role
from app.db.database import Database
from app.http.application import part_of
from app.webhooks.services.subscriptions import send_test
from tests.applications import close_connections, make_settings
from tests.browser.conftest import DESKTOP, Visit
from tests.browser.looking import findings, go, save
from tests.console.visitor import email_of
from tests.databases import SharedSqlite
from tests.serving.server import Server
from tests.webhooks.services.hooks import to_subjects

PICTURES = os.environ.get("PICTURES", "")
"""A folder for pictures of what was looked at; none are taken without it."""


@pytest.fixture
def hook(server: Server, sandbox: SharedSqlite) -> str:
    """A webhook with a delivery that was written now."""
    app = create_app(make_settings(sandbox.url, doors=("admin",)))
    with app.app_context():
        public_id = str(to_subjects(app, ["0xab"]).public_id)
        send_test(part_of(app, Database), public_id)
        close_connections()
    return public_id


@pytest.fixture
def in_india(browser: Browser, server: Server) -> Iterator[Visit]:
    """A window of somebody whose clock is 5:30 h ahead of UTC."""
    context = browser.new_context(viewport=DESKTOP, locale="en-GB", timezone_id="Asia/Kolkata")
    visit = Visit(context.new_page(), server)
    yield visit
    context.close()
    assert visit.complaints == []


def picture(visit: Visit, name: str) -> None:
    if PICTURES:
        visit.page.screenshot(path=str(Path(PICTURES) / f"{name}.png"), full_page=True)


@pytest.mark.slow
def test_webhook_sends_again_in_readers_zone(in_india: Visit, hook: str) -> None:
    in_india.sign_in(email_of(Role.OPERATOR))
    page = in_india.open(f"/admin/webhooks/{hook}")
    picture(in_india, "webhook")
    assert not findings(page)
    local = datetime.now(UTC) + timedelta(hours=5, minutes=30)
    page.get_by_label("From (UTC+5:30)").fill(f"{local - timedelta(minutes=5):%Y-%m-%dT%H:%M}")
    page.get_by_label("To (UTC+5:30)").fill(f"{local + timedelta(minutes=5):%Y-%m-%dT%H:%M}")
    page.get_by_label("Also what was delivered").check()
    with page.expect_request(f"**/webhooks/{hook}/replay") as sent:
        go(page.get_by_role("button", name="Send again"))
    in_utc = f"since={local - timedelta(hours=5, minutes=35):%Y-%m-%dT%H%%3A%M}"
    assert in_utc in str(sent.value.post_data)
    expect(page.locator("main .message-error")).to_have_count(0)


@pytest.mark.slow
def test_page_of_undo_names_the_chain(visit: Visit) -> None:
    visit.sign_in(email_of(Role.OPERATOR))
    page = visit.open("/admin/chains/1")
    page.get_by_label("Block delay").fill("13")
    go(page.get_by_role("button", name="Preview change"))
    save(page.locator("button[name=confirm]"))
    page = visit.open("/admin/audit/")
    go(page.locator("main tbody a.row-link").first)
    go(page.locator("main a[href^='/admin/history/undo/']"))
    picture(visit, "undo")
    record = page.locator("main dd a[href^='/admin/audit/']")
    expect(record).to_contain_text("Ethereum (1)")
    expect(record).not_to_contain_text("chain 1")


@pytest.mark.slow
def test_errors_of_a_document_name_its_rows(visit: Visit) -> None:
    visit.sign_in(email_of(Role.ADMIN))
    document = json.loads(visit.page.request.get(f"{visit.base}/admin/document/network.json").text())
    of = next(
        n for n, row in enumerate(document["tokens"]) if (row["chain_id"], row["symbol"]) == (1, "USDT")
    )
    document["tokens"][of]["decimal"] = -1
    page = visit.open("/admin/document/")
    page.locator("textarea[name=text]").fill(json.dumps(document))
    page.locator("main form button.primary").click()
    error = page.locator("main .message-error").first
    expect(error).to_contain_text(f"token USDT on Ethereum (tokens[{of}].decimal)")
    picture(visit, "document")
    visit.complaints[:] = [each for each in visit.complaints if "400 (BAD REQUEST)" not in each]


@pytest.mark.slow
def test_charts_of_the_clock_say_since_when(visit: Visit) -> None:
    visit.sign_in(email_of(Role.VIEWER))
    page = visit.open("/admin/")
    picture(visit, "dashboard")
    assert not findings(page)
    for panel in ("trend", "fees"):
        text = page.locator(f"#{panel}").text_content() or ""
        assert "24 hours" not in text
        assert "By the hour, since" in text
    page = visit.open("/admin/?period=month#trend")
    picture(visit, "dashboard-days")
    assert "By the day of UTC, since" in (page.locator("#trend").text_content() or "")
