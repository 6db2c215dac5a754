"""Forms and lists of the keys that say what clients derive, and of fees that are not known."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pytest
from flask import Flask

from app.accounts.rules.two_persons import TwoPersons
from app.db.database import Database
from app.http.application import add_part, part_of
from app.network.document import import_network
from tests.actors import TESTER
from tests.applications import Editing, editing_of
from tests.console.forms import form_of, save, send
from tests.console.visitor import Visitor
from tests.network.services.edits.kit import document, shown
from tests.network.services.network_kit import VAULT, text


def path_of(database: Database, section: str, *key: Any) -> str:
    return f"/admin/{section}/{shown(database, section, *key).row_id}"


def row_of(database: Database, section: str, **named: Any) -> dict[str, Any]:
    (row,) = (row for row in document(database)[section] if named.items() <= row.items())
    return dict(row)


def test_the_tokens_of_a_pair(operator: Visitor, database: Database, editing: Editing) -> None:
    """What is entered is kept, what is emptied is as the chain has it again, what has no input stays."""
    given = document(database)
    given["pegged_pairs"][0]["pegged_token"] = {"icon": "", "extra": {"note": 1}}
    import_network(*editing, text(given), actor=TESTER)
    path = path_of(database, "pegged_pairs", "CELR", 1, 10)
    assert "Nothing was changed" in send(operator, path).text, "a form sent back is no change"
    own = {"org_token_address": VAULT.lower(), "org_token_decimal": "0", "pegged_token_name": "Other "}
    answer = send(operator, path, **own)
    assert "CELR has 0 decimals" in answer.text, "the fee of 8 smallest units was shown with 18 of them"
    save(operator, path, **own, burn_base_fee="8", burn_base_fee_unit="smallest")
    pair = row_of(database, "pegged_pairs", pegged_chain_id=10)
    assert pair["org_token"] == {"address": VAULT, "decimal": 0}
    assert pair["pegged_token"] == {"name": "Other", "icon": "", "extra": {"note": 1}}
    save(operator, path, org_token_address="", org_token_decimal="", org_token_xfer_disabled="1")
    assert row_of(database, "pegged_pairs", pegged_chain_id=10)["org_token"] == {"xfer_disabled": True}
    save(operator, path, org_token_xfer_disabled="0")
    assert "org_token" not in row_of(database, "pegged_pairs", pegged_chain_id=10)


def test_the_switches_and_bounds_of_a_token(operator: Visitor, database: Database) -> None:
    path = path_of(database, "tokens", 1, "USDT")
    preview = send(
        operator, path, xfer_disabled="pool", min_send="0.001", max_send="2000", max_send_unit="smallest"
    )
    assert "stop at once" in preview.text
    save(operator, path, xfer_disabled="pool", min_send="0.001", max_send="2000", max_send_unit="smallest")
    row = row_of(database, "tokens", chain_id=1, symbol="USDT")
    assert (row["pool_disabled"], row["min_send"], row["max_send"]) == (True, "1000", "2000")
    assert "not through the pool" in operator.get("/admin/tokens/").text
    save(operator, path, xfer_disabled="runs", min_send="", max_send="")
    assert (
        not {"pool_disabled", "min_send", "max_send"}
        & row_of(database, "tokens", chain_id=1, symbol="USDT").keys()
    )


STOPS = ("xfer_disabled", "pool_disabled", "transfer_disabled")


def stops_of(database: Database) -> tuple[bool, ...]:
    row = row_of(database, "tokens", chain_id=1, symbol="USDT")
    return tuple(row.get(name, False) for name in STOPS)


def with_stops(app: Flask, *stops: bool) -> None:
    """A document with these columns of the token."""
    rows = document(part_of(app, Database))
    rows["tokens"][0] |= dict(zip(STOPS, stops, strict=True))
    import_network(*editing_of(app), text(rows), actor=TESTER)


@pytest.mark.parametrize("stops", list(product((False, True), repeat=3)))
def test_one_choice_sets_all_token_stops(
    operator: Visitor, network: Flask, database: Database, stops: tuple[bool, ...]
) -> None:
    path = path_of(database, "tokens", 1, "USDT")
    with_stops(network, *stops)
    state = {
        (False, False, False): "runs", (False, True, False): "pool", (True, False, False): "stopped",
        (True, True, False): "stopped",
    }.get(stops, "custom")  # fmt: skip
    page = operator.get(path)
    assert form_of(page)["xfer_disabled"] == state
    assert not set(STOPS[1:]) & form_of(page).keys()
    assert ("Custom: " in page.text) == (state == "custom")
    save(operator, path, name=f"Named {stops}")
    assert stops_of(database) == stops, "another edit leaves the columns alone"
    save(operator, path, name=f"Again {stops}", xfer_disabled=state)
    assert stops_of(database) == stops, "as does the same choice"
    for wanted, columns in (
        ("runs", (False, False, False)),
        ("pool", (False, True, False)),
        ("stopped", (True, stops[1] and state != "stopped", False)),
    ):
        with_stops(network, *stops)
        if wanted != state:
            preview = send(operator, path, xfer_disabled=wanted)
            assert preview.text.count('<th scope="row">State</th>') == 1
            assert "_disabled" not in re.sub("<[^>]*>", "", preview.text)
            send(operator, path, preview, confirm="1")
            assert stops_of(database) == columns


def test_token_with_stopped_pool_stops_at_once(
    app: Flask, operator: Visitor, network: Flask, database: Database
) -> None:
    with_stops(network, False, True, False)
    add_part(app, TwoPersons, TwoPersons(frozenset({"tokens"})))
    save(operator, path_of(database, "tokens", 1, "USDT"), xfer_disabled="stopped")
    assert stops_of(database) == (True, True, False), "nobody waits for a stop"


def test_the_bounds_of_a_pair(operator: Visitor, database: Database) -> None:
    path = path_of(database, "pegged_pairs", "CELR", 1, 10)
    page = operator.get(path).text
    for words in ("minDeposit plus 1", "maxDeposit", "minBurn plus 1", "maxBurn"):
        assert words in page
    assert "minSend plus 1" in operator.get(path_of(database, "tokens", 1, "USDT")).text
    bounds = {"min_deposit": "2", "max_deposit": "9", "min_burn": "3", "max_burn": "8"}
    assert "2 CELR" in send(operator, path, **bounds).text
    save(operator, path, **bounds)
    row = row_of(database, "pegged_pairs", pegged_chain_id=10)
    assert {name: int(row[name]) // 10**18 for name in bounds} == {n: int(v) for n, v in bounds.items()}
    refused = send(operator, path, max_burn="2")
    assert "Must be at least “Minimum burn”" in refused.text
    save(operator, path, **dict.fromkeys(bounds, ""))
    assert not set(bounds) & row_of(database, "pegged_pairs", pegged_chain_id=10).keys()


def test_fees_that_are_not_known(operator: Visitor, database: Database) -> None:
    path = path_of(database, "routes", "USDT", 1, 56)
    none = {f"perc_fee_tiers_{n}_{part}": "" for n in (0, 1) for part in ("from", "fee")}
    preview = send(operator, path, base_fee="", **none)
    assert preview.text.count(": no estimates") == 2
    save(operator, path, base_fee="", **none)
    route = row_of(database, "routes", src_chain_id=1, dst_chain_id=56)
    assert (route["base_fee"], route["perc_fee_tiers"]) == (None, None)
    assert operator.get("/admin/routes/").text.count("not known") == 2
    assert "Nothing was changed" in send(operator, path).text

    form = "/admin/routes/base-fees"
    doubled = send(operator, form, dst_chain_id="56", how="factor", factor="2")
    assert "not known" in doubled.text
    assert row_of(database, "routes", src_chain_id=1, dst_chain_id=56)["base_fee"] is None
    save(operator, form, dst_chain_id="56", symbol="USDT", how="amount", amount="7", amount_unit="smallest")
    assert row_of(database, "routes", src_chain_id=1, dst_chain_id=56)["base_fee"] == "7"
    tier = {"perc_fee_tiers_0_from": "0", "perc_fee_tiers_0_fee": "0.0005"}
    assert "0.0005 %" in send(operator, path, **tier).text


@pytest.mark.parametrize("fee", ["deposit_base_fee", "burn_base_fee", "perc_fee_tiers"])
def test_pegged_fees_that_are_not_known(operator: Visitor, database: Database, fee: str) -> None:
    path = path_of(database, "pegged_pairs", "CELR", 1, 10)
    blank = ("perc_fee_tiers_0_from", "perc_fee_tiers_0_fee") if fee == "perc_fee_tiers" else (fee,)
    save(operator, path, **dict.fromkeys(blank, ""))
    assert row_of(database, "pegged_pairs", pegged_chain_id=10)[fee] is None
    assert "not known" in operator.get("/admin/pegged_pairs/").text
    asked = {"src": "1", "dst": "10", "token": "CELR", "amount": "1", "slippage": "0.5"}
    if fee == "burn_base_fee":
        asked |= {"src": "10", "dst": "1"}
    page = operator.get("/admin/estimates/", query_string=asked)
    assert page.status_code == 200
    assert "are not known at this moment" in page.text
    assert "The fees are known" in page.text


def test_a_new_route_without_fees_says_so(operator: Visitor) -> None:
    new = {"symbol": "USDT", "src_chain_id": "10", "dst_chain_id": "1", "base_fee": ""}
    new |= {"perc_fee_tiers_0_from": "", "perc_fee_tiers_0_fee": ""}
    assert "a fee is not known" in send(operator, "/admin/routes/new", **new).text.lower()
