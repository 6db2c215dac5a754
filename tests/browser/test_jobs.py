"""What operators come for, done in a browser and counted; ``pytest -s`` prints the figures.

Things are found by what they do, not by their words. That the page is accessible meanwhile, and each word in
its place, is for the other modules to say.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask import Flask
from playwright.sync_api import Page, expect
from sqlalchemy import Engine, create_engine, text

from app import create_app
from app.accounts.rules.roles import Role
from app.credentials.services.issuing import issue, new_token
from app.db.database import Database
from app.sandbox.catalogue import sandbox_id
from app.values.codes import TransferHistoryStatus as Status
from app.webhooks.services.subscriptions import send_test
from tests.actors import TESTER
from tests.applications import Editing, close_connections, make_settings
from tests.browser.answers import code, estimate, in_time
from tests.browser.conftest import Visit
from tests.browser.looking import go, leaving, saved
from tests.browser.work import Ledger
from tests.console.visitor import email_of
from tests.databases import SharedSqlite
from tests.serving.server import Server
from tests.webhooks.services.hooks import to_subjects

OPTIMISM, POLYGON, NEW = 10, 137, 8454
CONFIRM = "button[name=confirm]"
PREVIEW = "main form.form .form-actions button.primary"
RESTORE = "main a[href*='/restore/']"
MOST_CLICKS_TO_CONNECT = 15
MOST_CLICKS_TO_CONNECT_A_TOKEN, MOST_FIELDS = 4, 9
COMPLETED = sandbox_id(Status.TRANSFER_COMPLETED)


@pytest.fixture(scope="module")
def ledger() -> Iterator[Ledger]:
    """Where every job of the module is written down."""
    ledger = Ledger()
    yield ledger
    print(ledger.table())


@pytest.fixture
def rows(sandbox: SharedSqlite) -> Iterator[Engine]:
    """The server's database."""
    engine = create_engine(sandbox.url)
    yield engine
    engine.dispose()


@pytest.fixture
def app(sandbox: SharedSqlite) -> Iterator[Flask]:
    """A process beside the server, on its database."""
    app = create_app(make_settings(sandbox.url, doors=("admin",)))
    with app.app_context():
        yield app
        close_connections()


def value(rows: Engine, question: str) -> Any:
    """The one value that a statement answers."""
    with rows.connect() as connection:
        return connection.scalar(text(question))


def stopped(rows: Engine) -> set[int]:
    """The chains that are stopped, of those that these jobs stop."""
    with rows.connect() as connection:
        found = connection.scalars(
            text("SELECT chain_id FROM chains WHERE disabled AND chain_id IN (10, 137)")
        )
        return set(found)


def at(visit: Visit, path: str) -> Page:
    """Signed in, and where the job starts."""
    visit.sign_in(email_of(Role.OPERATOR))
    return visit.open(path)


def test_a_chain_is_stopped_and_resumed(visit: Visit, server: Server, rows: Engine, ledger: Ledger) -> None:
    page = at(visit, "/admin/chains/")
    with ledger.job("stop a chain", page) as work:
        work.go(f"main a[href='/admin/chains/{OPTIMISM}/stop']")
        expect(page.locator("[name=disabled_reason]")).to_be_focused()
        work.fill("[name=disabled_reason]", "RPC compromised")
        work.fill("[name=typed]", "OPTIMISM")
        work.go(CONFIRM)
        saved(page)
    assert stopped(rows) == {OPTIMISM}
    in_time(server, lambda answer: code(answer) == 500, src=OPTIMISM, dst=1)
    page = visit.open("/admin/")
    with ledger.job("resume a chain, from the banner of any page", page) as work:
        work.go(f".incidents a[href='/admin/chains/{OPTIMISM}/resume']")
        work.go(CONFIRM)
        saved(page)
    assert stopped(rows) == set()
    in_time(server, lambda answer: code(answer) is None, src=OPTIMISM, dst=1)


