"""Edits: the preview, what a conflicting edit shows, and what is typed to stop a chain."""

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
from tests.console.edits import BASE, PATH
from tests.console.forms import form_of, save, send
from tests.console.visitor import Visitor, other_operator, signed_in
from tests.network.services.edits.kit import add_transfer, document, records, shown


def test_effects_are_shown_in_words(operator: Visitor, database: Database) -> None:
    path = f"/admin/routes/{shown(database, 'routes', 'USDT', 1, 56).row_id}"
    preview = send(operator, path, base_fee="6.05437528092011966")
    assert "base fee 10 times the old one" in preview.text
    assert "effect-grave" in preview.text
    assert "0.605437528092011966 USDT" in preview.text, "human units beside smallest units"
    back = operator.post(path, form_of(preview) | {"back": "1"})
    assert form_of(back)["base_fee"] == "6.05437528092011966"
    assert document(database)["routes"][0]["base_fee"] == "605437528092011966"


def test_concurrent_edit_shows_the_other_change(app: Flask, operator: Visitor, database: Database) -> None:
    path = f"/admin/routes/{shown(database, 'routes', 'USDT', 1, 56).row_id}"
    second = other_operator(app)
    form = second.get(path)
    preview = send(second, path, base_fee="8")
    assert save(operator, path, base_fee="7").status_code == 302
    for answer in (send(second, path, form, base_fee="8"), send(second, path, preview, confirm="1")):
        assert "Changed while you were editing" in answer.text
        assert "605437528092011966" in answer.text, "what they saw"
        assert '<td data-label="Now" class="come break">7 USDT<' in answer.text, "what it is now"
        assert '<td data-label="You entered" class="come break">8 USDT<' in answer.text, "what they wanted"
        assert f'href="{path}"' in answer.text
    assert document(database)["routes"][0]["base_fee"] == "7" + "0" * 18
    assert save(second, path, base_fee="8").status_code == 302, "from the current values"
    assert document(database)["routes"][0]["base_fee"] == "8" + "0" * 18


def test_removed_row_is_not_saved(app: Flask, operator: Visitor, database: Database) -> None:
    path = f"/admin/route_blocks/{shown(database, 'route_blocks', 'USDT', 10, 56).row_id}"
    second = other_operator(app)
    form, removal = second.get(path), second.get(f"{path}/remove")
    send(operator, f"{path}/remove", confirm="1")
    for answer in (
        second.post(path, form_of(form) | {"confirm": "1"}),
        second.post(f"{path}/remove", form_of(removal) | {"confirm": "1"}),
    ):
        assert "was removed while you were editing" in answer.text
    assert document(database)["route_blocks"] == []


def test_stopping_chain_needs_reason_and_name(operator: Visitor, database: Database) -> None:
    add_transfer(database, 1)
    page = operator.get("/admin/chains/1/stop")
    assert "1 transfer is in progress from or to Ethereum" in page.text
    assert "stop at once" in page.text
    for fields, words in (
        ({"disabled_reason": " ", "typed": "Ethereum"}, "Enter why the chain is stopped"),
        ({"disabled_reason": "incident", "typed": "ether"}, "Type “Ethereum”"),
        ({"disabled_reason": "incident", "typed": ""}, "Type “Ethereum”"),
    ):
        answer = send(operator, "/admin/chains/1/stop", page, **fields)
        assert words in answer.text
        assert form_of(answer)["disabled_reason"] == fields["disabled_reason"]
        assert not document(database)["chains"][0]["disabled"]
    answer = send(operator, "/admin/chains/1/stop", page, disabled_reason="incident", typed="Ethereum")
    assert answer.location == "/admin/chains/"
    chain = document(database)["chains"][0]
    assert (chain["disabled"], chain["disabled_reason"]) == (True, "incident")
    assert operator.get("/admin/chains/1/stop").location == "/admin/chains/1"
    assert "stopped" in operator.get("/admin/chains/").text

    preview = operator.get("/admin/chains/1/resume")
    assert "open at once" in preview.text
    assert send(operator, "/admin/chains/1/resume", preview, confirm="1").status_code == 302
    chain = document(database)["chains"][0]
    assert (chain["disabled"], chain["disabled_reason"]) == (False, "")
    assert operator.get("/admin/chains/1/resume").location == "/admin/chains/1"
    assert operator.get("/admin/chains/77/stop").status_code == 404


def test_stop_needs_the_current_name(app: Flask, operator: Visitor, database: Database) -> None:
    page, other = operator.get("/admin/chains/1/stop"), other_operator(app)
    save(other, "/admin/chains/1", name="Mainnet")
    answer = send(operator, "/admin/chains/1/stop", page, disabled_reason="x", typed="Ethereum")
    assert "Type “Mainnet” to confirm" in answer.text
    assert not document(database)["chains"][0]["disabled"]
    save(other, "/admin/chains/1", block_delay="13")
    send(operator, "/admin/chains/1/stop", answer, disabled_reason="x", typed="Mainnet")
    now = document(database)["chains"][0]
    assert (now["disabled"], now["block_delay"]) == (True, 13), (
        "nobody's edit delays a stop, or is lost by it"
    )


