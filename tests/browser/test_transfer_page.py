"""The page of a transfer in a real browser: on a phone, in both themes, keeping itself up to date."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from app import create_app
from app.db.database import Database
from app.feed.services.ingest import Intake, ingest_lines
from app.http.application import part_of
from app.sandbox.catalogue import sandbox_id
from app.values.codes import TransferHistoryStatus as Status
from tests.applications import close_connections, make_settings
from tests.browser.conftest import NewWindow, Visit
from tests.browser.looking import PHONE, findings, go
from tests.databases import SharedSqlite
from tests.serving.server import Server

pytestmark = pytest.mark.system

PATHS = (
    "/transfer/",
    *(f"/transfer/{sandbox_id(status)}" for status in Status if status is not Status.TRANSFER_UNKNOWN),
    f"/transfer/{sandbox_id(Status.TRANSFER_UNKNOWN, 1)}",
    f"/transfer/0x{'99' * 32}",
    "/transfer/not.a.key",
)
MAIN_PATHS = (
    "/transfer/",
    f"/transfer/{sandbox_id(Status.TRANSFER_WAITING_FOR_FUND_RELEASE)}",
    f"/transfer/{sandbox_id(Status.TRANSFER_TO_BE_REFUNDED)}",
    f"/transfer/0x{'99' * 32}",
)
"""A page of each kind: the form, one that goes on by itself, one with something to do, one of nothing."""

WAIT = "**/v2/waitTransferStatus?*"
MOVING = sandbox_id(Status.TRANSFER_WAITING_FOR_FUND_RELEASE)
SOON = 2
"""Seconds from the commit of a change to the page that shows it; polling would take longer."""

SAID = """
window.said = [];
new MutationObserver(() => window.said.push(document.getElementById("announce").textContent))
    .observe(document.getElementById("announce"), { childList: true, characterData: true, subtree: true });