@pytest.mark.slow
def test_two_chains_are_stopped_at_once(visit: Visit, rows: Engine, ledger: Ledger) -> None:
    page = at(visit, "/admin/chains/")
    several = "#several button:not([formaction]):not([type])"
    with ledger.job("stop two chains at once", page) as work:
        for chain in (OPTIMISM, POLYGON):
            work.click(f"main input[type=checkbox][name=chain][value='{chain}']")
        work.go(several)
        work.fill("[name=disabled_reason]", "RPC compromised")
        work.fill("[name=typed]", "stop 2 chains")
        work.go(CONFIRM)
        saved(page)
    assert stopped(rows) == {OPTIMISM, POLYGON}
    page = visit.open("/admin/chains/")
    with ledger.job("resume both", page) as work:
        for chain in (OPTIMISM, POLYGON):
            work.click(f"main input[type=checkbox][name=chain][value='{chain}']")
        work.go("#several button[formaction]")
        work.go(CONFIRM)
        saved(page)
    assert stopped(rows) == set()


@pytest.mark.slow
def test_a_cap_is_raised_in_tokens(visit: Visit, rows: Engine, ledger: Ledger) -> None:
    page = at(visit, "/admin/pools/")
    pool = value(rows, "SELECT id FROM pools WHERE chain_id = 1 AND symbol = 'USDT'")
    with ledger.job("raise a cap in tokens", page) as work:
        work.go(f"main a.row-link[href='/admin/pools/{pool}']")
        work.fill("[name=total_cap]", "80 000 000.5")
        work.go(PREVIEW)
        work.go(CONFIRM)
        saved(page)
    assert int(value(rows, f"SELECT total_cap FROM pools WHERE id = {pool}")) == 80_000_000_500_000


@pytest.mark.slow
def test_a_fee_is_rolled_back(visit: Visit, server: Server, rows: Engine, ledger: Ledger) -> None:
    route = value(
        rows, "SELECT id FROM routes WHERE symbol = 'USDT' AND src_chain_id = 1 AND dst_chain_id = 56"
    )
    fee = f"SELECT base_fee FROM routes WHERE id = {route}"
    before, served = value(rows, fee), estimate(server)["base_fee"]
    page = at(visit, f"/admin/routes/{route}")
    page.locator("[name=base_fee]").fill("12")
    go(page.locator(PREVIEW))
    go(page.locator(CONFIRM))
    saved(page)
    assert value(rows, fee) != before
    page = visit.open(f"/admin/routes/{route}")
    with ledger.job("roll a fee back", page) as work:
        work.go("main a[href^='/admin/history/?subject=']")
        work.go(page.locator(RESTORE).first)
        work.go(CONFIRM)
        saved(page)
    assert value(rows, fee) == before
    in_time(server, lambda answer: answer["base_fee"] == served)


@pytest.mark.slow
def test_fees_are_changed_and_undone(visit: Visit, rows: Engine, ledger: Ledger) -> None:
    fees = (
        "SELECT group_concat(base_fee) FROM (SELECT base_fee FROM routes WHERE dst_chain_id = 56 ORDER BY id)"
    )
    before = value(rows, fees)
    page = at(visit, "/admin/routes/")
    with ledger.job("double the base fees of all routes to a chain", page) as work:
        work.go("main a[href='/admin/routes/base-fees']")
        work.choose("[name=dst_chain_id]", "56")
        work.choose("[name=how]", "factor")
        work.fill("[name=factor]", "2")
        work.go(PREVIEW)
        work.go(CONFIRM)
        saved(page)
    assert (work.clicks, work.fields) <= (4, 3)
    assert value(rows, fees) != before
    page = visit.open("/admin/audit/")
    with ledger.job("undo that change", page) as work:
        work.go(page.locator("main tbody a.row-link").first)
        work.go("main a[href^='/admin/history/undo/']")
        work.go(CONFIRM)
        saved(page)
    assert (work.clicks, work.fields) == (3, 0)
    assert value(rows, fees) == before


@pytest.mark.slow
def test_a_token_of_a_reporter_is_replaced(
    visit: Visit, editing: Editing, rows: Engine, ledger: Ledger
) -> None:
    issue(*editing, new_token("a-reporter"), actor=TESTER)
    valid = "SELECT count(*) FROM ingest_tokens WHERE name = 'a-reporter' AND revoked_at IS NULL"
    visit.sign_in(email_of(Role.ADMIN))
    page = visit.open("/admin/ingest_tokens/")
    with ledger.job("replace the token of a reporter", page) as work:
        work.go("main tbody a.row-link:has-text('a-reporter')")
        work.go("main form[action$='/rotate'] button")
        assert value(rows, valid) == 2
        work.go("main a[href^='/admin/ingest_tokens/']")
        work.go("main tbody tr:has-text('old') a.row-link")
        typed = page.locator("label[for=typed] code").inner_text()
        work.fill("[name=typed]", typed)
        work.go("main form[action$='/revoke'] button")
    assert work.clicks <= 6
    assert value(rows, valid) == 1


