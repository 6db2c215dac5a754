"""The dashboard in a browser: it refreshes itself, nothing moves, and it says when it cannot."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect
from sqlalchemy import Engine, create_engine, text

from app.accounts.rules.roles import Role
from tests.browser.conftest import Visit
from tests.browser.looking import go
from tests.console.visitor import email_of
from tests.databases import SharedSqlite

pytestmark = pytest.mark.system

STUCK = "#tiles li:first-child .tile-number"
INTERVAL = 16_000


@pytest.fixture
def rows(sandbox: SharedSqlite) -> Iterator[Engine]:
    """The server's database: what is changed here came from a reporter as far as a page can tell."""
    engine = create_engine(sandbox.url)
    yield engine
    engine.dispose()


def opened(visit: Visit) -> None:
    """The dashboard, whose time goes when it is told to."""
    visit.enter(email_of(Role.OPERATOR))
    visit.page.clock.install()
    visit.open("/admin/")


def later(visit: Visit) -> None:
    with visit.page.expect_response("**/admin/refresh*"):
        visit.page.clock.fast_forward(INTERVAL)


def test_it_refreshes_itself_and_nothing_moves(visit: Visit, rows: Engine) -> None:
    opened(visit)
    page = visit.page
    page.locator("#trend > .panel > summary").click()
    page.locator("#trend details.numbers summary").click()
    page.locator("#tiles a").first.focus()
    page.locator("#pools").scroll_into_view_if_needed()
    place = page.locator("#pools").bounding_box()
    chart = page.locator("#trend-chart").element_handle()
    before = page.locator(STUCK).text_content() or ""
    with rows.begin() as connection:
        gone = "SELECT transfer_id FROM transfers WHERE status = 7 LIMIT 1"
        connection.execute(text(f"UPDATE transfers SET status = 5 WHERE transfer_id = ({gone})"))
    later(visit)
    page.wait_for_function(
        "([selector, old]) => document.querySelector(selector).textContent !== old", arg=[STUCK, before]
    )
    assert int(page.locator(STUCK).text_content() or "") == int(before) - 1
    # Chromium scrolls by whole pixels, also where what is above grew by a part of one.
    assert page.locator("#pools").bounding_box() == pytest.approx(place, abs=0.5)
    assert page.locator("#trend details.numbers").get_attribute("open") is not None
    assert page.evaluate("document.activeElement.getAttribute('href')") == "#stuck"
    assert chart.evaluate("canvas => canvas.isConnected"), "a chart is drawn on"
    assert page.locator("#not-refreshed").is_hidden()


def test_refresh_pauses_fails_and_ends_with_the_session(visit: Visit, rows: Engine) -> None:
    opened(visit)
    page, note = visit.page, visit.page.locator("#not-refreshed")
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.get_by_role("button", name="Pause updates").click()
    page.clock.fast_forward(4 * INTERVAL)
    assert not [url for url in requested if "/refresh" in url]
    page.route("**/admin/refresh*", lambda route: route.fulfill(status=503, body=""))
    with page.expect_response("**/admin/refresh*"):  # at once: the interval is over
        page.get_by_role("button", name="Resume updates").click()
    note.wait_for(state="visible")
    assert "could not be loaded" in note.inner_text() and "Showing data of" in note.inner_text()
    visit.check_accessibility()
    page.unroute("**/admin/refresh*")
    later(visit)
    note.wait_for(state="hidden")
    visit.complaints.clear()  # the browser's own, of the 503
    with rows.begin() as connection:
        connection.execute(text("UPDATE operator_sessions SET ended_at = seen_at, ended_why = 'everywhere'"))
    later(visit)
    go(note.get_by_role("link", name="Sign in"))
    expect(page.get_by_label("Password")).to_be_visible()
    assert "refresh" not in page.url