"""
"""Notes what is said aloud."""


@pytest.fixture
def phone(new_window: NewWindow) -> Visit:
    """A window as wide as a phone."""
    visit = new_window(viewport=PHONE, timezone_id="Asia/Tokyo", has_touch=True)
    visit.page.route(WAIT, lambda _: None)  # nothing happens, until a test says otherwise
    return visit


def look_at(visit: Visit, path: str) -> Page:
    """A page that may be a 404, of which the browser complains by itself."""
    assert visit.page.goto(visit.base + path)
    visit.complaints = [each for each in visit.complaints if "status of 40" not in each]
    return visit.page


Happen = Callable[..., float]


@pytest.fixture(scope="module")
def happen(sandbox: SharedSqlite) -> Iterator[Happen]:
    """Reports events, as a reporter does while somebody looks; returns when they were in the database."""
    app = create_app(make_settings(sandbox.url))

    def report(*events: dict[str, object]) -> float:
        with app.app_context():
            at = {"at": datetime.now(UTC).isoformat()}
            verdict = ingest_lines(
                part_of(app, Database),
                part_of(app, Intake),
                [json.dumps(each | at).encode() for each in events],
                "test",
            )
            assert verdict.accepted == len(events)
            close_connections()
        return time.monotonic()

    yield report


@pytest.mark.parametrize(
    "paths", [pytest.param(MAIN_PATHS, id="main"), pytest.param(PATHS, id="all", marks=pytest.mark.slow)]
)
def test_pages_are_accessible_at_every_width(phone: Visit, paths: Sequence[str]) -> None:
    found = []
    for path in paths:
        page = look_at(phone, path)
        for details in page.locator("details").all():
            details.evaluate("details => { details.open = true; }")
        found += [f"{path}: {each}" for each in findings(page)]
    phone.complaints = [each for each in phone.complaints if "status of 40" not in each]
    assert not found, "\n" + "\n".join(found)


def released(name: str, transfer_id: str) -> dict[str, object]:
    return {
        "type": "transfer.released",
        "id": name,
        "transfer_id": transfer_id,
        "dst_tx_hash": "0x" + "77" * 32,
    }


def test_change_is_shown_by_itself(phone: Visit, happen: Happen) -> None:
    """What the feed reports is there soon: in place and said aloud. Then no more requests are sent."""
    requested: list[str] = []
    phone.page.unroute(WAIT)
    phone.page.on(
        "request", lambda request: requested.append(request.url) if "waitTransfer" in request.url else None
    )
    with phone.page.expect_request(WAIT):
        page = look_at(phone, f"/transfer/{MOVING}")
    page.evaluate("document.body.dataset.same = 'yes'")
    page.evaluate(SAID)
    page.wait_for_timeout(300)  # until the gateway has it among those who wait
    happened = happen(released("browser-1", MOVING))
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("^Paid out on"), timeout=10_000)
    assert time.monotonic() - happened < SOON
    expect(page.get_by_role("status").filter(has_text="Paid out on")).to_have_count(1)
    assert page.evaluate("window.said") == [page.get_by_role("heading", level=1).text_content()]
    assert page.evaluate("document.body.dataset.same") == "yes", "in place, not loaded again"
    assert page.title().startswith("Paid out on")
    query = dict(part.split("=") for part in requested[0].partition("?")[2].split("&"))
    assert (query["transfer_id"], query["after_status"]) == (MOVING, "4")
    assert 1 <= int(query["timeout"]) <= 30
    before = len(requested)
    page.wait_for_timeout(1500)
    assert len(requested) == before, "a finished transfer is not requested again"


def test_page_polls_when_wait_is_not_served(phone: Visit, happen: Happen) -> None:
    """The page then names no operation to wait by, so the browser has no error to show."""
    moving = sandbox_id(Status.TRANSFER_SUBMITTING, 1)
    requested: list[str] = []
    phone.page.on("request", lambda request: requested.append(request.url))
    phone.page.route(f"**/transfer/{moving}", without_wait)
    page = phone.open(f"/transfer/{moving}")
    happen(released("browser-2", moving))
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("^Paid out"), timeout=15_000)
    assert not [each for each in requested if "waitTransfer" in each]


def without_wait(route: Route) -> None:
    """The page as a gateway renders it that serves no wait, but for when it polls."""
    answer = route.fetch()
    text, count = re.subn(r' data-waits="[^"]+"', "", answer.text())
    assert count == 1
    route.fulfill(response=answer, body=soon_again(text))


def soon_again(page: str) -> str:
    return re.sub(r'data-next-poll="\d+"', 'data-next-poll="2"', page)


def test_page_polls_where_nothing_waits(phone: Visit) -> None:
    """Every so many seconds as the page names, also after the gateway was away."""
    refusals = [503, 404]
    refused: list[str] = []

    def refuse(route: Route) -> None:
        refused.append(route.request.url)
        route.fulfill(status=refusals[min(len(refused), len(refusals)) - 1])

    phone.page.route(WAIT, refuse)
    path = f"/transfer/{sandbox_id(Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION)}"
    page = phone.page
    loads: list[int] = []

    def load(route: Route) -> None:
        loads.append(1)
        if len(loads) == 2:
            route.abort()
            return
        answer = route.fetch()
        body = soon_again(answer.text())
        if len(loads) > 2:
            body = body.replace("Being checked", "Checked meanwhile")
        route.fulfill(response=answer, body=body)

    page.route(f"**{path}", load)
    page.goto(phone.base + path)
    expect(page.get_by_text("We cannot be reached at the moment")).to_be_visible(timeout=8_000)
    expect(page.get_by_role("heading", level=1)).to_have_text("Being checked")
    expect(page.get_by_role("heading", level=1)).to_have_text("Checked meanwhile", timeout=15_000)
    expect(page.get_by_text("We cannot be reached at the moment")).to_be_hidden()
    for _ in range(2):
        with page.expect_request(f"**{path}"):
            pass
    assert len(refused) == 2, "after 503 again, and after 404 of a proxy no more"
    phone.complaints = [each for each in phone.complaints if not re.search("503|404|ERR_FAILED", each)]


def test_copies_are_whole_and_times_local(phone: Visit) -> None:
    phone.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = look_at(phone, f"/transfer/{sandbox_id(Status.TRANSFER_REFUND_TO_BE_CONFIRMED)}")
    page.get_by_text("Confirm the refund yourself").click()
    page.locator("[data-copy-from=argument-2]").click()
    expect(page.get_by_role("status").filter(has_text="Copied")).to_have_count(1)
    shown = page.locator("#argument-2").text_content()
    assert shown and shown.startswith("[0x") and page.evaluate("navigator.clipboard.readText()") == shown
    time = page.locator("time[datetime]").first
    expected = time.evaluate(
        "time => new Date(time.dateTime).toLocaleString('en-GB', {hour: '2-digit', minute: '2-digit', "
        "timeZone: 'Asia/Tokyo'})"
    )
    assert str(time.text_content()).endswith(expected)


def test_refund_is_requested_with_the_keyboard(phone: Visit) -> None:
    wanted = sandbox_id(Status.TRANSFER_TO_BE_REFUNDED, 3)
    page = look_at(phone, f"/transfer/{wanted}")
    page.get_by_role("button", name="Request the refund").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Your refund is being prepared")
    assert page.url.endswith(f"/transfer/{wanted}")


def test_page_is_whole_without_scripts(browser: Browser, server: Server) -> None:
    moving = sandbox_id(Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION, 1)
    context = browser.new_context(java_script_enabled=False, viewport=PHONE)
    page = context.new_page()
    base = f"http://{server.host}:{server.port}"
    page.goto(f"{base}/transfer/")
    page.get_by_label("Transfer id").fill(f" https://etherscan.io/tx/{moving} ")
    go(page.get_by_role("button", name="Look up"))
    expect(page).to_have_url(f"{base}/transfer/{moving}")
    assert page.locator("meta[http-equiv=refresh]").get_attribute("content") is not None
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator("[data-copy-from]").first).to_be_hidden()
    context.close()
