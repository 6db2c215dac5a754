"""What is confirmed is what was shown: a far rate that moved since its preview is shown again."""

from __future__ import annotations

import pytest
from flask import Flask
from sqlalchemy import delete, insert

from app.accounts.rules.roles import Role
from app.accounts.rules.two_persons import TwoPersons
from app.db.database import Database
from app.db.engine import writing
from app.estimates.models import PoolCounter
from app.http.application import add_part
from app.network.document import import_network
from tests.actors import TESTER
from tests.applications import Editing
from tests.builders import network as build
from tests.console.forms import forms_in, save, send
from tests.console.visitor import Visitor, other_operator, signed_in
from tests.network.services.edits.kit import document

ROUTE = "/admin/routes/2"
MILLION = 10**12
CURVE = {"model": "stableswap", "amplification": 200}
UNFIT = {"rate_amplification": "50"}
MOVED = "Pools have moved since the trial estimates were shown"


@pytest.fixture
def console(app: Flask, editing: Editing) -> Visitor:
    """An administrator; USDT on two chains with five million each, and a curve that fits them."""
    network = build.document(
        chains=[build.chain(1, "Ethereum"), build.chain(42161, "Arbitrum One")],
        tokens=[build.token(chain, "USDT", f"0x{0xA1:040x}", 6) for chain in (1, 42161)],
        pools=[build.pool(chain, "USDT", str(5 * MILLION)) for chain in (1, 42161)],
        routes=[build.route(*ends, "USDT", rate=CURVE, base_fee="0") for ends in ((1, 42161), (42161, 1))],
    )
    import_network(*editing, build.text(network), actor=TESTER)
    return signed_in(app, Role.ADMIN)


def leave_in(database: Database, units: int) -> None:
    """So much remains in the pool on Arbitrum One."""
    row = {"chain_id": 42161, "symbol": "USDT", "added": 0, "sent": 0, "relayed": 0}
    with writing(database.engine) as connection:
        connection.execute(delete(PoolCounter))
        connection.execute(insert(PoolCounter).values(row | {"withdrawn": 5 * MILLION - units}))


def amplification(database: Database) -> int:
    return int(document(database)["routes"][1]["rate"]["amplification"])


def test_rate_that_moved_far_since_its_preview_is_shown_again(console: Visitor, database: Database) -> None:
    leave_in(database, MILLION // 2)
    preview = send(console, ROUTE, **UNFIT)
    leave_in(database, MILLION // 1000)
    again = send(console, ROUTE, preview, confirm="1", typed="USDT")
    assert MOVED in again.text
    assert amplification(database) == 200
    assert send(console, ROUTE, again, confirm="1", typed="USDT").status_code == 302
    assert amplification(database) == 50


@pytest.mark.parametrize("units", [MILLION // 2 - 10**8, 5 * MILLION])
def test_rate_that_stays_or_comes_nearer_is_saved_as_confirmed(
    console: Visitor, database: Database, units: int
) -> None:
    leave_in(database, MILLION // 2)
    preview = send(console, ROUTE, **UNFIT)
    leave_in(database, units)
    assert send(console, ROUTE, preview, confirm="1", typed="USDT").status_code == 302


@pytest.mark.parametrize("risks", ["x", "1", "1 1", "1 1 x", "0 9 9"])
def test_rates_that_were_not_shown_are_not_confirmed(
    console: Visitor, database: Database, risks: str
) -> None:
    leave_in(database, MILLION // 2)
    preview = send(console, ROUTE, **UNFIT)
    assert MOVED in send(console, ROUTE, preview, confirm="1", typed="USDT", risks=risks).text
    assert amplification(database) == 200


def test_second_person_confirms_the_rate_that_was_shown(
    app: Flask, console: Visitor, database: Database
) -> None:
    add_part(app, TwoPersons, TwoPersons(frozenset({"routes"})))
    leave_in(database, MILLION // 2)
    save(console, ROUTE, typed="USDT", change_reason="agreed", **UNFIT)
    second, approve = other_operator(app), "/admin/proposals/1/approve"
    page = second.get("/admin/proposals/1")
    risks = next(dict(fields)["risks"] for action, fields in forms_in(page.text) if action == approve)
    leave_in(database, MILLION // 1000)
    second.post(approve, {"typed": "USDT", "risks": risks})
    assert MOVED in second.get("/admin/proposals/1").text
    assert amplification(database) == 200
    second.post(approve, {"typed": "USDT", "risks": "1 1938 1938"})
    assert amplification(database) == 50


def test_rate_that_became_far_after_the_proposal_is_confirmed_by_the_second_person(
    app: Flask, console: Visitor, database: Database
) -> None:
    add_part(app, TwoPersons, TwoPersons(frozenset({"routes"})))
    save(console, ROUTE, change_reason="agreed", rate_amplification="190")
    second, approve = other_operator(app), "/admin/proposals/1/approve"
    assert 'name="typed"' not in second.get("/admin/proposals/1").text
    leave_in(database, MILLION // 2)
    second.post(approve, {})
    assert amplification(database) == 200
    assert "Type “USDT” to confirm" in second.get("/admin/proposals/1").text
    second.post(approve, {"typed": "usdt"})
    assert amplification(database) == 190
