"""A preview that opens or changes a route shows what it would give, and is confirmed before it gives away."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from click.testing import Result
from flask import Flask
from sqlalchemy import delete, insert, update
from werkzeug.test import TestResponse

from app.accounts.rules.roles import Role
from app.accounts.rules.two_persons import TwoPersons
from app.db.database import Database
from app.db.engine import writing
from app.estimates.models import PoolCounter
from app.http.application import add_part
from app.monitoring.figures import far_routes
from app.network.document import import_network
from app.network.models import Route
from app.network.snapshot import SnapshotSource
from tests.actors import TESTER
from tests.applications import Editing
from tests.builders import network as build
from tests.console.forms import form_of, forms_in, save, send
from tests.console.visitor import Visitor, other_operator, signed_in
from tests.network.services.edits.kit import document, records

Prepare = Callable[[Visitor, Database], object]

CONTRACT = "0x00000000000000000000000000000000000000a1"
CELO = "/admin/connect/token?chain=42220&symbol=USDT"
NAMES = {1: "Ethereum", 42161: "Arbitrum One"}
CURVE = {"model": "stableswap", "amplification": 200}
MOST = 4_900_000 * 10**6
OPEN: dict[str, Any] = {"rate": CURVE, "base_fee": "0", "base_fee_max_age_seconds": 60}
FAR = "differs from 1 by more than 1 %"
MILLIONS = 5_000_000 * 10**6


def unequal(**changes: Any) -> dict[str, Any]:
    """USDT on two chains with five million each and a curve that fits them, and a chain without it."""
    rows = {
        "chains": [*(build.chain(*each) for each in NAMES.items()), build.chain(42220, "Celo")],
        "tokens": [build.token(chain, "USDT", CONTRACT, 6) for chain in NAMES],
        "pools": [build.pool(chain, "USDT", str(MILLIONS)) for chain in NAMES],
        "routes": [build.route(*ends, "USDT", **OPEN) for ends in ((1, 42161), (42161, 1))],
    }
    return build.document(**rows | changes)


@pytest.fixture
def console(app: Flask, editing: Editing) -> Visitor:
    import_network(*editing, build.text(unequal()), actor=TESTER)
    return signed_in(app, Role.ADMIN)


def connect(visitor: Visitor, liquidity: str, **rates: str) -> Any:
    return send(visitor, CELO, token0_address=CONTRACT, token0_liquidity=liquidity, **rates)


EVERY_RATE = ("route0_rate", "route1_rate", "route2_rate", "route3_rate")


def test_unfit_curve_is_not_copied(console: Visitor) -> None:
    """Of unequal pools and of an empty one; also while the chain is stopped."""
    for liquidity, words in (("250000", "1 USDT would bring"), ("0", "the new pool is empty")):
        page = connect(console, liquidity)
        assert page.text.count(f"is not copied: {words}") == 4
        assert "Connect USDT on Celo?" not in page.text
        assert form_of(page)["route0_rate"] == ""
    send(console, "/admin/chains/42220/stop", disabled_reason="x", typed="celo", confirm="1")
    assert connect(console, "250000").text.count("is not copied: 1 USDT would bring") == 4
    preview = connect(console, "250000", **dict.fromkeys(EVERY_RATE, "curve 200"))
    assert 'name="typed"' in preview.text


def test_connecting_token_copies_fitting_curve(console: Visitor, database: Database) -> None:
    preview = connect(console, "5000000")
    assert "Connect USDT on Celo?" in preview.text
    assert "Trial estimates" in preview.text
    assert "High impact" not in preview.text
    assert 'name="typed"' not in preview.text
    assert send(console, CELO, preview, confirm="1").status_code == 302
    new = [row for row in document(database)["routes"] if 42220 in (row["src_chain_id"], row["dst_chain_id"])]
    assert [row["rate"] for row in new] == [CURVE] * 4


def test_confirmation_saves_no_outdated_curve(console: Visitor, database: Database) -> None:
    preview = connect(console, "5000000")
    leave(database, MOST, 42161)
    page = send(console, CELO, preview, confirm="1")
    assert page.text.count("is not copied: 1 USDT would bring") == 2
    assert len(document(database)["routes"]) == 2, "nothing was saved"


def leave(database: Database, units: int, *chains: int) -> None:
    """Liquidity leaves a pool, as the feed reports."""
    row = {"symbol": "USDT", "added": 0, "sent": 0, "relayed": 0, "withdrawn": units}
    with writing(database.engine) as connection:
        for chain_id in chains:
            connection.execute(insert(PoolCounter).values(row | {"chain_id": chain_id}))


def test_entered_curve_is_confirmed_by_the_symbol(console: Visitor, database: Database) -> None:
    preview = connect(console, "250000", **dict.fromkeys(EVERY_RATE, "Curve 200"))
    assert FAR in preview.text
    assert "Type “USDT” to confirm" in preview.text
    refused = send(console, CELO, preview, confirm="1")
    assert "Nothing was saved" in refused.text
    assert len(document(database)["routes"]) == 2
    assert send(console, CELO, preview, confirm="1", typed=" usdt").status_code == 302
    assert len(document(database)["routes"]) == 6


def test_entered_rates_are_saved(console: Visitor, database: Database) -> None:
    rates = ("1", "1.0005", "curve 1000000", "0.9999")
    preview = connect(console, "250000", **dict(zip(EVERY_RATE, rates, strict=True)))
    send(console, CELO, preview, confirm="1", typed="USDT")
    new = {(row["src_chain_id"], row["dst_chain_id"]): row["rate"] for row in document(database)["routes"]}
    assert new[42220, 42161] == {"model": "fixed", "value": "1"}
    assert new[42161, 42220] == {"model": "fixed", "value": "1.0005"}
    assert new[42220, 1] == {"model": "stableswap", "amplification": 1_000_000}
    assert new[1, 42220] == {"model": "fixed", "value": "0.9999"}


def test_invalid_rate_is_refused_at_its_field(console: Visitor) -> None:
    for typed in ("curve", "curve x", "x", "1,5", "curve 0", "0 0 1 curve 2 3 x"):
        page = connect(console, "5000000", route0_rate=typed)
        assert "Connect USDT on Celo?" not in page.text, typed
        assert 'id="field-route0_rate-error"' in page.text, typed


def test_far_fixed_rate_is_not_copied(app: Flask, editing: Editing) -> None:
    routes = [build.route(1, 42161, "USDT", rate={"model": "fixed", "value": "1.5"}, base_fee="0")]
    import_network(*editing, build.text(unequal(routes=routes)), actor=TESTER)
    page = send(signed_in(app, Role.ADMIN), CELO, token0_address=CONTRACT, token0_liquidity="5")
    assert page.text.count("The rate of Ethereum, 1.5, is not copied") == 3


def test_new_chain_leaves_an_unfit_rate_open(console: Visitor) -> None:
    path = "/admin/connect/?like=42161"
    filled = {
        "id": "8453", "name": "Base", "explore_url": "https://basescan.example",
        "token0_address": CONTRACT, "token0_liquidity": "250000",
    }  # fmt: skip
    page = send(console, path, **filled)
    assert page.text.count("is not copied: 1 USDT would bring") == 4
    preview = send(console, path, **filled, **dict.fromkeys(EVERY_RATE, "1"))
    assert "Connect Base?" in preview.text
    assert "High impact" not in preview.text


def test_route_with_a_far_rate_is_confirmed(console: Visitor, database: Database) -> None:
    far = {"rate_model": "fixed", "rate_value": "1.02"}
    preview = send(console, "/admin/routes/1", **far)
    assert FAR in preview.text
    assert "changes by more than 1 %" in preview.text
    assert "(rate 1.02)" in preview.text
    assert "Nothing was saved" in send(console, "/admin/routes/1", preview, confirm="1").text
    assert document(database)["routes"][0]["rate"] == CURVE
    save(console, "/admin/routes/1", typed="USDT", **far)
    assert document(database)["routes"][0]["rate"] == {"model": "fixed", "value": "1.02"}


def test_undone_rate_is_tried_again(console: Visitor, database: Database) -> None:
    save(console, "/admin/routes/1", typed="USDT", rate_model="fixed", rate_value="1.02")
    path = f"/admin/history/undo/{records(database)[-1].id}"
    preview = console.get(path)
    assert "changes by more than 1 %" in preview.text, "back to 1"
    assert send(console, path, preview, confirm="1").status_code == 200
    assert send(console, path, preview, confirm="1", typed="usdt").status_code == 302


def test_pool_that_unfits_a_curve_is_confirmed(console: Visitor) -> None:
    smaller = unequal()
    smaller["pools"][1]["liquidity_added"] = "50000000000"
    compared = console.post("/admin/document/compare", {"text": json.dumps(smaller)})
    fields = form_of(compared) | {"row": "pool of USDT on chain 42161"}
    preview = console.post("/admin/document/apply", fields)
    assert FAR in preview.text, preview.text
    assert preview.text.count('<td data-label="Now">') == 4
    assert 'name="typed"' in preview.text


def test_preview_shows_trials_only_for_changed_routes(console: Visitor) -> None:
    for path, fields in (("/admin/chains/1", {"name": "Main"}), ("/admin/pools/1", {"epoch_seconds": "60"})):
        assert ("Trial estimates" in send(console, path, **fields).text) == ("pools" in path)


def test_resumed_chain_is_tried(console: Visitor, database: Database) -> None:
    """It is no longer than before: the change does not lead to the rate."""
    send(console, "/admin/chains/1/stop", disabled_reason="x", typed="ethereum", confirm="1")
    leave(database, MOST, 1)
    page = console.get("/admin/chains/1/resume")
    assert FAR in page.text
    assert "This change does not cause it" in page.text, (
        "nor is it said that it was so when the chain was stopped"
    )
    assert 'name="typed"' not in page.text
    assert send(console, "/admin/chains/1/resume", confirm="1").status_code == 302


FEES = "/admin/routes/base-fees"


def test_fees_by_destination_try_their_routes(console: Visitor, database: Database) -> None:
    multiplied = {"dst_chain_id": "42161", "how": "factor", "factor": "2"}
    save(console, "/admin/routes/1", base_fee="1")
    assert "Trial estimates" in send(console, FEES, **multiplied).text
    leave(database, MOST, 42161)
    preview = send(console, FEES, **multiplied)
    assert "This change does not cause it" in preview.text
    assert 'name="typed"' not in preview.text


def test_closed_route_names_refusing_check(console: Visitor) -> None:
    preview = send(console, "/admin/routes/1", base_fee="")
    assert "No amount passes the check “The fees are known”" in preview.text
    assert "0.999999 USDT (rate 0.999999)" in preview.text, "before the change"
    assert 'name="typed"' not in preview.text


def test_approver_sees_trials_and_types_symbol(app: Flask, console: Visitor, database: Database) -> None:
    add_part(app, TwoPersons, TwoPersons(frozenset({"routes"})))
    far = {"rate_model": "fixed", "rate_value": "1.02", "change_reason": "agreed"}
    save(console, "/admin/routes/1", typed="USDT", **far)
    second = other_operator(app)
    page = second.get("/admin/proposals/1")
    assert FAR in page.text
    approve = "/admin/proposals/1/approve"
    second.post(approve, {})
    assert document(database)["routes"][0]["rate"] == CURVE, "no symbol was typed"
    second.post(approve, {"typed": "usdt"})
    assert document(database)["routes"][0]["rate"] == {"model": "fixed", "value": "1.02"}


def run(app: Flask, *arguments: str, given: str) -> Result:
    return app.test_cli_runner().invoke(args=["network", "import", "-", *arguments], input=given)


@pytest.mark.parametrize("arguments", [(), ("--dry-run",)])
def test_import_prints_trials_on_standard_error(
    app: Flask, editing: Editing, arguments: tuple[str, ...]
) -> None:
    import_network(*editing, build.text(unequal()), actor=TESTER)
    far = unequal()
    far["pools"][1]["liquidity_added"] = "50000000000"
    imported = run(app, *arguments, given=json.dumps(far))
    assert imported.exit_code == 0
    assert "HIGH IMPACT: trial estimate of USDT from Ethereum to Arbitrum One" in imported.stderr
    assert FAR in imported.stderr
    assert "before: 0.999999 USDT" in imported.stderr
    assert "trial" not in imported.stdout
    changed = run(app, given=json.dumps(far | {"routes": []}))
    assert changed.stderr == "", "no route is opened"


def test_later_far_rate_is_reported(console: Visitor, database: Database, snapshots: SnapshotSource) -> None:
    connect_preview = connect(console, "5000000")
    send(console, CELO, connect_preview, confirm="1")
    assert far_routes(database, snapshots) == 0
    assert "No open route has a rate that differs from 1" in console.get("/admin/").text
    leave(database, MOST, 42220)
    assert far_routes(database, snapshots) == 4
    page = console.get("/admin/").text
    assert "Rates far from 1" in page
    assert "USDT from Celo to Ethereum" in page


def test_figures_before_use_old_decimals(app: Flask, editing: Editing) -> None:
    import_network(*editing, build.text(unequal()), actor=TESTER)
    swapped = unequal()
    swapped["tokens"][1]["decimal"] = 18
    lines = run(app, "--dry-run", given=json.dumps(swapped)).stderr
    assert "before: 0.999999 USDT (rate 0.999999)\n" in lines
    assert "before: 4 762 187.695068 USDT (rate 0.952437)\n" in lines
    assert "before: 0.999999 USDT (rate 0.999999) for 1 USDT" in lines


BACK = "/admin/routes/2"
UNFIT = {"rate_amplification": "50"}
MOVED = "Pools have moved since the trial estimates were shown"


def leave_in(database: Database, units: int) -> None:
    """So much remains in the pool on Arbitrum One."""
    row = {"chain_id": 42161, "symbol": "USDT", "added": 0, "sent": 0, "relayed": 0}
    with writing(database.engine) as connection:
        connection.execute(delete(PoolCounter))
        connection.execute(insert(PoolCounter).values(row | {"withdrawn": MILLIONS - units}))


def amplification(database: Database) -> int:
    return int(document(database)["routes"][1]["rate"]["amplification"])


def test_rate_moved_since_preview_is_shown_again(console: Visitor, database: Database) -> None:
    leave_in(database, MILLIONS // 10)
    preview = send(console, BACK, **UNFIT)
    leave_in(database, MILLIONS // 5000)
    again = send(console, BACK, preview, confirm="1", typed="USDT")
    assert MOVED in again.text
    assert amplification(database) == 200
    assert send(console, BACK, again, confirm="1", typed="USDT").status_code == 302
    assert amplification(database) == 50


@pytest.mark.parametrize("units", [MILLIONS // 10 - 10**8, MILLIONS])
def test_rate_that_came_nearer_is_saved(console: Visitor, database: Database, units: int) -> None:
    leave_in(database, MILLIONS // 10)
    preview = send(console, BACK, **UNFIT)
    leave_in(database, units)
    assert send(console, BACK, preview, confirm="1", typed="USDT").status_code == 302


@pytest.mark.parametrize("risks", ["x", "1", "1 1", "1 1 x", "0 9 9"])
def test_made_up_rates_are_not_confirmed(console: Visitor, database: Database, risks: str) -> None:
    leave_in(database, MILLIONS // 10)
    preview = send(console, BACK, **UNFIT)
    assert MOVED in send(console, BACK, preview, confirm="1", typed="USDT", risks=risks).text
    assert amplification(database) == 200


def test_approver_confirms_the_shown_rate(app: Flask, console: Visitor, database: Database) -> None:
    add_part(app, TwoPersons, TwoPersons(frozenset({"routes"})))
    leave_in(database, MILLIONS // 10)
    save(console, BACK, typed="USDT", change_reason="agreed", **UNFIT)
    second, approve = other_operator(app), "/admin/proposals/1/approve"
    page = second.get("/admin/proposals/1")
    risks = next(dict(fields)["risks"] for action, fields in forms_in(page.text) if action == approve)
    leave_in(database, MILLIONS // 5000)
    second.post(approve, {"typed": "USDT", "risks": risks})
    assert MOVED in second.get("/admin/proposals/1").text
    assert amplification(database) == 200
    second.post(approve, {"typed": "USDT", "risks": "1 1938 1938"})
    assert amplification(database) == 50


def test_approver_confirms_rate_that_became_far(app: Flask, console: Visitor, database: Database) -> None:
    add_part(app, TwoPersons, TwoPersons(frozenset({"routes"})))
    save(console, BACK, change_reason="agreed", rate_amplification="190")
    second, approve = other_operator(app), "/admin/proposals/1/approve"
    assert 'name="typed"' not in second.get("/admin/proposals/1").text
    leave_in(database, MILLIONS // 10)
    second.post(approve, {})
    assert amplification(database) == 200
    assert "Type “USDT” to confirm" in second.get("/admin/proposals/1").text
    second.post(approve, {"typed": "usdt"})
    assert amplification(database) == 190


ROUTE = "/admin/routes/1"
FAR_RATE = {"rate_model": "fixed", "rate_value": "1.5"}
REFUSED = "No amount passes the check"


def age_fees(database: Database) -> None:
    """The base fees become too old."""
    with writing(database.engine) as connection:
        connection.execute(update(Route).values(base_fee_changed_at=database.clock() - timedelta(days=1)))


def without_fee(console: Visitor, database: Database) -> None:
    save(console, ROUTE, base_fee="")


REFUSALS: dict[str, Prepare] = {
    "epoch cap used up": lambda console, database: save(console, "/admin/pools/1", epoch_cap="0"),
    "over the total cap": lambda console, database: save(console, "/admin/pools/1", total_cap="1"),
    "fee not known": without_fee,
    "fee too old": lambda console, database: age_fees(database),
    "empty pools": lambda console, database: leave(database, MILLIONS, *NAMES),
}
"""Why a route passes no amount, and what leads to it."""


@pytest.mark.parametrize("why", REFUSALS)
def test_rate_of_closed_route_is_confirmed(
    console: Visitor, database: Database, snapshots: SnapshotSource, why: str
) -> None:
    """A far rate and, where the pools are not empty, a curve that does not fit them; a rate near 1 is not."""
    REFUSALS[why](console, database)
    preview = send(console, ROUTE, rate_model="fixed", rate_value="1.0001")
    assert REFUSED in preview.text
    assert 'name="typed"' not in preview.text
    if why != "empty pools":
        leave(database, MILLIONS - 10**11, 1)
        preview = send(console, ROUTE, rate_amplification="100")
        assert REFUSED in preview.text
        assert_far(preview)
        with writing(database.engine) as connection:
            connection.execute(delete(PoolCounter))
    preview = send(console, ROUTE, **FAR_RATE)
    assert REFUSED in preview.text
    assert "(rate 1.5)" in preview.text
    assert_far(preview)
    assert "Nothing was saved" in send(console, ROUTE, preview, confirm="1").text
    assert document(database)["routes"][0]["rate"] == CURVE
    assert send(console, ROUTE, preview, confirm="1", typed="USDT").status_code == 302
    assert far_routes(database, snapshots) == 0, "the route is not open"


def assert_far(preview: TestResponse) -> None:
    assert FAR in preview.text, preview.text
    assert "Type “USDT” to confirm" in preview.text


OPENED: dict[str, tuple[Prepare, str, dict[str, str]]] = {
    "a fee for all routes there": (
        without_fee, FEES, {"dst_chain_id": "42161", "symbol": "USDT", "how": "amount", "amount": "1"},
    ),
    "a fee after a stale one": (lambda _, database: age_fees(database), ROUTE, {"base_fee": "3"}),
}  # fmt: skip
"""What opens a route that gives no estimates, and how it does."""


@pytest.mark.parametrize("what", OPENED)
def test_opening_a_far_route_is_confirmed(console: Visitor, database: Database, what: str) -> None:
    prepare, path, fields = OPENED[what]
    prepare(console, database)
    leave(database, MOST, 42161)
    preview = send(console, path, **fields)
    assert REFUSED not in preview.text
    assert_far(preview)
    assert "Nothing was saved" in send(console, path, preview, confirm="1").text
    assert send(console, path, preview, confirm="1", typed="usdt").status_code == 302


BLOCK = {"symbol": "USDT", "src_chain_id": "1", "dst_chain_id": "42161", "reason": "x"}


def test_far_rate_of_blocked_route_is_confirmed(console: Visitor, database: Database) -> None:
    """The block ends by itself, without a preview."""
    ends = (database.clock() + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M")
    save(console, "/admin/route_blocks/new", expires_at=ends, **BLOCK)
    assert_far(send(console, ROUTE, **FAR_RATE))


def test_unblocked_far_route_is_confirmed(console: Visitor, database: Database) -> None:
    save(console, "/admin/route_blocks/new", **BLOCK)
    leave(database, MOST, 42161)
    preview = console.get("/admin/route_blocks/1/remove")
    assert FAR in preview.text
    assert 'name="typed"' in preview.text


def test_amount_over_limit_is_not_tried(console: Visitor) -> None:
    save(console, "/admin/tokens/1", max_send="0.25")
    save(console, ROUTE, base_fee="")
    preview = send(console, ROUTE, **FAR_RATE)
    assert REFUSED in preview.text
    assert "0.375 USDT (rate 1.5)" in preview.text


def test_fee_removal_preview_requires_no_symbol(console: Visitor) -> None:
    save(console, ROUTE, typed="USDT", **FAR_RATE)
    preview = send(console, ROUTE, base_fee="")
    assert REFUSED in preview.text
    assert 'name="typed"' not in preview.text


def test_import_skips_trials_of_unchanged_routes(app: Flask, console: Visitor, database: Database) -> None:
    age_fees(database)
    renamed = unequal()
    renamed["chains"][0]["name"] = "Main"
    imported = run(app, given=json.dumps(renamed))
    assert imported.exit_code == 0
    assert imported.stdout == 'changed chain 1: name from "Ethereum" to "Main"\n'
    assert imported.stderr == ""


def test_import_prints_rate_of_closed_route(app: Flask, console: Visitor) -> None:
    closed = unequal()
    closed["routes"][0] |= {"rate": {"model": "fixed", "value": "1.5"}, "base_fee": None}
    errors = run(app, "--dry-run", given=json.dumps(closed)).stderr
    assert "HIGH IMPACT: trial estimate of USDT from Ethereum to Arbitrum One" in errors
    assert "- 1 USDT → 1.5 USDT (rate 1.5), before: 0.999999 USDT (rate 0.999999)\n" in errors
    assert "no amount passes the check “The fees are known” on 1 route" in errors
