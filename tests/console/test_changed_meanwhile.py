"""Between a preview and its confirmation the configuration changes: nothing else than was shown is saved."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask

from app.accounts.rules.roles import Role
from app.accounts.rules.two_persons import TwoPersons
from app.db.database import Database
from app.http.application import add_part, part_of
from app.network.document import export_network, import_network
from tests.actors import TESTER
from tests.applications import editing_of
from tests.console.connecting import BASE, PATH
from tests.console.forms import form_of, send
from tests.console.visitor import Visitor, signed_in
from tests.network.services.edits.kit import document, records, shown


def change(app: Flask, edit: Callable[[dict[str, Any]], None]) -> None:
    """Somebody else changes the configuration."""
    rows = json.loads(export_network(part_of(app, Database)))
    edit(rows)
    import_network(*editing_of(app), json.dumps(rows).encode(), actor=TESTER)


def a_token_comes_first(rows: dict[str, Any]) -> None:
    """Another token of the example, with a pool, stands where the one was that the form has first."""
    like = next(row for row in rows["tokens"] if row["chain_id"] == 56)
    rows["tokens"].remove(like)
    rows["pools"] = [row for row in rows["pools"] if row["chain_id"] != 56]
    rows["routes"] = [row for row in rows["routes"] if 56 not in (row["src_chain_id"], row["dst_chain_id"])]
    rows["route_blocks"] = []
    other = "0x00000000000000000000000000000000000000ff"
    rows["tokens"].append(like | {"symbol": "DAI", "address": other})
    rows["pools"].append({"chain_id": 56, "symbol": "DAI", "liquidity_added": "1", "epoch_seconds": 60})


def a_rate_changes(rows: dict[str, Any]) -> None:
    next(row for row in rows["routes"] if row["src_chain_id"] == 56)["perc_fee_tiers"] = None


@pytest.mark.parametrize("edit", [a_token_comes_first, a_rate_changes])
@pytest.mark.parametrize("step", ["preview", "confirm"])
def test_chain_connects_as_example_was_shown(
    operator: Visitor, network: Flask, database: Database, edit: Callable[[dict[str, Any]], None], step: str
) -> None:
    """The contract of one token must not become that of another."""
    page = operator.get(PATH)
    if step == "confirm":
        page = send(operator, PATH, page, **BASE)
        assert "Connect Base?" in page.text
    change(network, edit)
    fields = {"confirm": "1"} if step == "confirm" else BASE
    answer = send(operator, PATH, page, **fields)
    assert "was changed while you were editing" in answer.text
    assert "Base" not in [row["name"] for row in document(database)["chains"]]


def test_token_state_applies_to_concurrent_edit(
    operator: Visitor, network: Flask, database: Database
) -> None:
    path = f"/admin/tokens/{shown(database, 'tokens', 1, 'USDT').row_id}"
    preview = send(operator, path, xfer_disabled="pool")
    change(network, lambda rows: rows["tokens"][0].update(name="Renamed"))
    conflict = send(operator, path, preview, confirm="1")
    assert "Apply my change" in conflict.text
    assert form_of(conflict)["xfer_disabled"] == "pool"
    preview = send(operator, path, conflict)
    send(operator, path, preview, confirm="1")
    token = document(database)["tokens"][0]
    assert (token["name"], token["pool_disabled"]) == ("Renamed", True)


def test_restoring_keeps_removed_row_away(operator: Visitor, network: Flask, database: Database) -> None:
    """It was removed while the form was open."""
    path = f"/admin/routes/{shown(database, 'routes', 'USDT', 1, 56).row_id}"
    preview = send(operator, path, base_fee="7", base_fee_unit="smallest")
    send(operator, path, preview, confirm="1")
    restore = f"/admin/routes/restore/{records(database)[-1].id}/0?before=1"
    preview = operator.get(restore)
    assert 'name="confirm"' in preview.text
    change(network, lambda rows: rows["routes"].remove(
        next(r for r in rows["routes"] if (r["src_chain_id"], r["dst_chain_id"]) == (1, 56))
    ))  # fmt: skip
    answer = send(operator, restore, preview, confirm="1")
    assert "was removed while you were editing" in answer.text
    assert (1, 56) not in [(r["src_chain_id"], r["dst_chain_id"]) for r in document(database)["routes"]]


def test_proposal_is_no_version_to_restore(app: Flask, network: Flask, database: Database) -> None:
    """A proposal may have fields and rows that its reader could not edit, and nobody approved them."""
    add_part(app, TwoPersons, TwoPersons(frozenset({"routes"})))
    operator = signed_in(app, Role.OPERATOR)
    path = f"/admin/routes/{shown(database, 'routes', 'USDT', 1, 56).row_id}"
    preview = send(operator, path, base_fee="7", base_fee_unit="smallest")
    send(operator, path, preview, confirm="1", change_reason="gas is cheap")
    proposed = records(database)[-1]
    assert proposed.action == "two_persons.propose"
    assert operator.get(f"/admin/routes/restore/{proposed.id}/0").status_code == 404


def the_decimals_change(rows: dict[str, Any]) -> None:
    next(r for r in rows["tokens"] if (r["chain_id"], r["symbol"]) == (56, "USDT"))["decimal"] = 6


def test_amount_is_saved_as_previewed(operator: Visitor, network: Flask, database: Database) -> None:
    path = f"/admin/pools/{shown(database, 'pools', 56, 'USDT').row_id}"
    preview = send(operator, path, total_cap="8 000 000")
    change(network, the_decimals_change)
    again = send(operator, path, preview, confirm="1")
    assert "8000000000000" not in [row.get("total_cap") for row in document(database)["pools"]]
    assert "were changed while you were editing" in again.text
    assert 'name="confirm"' in again.text, "the preview with what it would be now"
    assert send(operator, path, again, confirm="1").status_code == 302
    assert "8000000000000" in [row.get("total_cap") for row in document(database)["pools"]]


def test_base_fees_are_saved_as_previewed(operator: Visitor, network: Flask, database: Database) -> None:
    path = "/admin/routes/base-fees"
    preview = send(operator, path, dst_chain_id="56", symbol="USDT", how="amount", amount="3")
    assert 'name="confirm"' in preview.text
    before = document(database)["routes"]
    change(network, the_decimals_change)
    again = send(operator, path, preview, confirm="1")
    assert document(database)["routes"] == before
    assert 'name="confirm"' in again.text
    assert send(operator, path, again, confirm="1").status_code == 302
    assert "3000000" in [row["base_fee"] for row in document(database)["routes"]]
