"""The rate of a route that passes no amount now is tried, too: it may pass one later without a change."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import insert, update

from app.accounts.rules.roles import Role
from app.db.database import Database
from app.db.engine import writing
from app.estimates.models import PoolCounter
from app.http.application import part_of
from app.monitoring.figures import far_routes
from app.network.document import import_network
from app.network.models import Route
from app.network.snapshot import SnapshotSource
from tests.actors import TESTER
from tests.applications import Editing
from tests.builders import network as build
from tests.console.forms import save, send
from tests.console.visitor import Visitor, signed_in
from tests.network.services.edits.kit import document

ROUTE = "/admin/routes/1"
CURVE = {"model": "stableswap", "amplification": 200}
MILLIONS = 5_000_000 * 10**6
FAR = {"rate_model": "fixed", "rate_value": "1.5"}
WARNING = "differs from 1 by more than 1 %"
REFUSED = "No amount passes the check"


@pytest.fixture
def network() -> dict[str, Any]:
    """USDT on two chains with five million each, and a curve that fits them."""
    return build.document(
        chains=[build.chain(1, "Ethereum"), build.chain(42161, "Arbitrum One")],
        tokens=[build.token(chain, "USDT", f"0x{0xA1:040x}", 6) for chain in (1, 42161)],
        pools=[build.pool(chain, "USDT", str(MILLIONS)) for chain in (1, 42161)],
        routes=[
            build.route(*ends, "USDT", rate=CURVE, base_fee="0", base_fee_max_age_seconds=60)
            for ends in ((1, 42161), (42161, 1))
        ],
    )


@pytest.fixture
def console(app: Flask, network: dict[str, Any], editing: Editing) -> Visitor:
    import_network(*editing, build.text(network), actor=TESTER)
    return signed_in(app, Role.ADMIN)


def leave(database: Database, chain_id: int, units: int) -> None:
    """Liquidity leaves a pool, as the feed reports."""
    row = {"chain_id": chain_id, "symbol": "USDT", "added": 0, "sent": 0, "relayed": 0, "withdrawn": units}
    with writing(database.engine) as connection:
        connection.execute(insert(PoolCounter).values(row))


def age_fees(database: Database) -> None:
    """The base fees become too old."""
    with writing(database.engine) as connection:
        connection.execute(update(Route).values(base_fee_changed_at=database.clock() - timedelta(days=1)))


def use_up_epoch(console: Visitor, app: Flask) -> None:
    save(console, "/admin/pools/1", epoch_cap="0")


def exceed_total_cap(console: Visitor, app: Flask) -> None:
    save(console, "/admin/pools/1", total_cap="1")


def empty_both_pools(console: Visitor, app: Flask) -> None:
    for chain_id in (1, 42161):
        leave(part_of(app, Database), chain_id, MILLIONS)


def forget_fee(console: Visitor, app: Flask) -> None:
    save(console, ROUTE, base_fee="")


def let_fees_age(console: Visitor, app: Flask) -> None:
    age_fees(part_of(app, Database))


@pytest.mark.parametrize(
    "refuse", [use_up_epoch, exceed_total_cap, empty_both_pools, forget_fee, let_fees_age]
)
def test_far_rate_is_confirmed_where_no_amount_passes_now(
    console: Visitor,
    app: Flask,
    database: Database,
    snapshots: SnapshotSource,
    refuse: Callable[[Visitor, Flask], None],
) -> None:
    refuse(console, app)
    preview = send(console, ROUTE, **FAR)
    assert REFUSED in preview.text
    assert "(rate 1.5)" in preview.text
    assert WARNING in preview.text
    assert "Nothing was saved" in send(console, ROUTE, preview, confirm="1").text
    assert document(database)["routes"][0]["rate"] == CURVE
    assert send(console, ROUTE, preview, confirm="1", typed="USDT").status_code == 302
    assert far_routes(database, snapshots) == 0, "the route is not open"


@pytest.mark.parametrize("refuse", [use_up_epoch, exceed_total_cap, forget_fee, let_fees_age])
def test_unfit_curve_is_confirmed_where_no_amount_passes_now(
    console: Visitor, app: Flask, database: Database, refuse: Callable[[Visitor, Flask], None]
) -> None:
    leave(database, 1, MILLIONS - 10**11)
    refuse(console, app)
    preview = send(console, ROUTE, rate_amplification="100")
    assert REFUSED in preview.text
    assert WARNING in preview.text
    assert "Type “USDT” to confirm" in preview.text


def test_amount_over_a_limit_is_not_tried_where_the_fee_is_missing(console: Visitor, app: Flask) -> None:
    save(console, "/admin/tokens/1", max_send="0.25")
    forget_fee(console, app)
    preview = send(console, ROUTE, **FAR)
    assert REFUSED in preview.text
    assert "0.375 USDT (rate 1.5)" in preview.text


def test_near_rate_needs_no_symbol_where_no_amount_passes_now(console: Visitor, app: Flask) -> None:
    forget_fee(console, app)
    preview = send(console, ROUTE, rate_model="fixed", rate_value="1.0001")
    assert REFUSED in preview.text
    assert 'name="typed"' not in preview.text


def test_far_rate_is_confirmed_on_a_route_that_is_blocked_until_a_time(
    console: Visitor, database: Database
) -> None:
    """The block ends by itself, without a preview."""
    ends = (database.clock() + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M")
    block = {"symbol": "USDT", "src_chain_id": "1", "dst_chain_id": "42161", "reason": "x"}
    save(console, "/admin/route_blocks/new", expires_at=ends, **block)
    preview = send(console, ROUTE, **FAR)
    assert WARNING in preview.text
    assert "Type “USDT” to confirm" in preview.text


def test_new_base_fee_in_place_of_a_stale_one_opens_its_route(console: Visitor, database: Database) -> None:
    age_fees(database)
    leave(database, 42161, MILLIONS - 10**11)
    preview = send(console, ROUTE, base_fee="3")
    assert REFUSED not in preview.text, "the new fee is not stale"
    assert WARNING in preview.text
    assert "Type “USDT” to confirm" in preview.text


def test_removed_base_fee_of_a_far_route_needs_no_symbol(console: Visitor, app: Flask) -> None:
    save(console, ROUTE, typed="USDT", **FAR)
    preview = send(console, ROUTE, base_fee="")
    assert REFUSED in preview.text
    assert 'name="typed"' not in preview.text


def test_import_tries_no_route_that_it_leaves_as_it_is(
    app: Flask, console: Visitor, database: Database, network: dict[str, Any]
) -> None:
    age_fees(database)
    network["chains"][0]["name"] = "Main"
    arguments = ["network", "import", "-"]
    imported = app.test_cli_runner().invoke(args=arguments, input=json.dumps(network))
    assert imported.exit_code == 0
    assert imported.stdout == 'changed chain 1: name from "Ethereum" to "Main"\n'
    assert imported.stderr == ""


def test_import_prints_the_rate_of_a_route_that_passes_no_amount(
    app: Flask, console: Visitor, network: dict[str, Any]
) -> None:
    network["routes"][0] |= {"rate": {"model": "fixed", "value": "1.5"}, "base_fee": None}
    arguments = ["network", "import", "-", "--dry-run"]
    errors = app.test_cli_runner().invoke(args=arguments, input=json.dumps(network)).stderr
    assert "HIGH IMPACT: trial estimate of USDT from Ethereum to Arbitrum One" in errors
    assert "- 1 USDT → 1.5 USDT (rate 1.5), before: 0.999999 USDT (rate 0.999999)\n" in errors
    assert "no amount passes the check “The fees are known” on 1 route" in errors