@pytest.mark.slow
def test_a_delivery_that_failed_is_sent_again(
    visit: Visit, app: Flask, database: Database, rows: Engine, ledger: Ledger
) -> None:
    hook = to_subjects(app, ["0xab"]).public_id
    send_test(database, hook)
    with rows.begin() as connection:
        later = "UPDATE webhook_deliveries SET attempts = 1, next_at = '2999-01-01 00:00:00.000000'"
        connection.execute(text(later))
    page = at(visit, "/admin/webhooks/")
    with ledger.job("retry a delivery of a webhook", page) as work:
        work.go(f"main a[href='/admin/webhooks/{hook}']")
        work.go("main form[action*='/retry'] button")
    assert work.clicks == 2
    assert value(rows, "SELECT count(*) FROM webhook_deliveries WHERE next_at < '2999-01-01'") == 1


@pytest.mark.slow
def test_a_network_is_blocked_for_a_day(visit: Visit, rows: Engine, ledger: Ledger) -> None:
    page = at(visit, "/admin/blocked_networks/")
    now = datetime.now(UTC)
    with ledger.job("block a network for a day", page) as work:
        work.go("main a[href='/admin/blocked_networks/new']")
        work.fill("[name=text]", "198.51.100.0/24")
        work.fill("[name=reason]", "a drill")
        work.click("[data-end] input[type=radio][value='24h']")
        work.go(PREVIEW)
        work.go(CONFIRM)
        saved(page)
    ends = value(rows, "SELECT expires_at FROM blocked_networks WHERE cidr = '198.51.100.0/24'")
    lasts = datetime.fromisoformat(ends).replace(tzinfo=UTC) - now
    assert abs(lasts - timedelta(hours=24)) < timedelta(minutes=2)


@pytest.mark.slow
def test_the_sender_of_a_transfer_is_blocked(visit: Visit, rows: Engine, ledger: Ledger) -> None:
    page = at(visit, f"/admin/transfers/{COMPLETED}")
    with ledger.job("block the sender of a transfer", page) as work:
        work.go("main a[href^='/admin/blocked_addresses/new?address=']")
        expect(page.locator("[name=reason]")).to_be_focused()
        work.fill("[name=reason]", "stolen key")
        work.go(PREVIEW)
        work.go(CONFIRM)
        saved(page)
    assert (work.clicks, work.fields) == (3, 1)
    assert value(rows, "SELECT count(*) FROM blocked_addresses WHERE reason = 'stolen key'") == 1


@pytest.mark.slow
def test_explorer_url_finds_transfer(visit: Visit, ledger: Ledger) -> None:
    page = at(visit, f"/admin/transfers/{COMPLETED}")
    link = page.locator("main a[href*='/tx/']").first.get_attribute("href")
    page = visit.open("/admin/routes/")
    with ledger.job("find a transfer from an explorer URL", page) as work:
        work.press("/")
        work.paste(f"{link}#eventlog")
        with leaving(page):
            work.press("Enter")
        expect(page).to_have_url(f"{visit.base}/admin/transfers/{COMPLETED}")
    assert work.clicks == 0


@pytest.mark.slow
def test_a_new_chain_is_connected_and_estimated(visit: Visit, server: Server, ledger: Ledger) -> None:
    page = at(visit, "/admin/")
    with ledger.job("connect a chain and get a live estimate on it", page) as work:
        work.go("nav a[href='/admin/chains/']")
        work.go("main a[href='/admin/connect/']")
        work.choose("[name=like]", str(OPTIMISM))
        work.go(PREVIEW)
        for name, typed in (("id", str(NEW)), ("name", "New"), ("explore_url", "https://explorer.example")):
            work.fill(f"main [name={name}]", typed)
        tokens = page.locator("main input[name^=token][name$=address]")
        for number, contract in enumerate(tokens.all()):
            work.fill(contract, f"0x{number + 1:040x}")
        for liquidity in page.locator("main input[name^=token][name$=liquidity]").all():
            work.fill(liquidity, "100000")
        work.go("main form .form-actions button.primary")
        work.go(CONFIRM)
        expect(page).to_have_url(re.compile(rf"/admin/estimates/.*{NEW}"))
        in_time(server, lambda answer: code(answer) is None, src=1, dst=NEW)
        work.go("main form button.primary")
        expect(page.locator("main .outcome.message-success")).to_be_visible()
    assert work.clicks <= MOST_CLICKS_TO_CONNECT
    for ends in ({"src": 1, "dst": NEW}, {"src": NEW, "dst": 1}):
        assert int(estimate(server, **ends)["estimated_receive_amt"]) > 0


