"""The page about one chain."""

from __future__ import annotations

import re
from contextlib import ExitStack
from datetime import timedelta

import pytest
from flask import Flask
from sqlalchemy import insert, update

from app.accounts.rules.roles import Role
from app.db.database import Database
from app.db.engine import writing
from app.estimates.models import ReportedFee
from app.network.document import import_network
from app.network.models import NetworkPart, Route, Token
from tests.actors import TESTER
from tests.applications import Editing
from tests.builders import network as build
from tests.builders.clock import MovableClock
from tests.console.forms import send
from tests.console.projected import put
from tests.console.visitor import Visitor, signed_in
from tests.network.services.network_kit import text
from tests.steps import statements
from tests.watcher.services.world import watch_a_chain

PAGE = "/admin/chains/1"
MOST_STATEMENTS = 30


@pytest.fixture
def visitor(app: Flask, network: Flask) -> Visitor:
    return signed_in(app, Role.OPERATOR)


def section(page: str, name: str) -> str:
    """The text of one section, without markup."""
    found = re.search(rf'<section class="card" id="{name}".*?</section>', page, re.DOTALL)
    assert found, name
    return " ".join(re.sub(r"<[^>]+>", " ", found[0]).split())


def problems(page: str) -> list[str]:
    found = re.search(r'<ul class="problems">(.*?)</ul>', page, re.DOTALL)
    return re.findall(r'<a href="#\w+">([^<]+)', found[1]) if found else []


def test_chain_page_has_every_part(visitor: Visitor) -> None:
    page = visitor.get(PAGE).text
    tokens = section(page, "tokens")
    assert "USDT runs 5 000 000 USDT 4 000 000 USDT 55.5 % no cap" in tokens
    assert "CELR runs no pool" in tokens
    routes = section(page, "routes")
    assert "BNB Chain 2 of 2 open 2 of 2 open" in routes  # USDT through the pools, CELR by the pair
    assert "Optimism 2 of 2 open 1 of 1 open" in routes
    assert "0x000000…0000a1" in section(page, "validators")
    assert "None from or to this chain." in section(page, "stuck")
    assert "added" in section(page, "changes")
    assert 'name="block_delay"' in page.partition('id="settings"')[2]


def test_route_numbers_link_to_routes(visitor: Visitor) -> None:
    page = visitor.get(PAGE).text
    for link in (
        "/admin/routes/?flt1_from_is=1&amp;flt2_to_is=56",
        "/admin/routes/?flt1_from_is=56&amp;flt2_to_is=1",
    ):
        assert f'href="{link}"' in page
        listed = visitor.get(link.replace("&amp;", "&")).text
        assert listed.partition("<tbody>")[2].count("<tr>") == 1, link


@pytest.mark.every_database
def test_what_needs_attention(
    visitor: Visitor, network: Flask, database: Database, clock: MovableClock
) -> None:
    unread = "No reporter has sent an event of this chain in the last 15 minutes."
    assert problems(visitor.get(PAGE).text) == [unread]
    assert problems(visitor.get("/admin/chains/56").text) == [
        unread,
        "No validators are known, so refunds on this chain cannot be verified.",
        "1 pool at a limit: USDT.",
    ]
    watch_a_chain(network)
    now = clock()
    with writing(database.engine) as connection:
        connection.execute(update(Route).where(Route.dst_chain_id == 56).values(base_fee_max_age_seconds=60))
        fee = {"symbol": "USDT", "src_chain_id": 1, "dst_chain_id": 56, "base_fee": 1, "event_id": "e"}
        connection.execute(insert(ReportedFee).values(**fee, at=now - timedelta(hours=3)))
        connection.execute(update(NetworkPart).values(version=NetworkPart.version + 1))
    put(database, {"status": 4, "since": 0, "status_since": now - timedelta(days=2), "src_chain_id": 1})
    page = visitor.get(PAGE).text
    assert problems(page) == [
        "The base fee of 1 route is too old or not known: no estimates.",
        "1 stuck transfer.",
    ]
    assert "BNB Chain 2 of 2 open 2 of 2 open 3 h 1 too old" in section(page, "routes")
    assert "2 d" in section(page, "stuck")
    clock.forward(minutes=10)
    assert problems(visitor.get(PAGE).text)[0].startswith("No watcher reads the chain")


def test_stopped_token_or_chain_closes_routes(visitor: Visitor, database: Database) -> None:
    with writing(database.engine) as connection:
        stopped = Token.chain_id == 56, Token.symbol == "CELR"
        connection.execute(update(Token).where(*stopped).values(xfer_disabled=True))
        connection.execute(update(NetworkPart).values(version=NetworkPart.version + 1))
    assert "BNB Chain 1 of 2 open 1 of 2 open" in section(visitor.get(PAGE).text, "routes")
    send(visitor, "/admin/chains/10/stop", disabled_reason="node compromised", typed="Optimism", confirm="1")
    assert "Optimism 0 of 2 open 0 of 1 open" in section(visitor.get(PAGE).text, "routes")
    page = visitor.get("/admin/chains/10").text
    assert "node compromised" in page.partition('<nav class="tab-strip')[0].partition('aria-label="State"')[2]
    assert "operator@example.org" in section(page, "changes")


def test_reading_stops_are_among_changes(visitor: Visitor, network: Flask) -> None:
    watch_a_chain(network)
    visitor.post("/admin/watching/1/stop", {"reason": "the node moves"})
    assert "the node moves" in section(visitor.get(PAGE).text, "changes")
    assert problems(visitor.get(PAGE).text)[0].startswith(
        "No watcher reads the chain until you start reading again."
    )


def test_refused_form_is_shown_alone(visitor: Visitor) -> None:
    """So that what is wrong is at the top."""
    refused = send(visitor, PAGE, block_delay="x").text
    assert "One field has an error" in refused and 'id="tokens"' not in refused
    preview = send(visitor, PAGE, block_delay="13").text
    assert 'class="diff' in preview and 'id="tokens"' not in preview


def large(chains: int, symbols: int) -> build.Document:
    """A network in which every chain has every token with a pool, and routes from and to the first."""
    ids, names = range(1, chains + 1), [f"T{number}" for number in range(symbols)]
    pools = {"epoch_cap": "1000", "total_cap": "9000000000000"}
    return build.document(
        chains=[build.chain(n, f"Chain {n}", contract_addr=f"0x{n:040x}") for n in ids],
        tokens=[build.token(n, name, f"0x{n:020x}{i:020x}", 6) for n in ids for i, name in enumerate(names)],
        pools=[
            build.pool(n, name, "5000000000000", **pools, epoch_seconds=3600 + i % 2)
            for n in ids
            for i, name in enumerate(names)
        ],
        routes=[build.route(*ends, name) for n in ids[1:] for ends in ((1, n), (n, 1)) for name in names],
    )


def test_statements_do_not_grow_with_network(app: Flask, database: Database, editing: Editing) -> None:
    import_network(*editing, text(large(chains=12, symbols=9)), actor=TESTER)
    put(database, *({"status": 4, "since": 86_400 * n, "src_chain_id": 1} for n in range(1, 60)))
    visitor = signed_in(app, Role.OPERATOR)
    visitor.get(PAGE)
    with ExitStack() as stack:
        lists = [stack.enter_context(statements(engine)) for engine in {database.engine, database.reads}]
        page = visitor.get(PAGE)
    assert page.status_code == 200 and "9 of 9 open" in page.text
    executed = [each for of_engine in lists for each in of_engine if not each.startswith("BEGIN")]
    assert len(executed) <= MOST_STATEMENTS, "\n".join(executed)