def test_base_fees_by_destination(app: Flask, operator: Visitor, database: Database) -> None:
    path = "/admin/routes/base-fees"
    fields = {"dst_chain_id": "56", "symbol": "", "how": "factor", "factor": "1.5\u202f0", "amount": ""}
    preview = send(operator, path, **fields)
    assert "USDT from Ethereum to BNB Chain" in preview.text
    assert "908 156 292 138 017 949" in preview.text.replace("\u2009", " ").replace("\u202f", " ")
    assert document(database)["routes"][0]["base_fee"] == "605437528092011966"
    other = other_operator(app)
    save(
        other,
        f"/admin/routes/{shown(database, 'routes', 'USDT', 1, 56).row_id}",
        base_fee="10",
        base_fee_unit="smallest",
    )
    answer = send(operator, path, preview, confirm="1")
    assert "was changed while you were editing" in answer.text
    assert document(database)["routes"][0]["base_fee"] == "10"
    assert send(operator, path, answer, confirm="1").status_code == 302
    assert [route["base_fee"] for route in document(database)["routes"]] == [
        "15", "605437528092011966", "605437528092011966",
    ]  # fmt: skip
    fields |= {"how": "amount", "amount": "7 000", "amount_unit": "smallest", "symbol": "USDT"}
    assert send(operator, path, send(operator, path, **fields), confirm="1").status_code == 302
    assert document(database)["routes"][0]["base_fee"] == "7000"


def test_wrong_base_fees_are_refused(operator: Visitor, database: Database) -> None:
    path, good = "/admin/routes/base-fees", {"dst_chain_id": "56", "how": "factor", "factor": "2"}
    blank = operator.get(path)
    for wrong, words in (
        ({"dst_chain_id": ""}, "Choose the destination chain"),
        ({"dst_chain_id": "77"}, "No route leads there"),
        ({"how": ""}, "Choose how to change the fees"),
        ({"factor": "1,5"}, "decimal point, such as 1.5"),
        ({"factor": "0"}, "Enter a factor above 0"),
        ({"how": "amount", "amount": "-1", "symbol": "USDT"}, "is not a number"),
        ({"how": "amount", "amount": "5"}, "are not known. Choose chain and token"),
        ({"how": "amount", "amount": "5"}, "Choose a token"),
        ({"symbol": "NONE"}, "No route leads there"),
    ):
        answer = send(operator, path, blank, **good | wrong, confirm="1")
        assert words.casefold() in answer.text.casefold(), wrong
    assert send(operator, path, blank, **good, other="1").status_code == 400
    assert document(database)["routes"][0]["base_fee"] == "605437528092011966"


def change(app: Flask, edit: Callable[[dict[str, Any]], None]) -> None:
    """Somebody else changes the configuration."""
    rows = json.loads(export_network(part_of(app, Database)))
    edit(rows)
    import_network(*editing_of(app), json.dumps(rows).encode(), actor=TESTER)


def a_token_comes_first(rows: dict[str, Any]) -> None:
    """Another token of the example, with a pool, is where the one was that the form has first."""
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
    send(operator, path, send(operator, path, conflict), confirm="1")
    token = document(database)["tokens"][0]
    assert (token["name"], token["pool_disabled"]) == ("Renamed", True)


def test_restoring_keeps_removed_row_away(operator: Visitor, network: Flask, database: Database) -> None:
    """It was removed while the form was open."""
    path = f"/admin/routes/{shown(database, 'routes', 'USDT', 1, 56).row_id}"
    save(operator, path, base_fee="7", base_fee_unit="smallest")
    restore = f"/admin/routes/restore/{records(database)[-1].id}/0?before=1"
    preview = operator.get(restore)
    assert 'name="confirm"' in preview.text
    change(network, lambda rows: rows["routes"].remove(
        next(r for r in rows["routes"] if (r["src_chain_id"], r["dst_chain_id"]) == (1, 56))
    ))  # fmt: skip
    answer = send(operator, restore, preview, confirm="1")
    assert "was removed while you were editing" in answer.text
    assert (1, 56) not in [(r["src_chain_id"], r["dst_chain_id"]) for r in document(database)["routes"]]


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


def test_restore_refuses_proposal(app: Flask, network: Flask, database: Database) -> None:
    """A proposal may have fields and rows that its reader could not edit, and nobody approved them."""
    add_part(app, TwoPersons, TwoPersons(frozenset({"routes"})))
    operator = signed_in(app, Role.OPERATOR)
    path = f"/admin/routes/{shown(database, 'routes', 'USDT', 1, 56).row_id}"
    save(operator, path, base_fee="7", base_fee_unit="smallest", change_reason="gas is cheap")
    proposed = records(database)[-1]
    assert proposed.action == "two_persons.propose"
    assert operator.get(f"/admin/routes/restore/{proposed.id}/0").status_code == 404