@pytest.mark.slow
def test_a_token_is_connected_and_estimated(visit: Visit, server: Server, ledger: Ledger) -> None:
    page = at(visit, "/admin/")
    with ledger.job("connect a token with pool and routes, to a live estimate", page) as work:
        work.go("nav a[href='/admin/tokens/']")
        work.choose("main [name=chain]", str(POLYGON))
        offered = page.locator("main [name=symbol] option").all_inner_texts()
        assert offered == ["Choose …", "AI", "BUSD", "OOKI", "SDN"], "what Polygon lacks"
        work.choose("main [name=symbol]", "BUSD")
        work.go("main form[action$='/connect/token'] button")
        work.fill("main [name=token0_address]", f"0x{5:040x}")
        work.fill("main [name=token0_liquidity]", "100000")
        work.go("main form .form-actions button.primary")
        work.go(CONFIRM)
        expect(page).to_have_url(re.compile(rf"/admin/estimates/\?src={POLYGON}&dst=.*BUSD"))
        expect(page.locator("main .outcome.message-success")).to_be_visible()
    assert work.clicks <= MOST_CLICKS_TO_CONNECT_A_TOKEN
    assert work.fields <= MOST_FIELDS
    for ends in ({"src": POLYGON, "dst": 1}, {"src": 1, "dst": POLYGON}):
        in_time(server, lambda answer: code(answer) is None, token="BUSD", amt=10**20, **ends)
        assert int(estimate(server, token="BUSD", amt=10**20, **ends)["estimated_receive_amt"]) > 0


@pytest.mark.slow
def test_chosen_chains_limit_tokens_offered(visit: Visit) -> None:
    page = at(visit, "/admin/")
    for path, chains, token in (
        ("pools/new", "[name=chain_id]", "select[name=symbol]"),
        ("routes/new", "[name=src_chain_id], [name=dst_chain_id]", "select[name=symbol]"),
        ("routes/base-fees", "[name=dst_chain_id]", "select[name=symbol]"),
        ("route_blocks/new", "[name=src_chain_id], [name=dst_chain_id]", "#field-symbol ~ datalist"),
        ("estimates/", "[name=src], [name=dst]", "select[name=token]"),
    ):
        page = visit.open(f"/admin/{path}")
        values = f"Array.from(document.querySelector('main {token}').options, each => each.value)"
        every = page.evaluate(values)
        for chain, number in zip(page.locator("main").locator(chains).all(), ("42161", "8453"), strict=False):
            chain.select_option(number)
        wanted = {"USDC", "WETH"} | (set() if "," in chains else {"USDT", "AI"})
        assert set(page.evaluate(values)) - {""} == wanted, path
        assert len(every) > len(wanted) + 1
        page.locator("main").locator(chains).last.select_option("1")
        assert {"USDT", "WETH"} < set(page.evaluate(values)), "wider again"
    page = visit.open("/admin/tokens/new")
    page.locator("[name=chain_id]").select_option("8453")
    offered = page.evaluate("Array.from(document.querySelector('main datalist').options, each => each.value)")
    assert offered == ["AI", "BUSD", "OOKI", "SDN", "USDT"], "what it lacks"


@pytest.mark.slow
def test_last_weeks_refunds_are_exported(visit: Visit, rows: Engine, ledger: Ledger) -> None:
    page = at(visit, "/admin/transfers/")
    with ledger.job("export last week's refunds", page) as work:
        work.choose("main [name=status]", "all_refunds")
        work.choose("main [name=within]", "7d")
        work.go("main form.filters button:not([type])")
        expect(page).to_have_url(re.compile("status=all_refunds"))
        sent = work.download("main a[href*='/export.csv']")
    lines = list(csv.DictReader(sent.path().read_text().splitlines()))
    refunds = "SELECT count(*) FROM transfers WHERE status BETWEEN 6 AND 10 AND updated_at > {since}"
    since = "strftime('%Y-%m-%d %H:%M:%S', 'now', '-7 days')"
    assert len(lines) == value(rows, refunds.format(since=since)) > 0
    assert {line["status"] for line in lines} >= {"7", "10"}, "also those that are over"
