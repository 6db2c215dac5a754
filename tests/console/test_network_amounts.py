"""Amounts in tokens with their unit, states and bounds of tokens and pairs, and fees that are not known."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import update

from app.accounts.rules.roles import Role
from app.accounts.rules.two_persons import TwoPersons
from app.db.database import Database
from app.db.engine import writing
from app.estimates.models import ReportedFee
from app.http.application import add_part, part_of
from app.network.document import import_network
from app.network.models import NetworkPart, Token
from tests.actors import TESTER
from tests.applications import Editing
from tests.builders.clock import MovableClock
from tests.console.forms import form_of, save, send
from tests.console.visitor import Visitor, email_of, visitor_of
from tests.network.services.edits.kit import document, put, shown
from tests.network.services.network_kit import VAULT, text

MILLIONS = "8 000 000"


def page_of(database: Database, section: str, *key: Any) -> str:
    return f"/admin/{section}/{shown(database, section, *key).row_id}"


def route_page(database: Database, symbol: str, *, src: int, dst: int) -> str:
    return page_of(database, "routes", symbol, src, dst)


def pool(database: Database) -> dict[str, Any]:
    (row,) = (r for r in document(database)["pools"] if r["chain_id"] == 1)
    return dict(row)


def spaced(text: str) -> str:
    return re.sub("[\u2009\u202f\u00a0]", " ", text)


def test_amount_is_typed_in_tokens(operator: Visitor, database: Database) -> None:
    path = page_of(database, "pools", 1, "USDT")
    page = operator.get(path)
    assert form_of(page)["total_cap"] == "9000000", "shown in tokens"
    assert form_of(page)["total_cap_unit"] == "tokens"
    assert '<option selected value="tokens">USDT</option>' in page.text, "the unit stands beside the field"
    preview = send(operator, path, total_cap=MILLIONS)
    words = spaced(preview.text)
    assert "8 000 000 USDT" in words
    assert "8 000 000 000 000 smallest units" in words
    assert send(operator, path, preview, confirm="1").status_code == 302
    assert pool(database)["total_cap"] == "8" + "0" * 12

    small = send(operator, path, total_cap=MILLIONS, total_cap_unit="smallest")
    assert "8 USDT" in spaced(small.text), "who wants smallest units says so, and sees what they are"
    assert send(operator, path, small, confirm="1").status_code == 302
    assert pool(database)["total_cap"] == "8000000"
    assert "Nothing was changed" in send(operator, path).text


def test_amount_without_unit_is_refused(operator: Visitor, database: Database) -> None:
    """Such as from a page that was loaded before the fields had units."""
    before = document(database)
    for path, name in (
        (page_of(database, "pools", 1, "USDT"), "epoch_cap"),
        (page_of(database, "tokens", 1, "USDT"), "min_send"),
        (route_page(database, "USDT", src=1, dst=56), "base_fee"),
        (page_of(database, "pegged_pairs", "CELR", 1, 10), "burn_base_fee"),
        ("/admin/chains/1", "drop_gas_amt"),
    ):
        form = form_of(operator.get(path))
        del form[f"{name}_unit"]
        answer = operator.post(path, form | {name: "5", "confirm": "1"})
        assert "unit of the amount" in answer.text.casefold(), path
    assert document(database) == before


def test_stored_amount_is_exact(operator: Visitor, database: Database) -> None:
    path = page_of(database, "pools", 1, "USDT")
    for typed, unit, stored in (
        ("0.000001", "tokens", "1"),
        ("1\u2009234.5", "tokens", "1234500000"),
        ("0", "tokens", "0"),
        ("000123", "smallest", "123"),
        ("1", "tokens", "1000000"),
        ("9" * 60, "tokens", "9" * 60 + "000000"),
    ):
        save(operator, path, epoch_cap=typed, epoch_cap_unit=unit)
        assert pool(database)["epoch_cap"] == stored, typed
        assert "Nothing was changed" in send(operator, path).text, "shown and sent back, it is the same"


def test_evm_gas_coin_has_18_decimals(operator: Visitor, database: Database) -> None:
    preview = send(operator, "/admin/chains/1", drop_gas_amt="0.05")
    assert "0.05 ETH" in preview.text
    send(operator, "/admin/chains/1", preview, confirm="1")
    assert document(database)["chains"][0]["drop_gas_amt"] == "5" + "0" * 16
    other = {"id": "8453", "name": "Flow", "explore_url": "https://flow.example", "gas_token_symbol": "FLOW",
             "block_delay": "1", "minimal_max_slippage": "1", "contract_addr": "A.0x123.Bridge"}  # fmt: skip
    unknown = send(operator, "/admin/connect/?like=nothing", **other, drop_gas_amt="0.05")
    assert "decimals of FLOW on this chain" in unknown.text, "not guessed where the coin is not known"
    save(operator, "/admin/connect/?like=nothing", **other, drop_gas_amt="7", drop_gas_amt_unit="smallest")
    page = operator.get("/admin/chains/8453")
    assert (form_of(page)["drop_gas_amt"], form_of(page)["drop_gas_amt_unit"]) == ("7", "smallest")


def test_new_token_bounds_use_its_decimals(operator: Visitor, database: Database) -> None:
    new = {"chain_id": "1", "symbol": "GLD", "name": "Gold", "decimal": "2", "min_send": "0.5",
           "address": "0x00000000000000000000000000000000000000aa"}  # fmt: skip
    save(operator, "/admin/tokens/new", **new)
    assert document(database)["tokens"][-1]["min_send"] == "50"


def test_pair_fees_use_the_pairs_decimals(operator: Visitor, database: Database) -> None:
    path = page_of(database, "pegged_pairs", "CELR", 1, 10)
    own = {"pegged_token_address": "0x00000000000000000000000000000000000000aa", "pegged_token_decimal": "6"}
    save(operator, path, **own, deposit_base_fee="0.25")
    (pair,) = (row for row in document(database)["pegged_pairs"] if row["pegged_chain_id"] == 10)
    assert pair["deposit_base_fee"] == "250000"
    assert form_of(operator.get(path))["deposit_base_fee"] == "0.25"
    assert "0.25 <span" in operator.get("/admin/pegged_pairs/").text, "the list counts by them, too"


def test_fee_tiers_are_rows(operator: Visitor, database: Database) -> None:
    path = route_page(database, "USDT", src=1, dst=56)
    form = form_of(operator.get(path))
    assert [form[f"perc_fee_tiers_{n}_{part}"] for n in range(2) for part in ("from", "fee")] == [
        "0", "0.04", "1000000", "0.03",
    ]  # fmt: skip
    assert form["perc_fee_tiers_4_from"] == "", "rows to add without a script"
    # index 2 stays blank: the filled index 3 becomes row 3
    tier_after_gap = {"perc_fee_tiers_3_from": "2 000 000", "perc_fee_tiers_3_fee": "0.0001 %"}
    preview = send(operator, path, **tier_after_gap)
    for words in ("Protocol fee tiers, row 3, from", "2 000 000 USDT", "0.0001 %", "1 ppm"):
        assert words in spaced(preview.text), words
    send(operator, path, preview, confirm="1")
    assert document(database)["routes"][0]["perc_fee_tiers"][-1] == {"from": "2000000000000", "ppm": 1}
    blank = {"perc_fee_tiers_1_from": "", "perc_fee_tiers_1_fee": ""}
    save(operator, path, **blank)
    assert [tier["ppm"] for tier in document(database)["routes"][0]["perc_fee_tiers"]] == [400, 1]
    assert operator.post(path, {"perc_fee_tiers": "0 400"}).status_code == 400, "the former field"


def test_list_and_estimate_show_the_fee_in_use(
    app: Flask, operator: Visitor, database: Database, clock: MovableClock
) -> None:
    path = route_page(database, "USDT", src=1, dst=56)

    def listed(visitor: Visitor = operator) -> str:
        row = visitor.get("/admin/routes/").text.split(f'href="{path}"')[1].split("</tr>")[0]
        (cell,) = re.findall(r'data-label="Base fee">(.*?)</td>', row, re.DOTALL)
        return re.sub(r"<[^>]*>", " ", cell)

    assert re.match(r"\s*0\.605437… .*configured", listed())  # the network's own
    put(
        database, ReportedFee, symbol="USDT", src_chain_id=1, dst_chain_id=56, base_fee=5 * 10**17,
        at=clock(), event_id="fee-1",
    )  # fmt: skip
    assert re.match(r"\s*0\.5 .*reported ", listed())
    save(operator, path, pinned_base_fee="0.7", pinned_until_in="24h", base_fee_max_age_seconds="60")
    clock.forward(hours=23)
    operator = visitor_of(app, email_of(Role.OPERATOR))  # the first session has ended
    assert re.match(r"\s*0\.7 .*pinned", listed(operator))
    assert "too old" not in operator.get("/admin/routes/").text
    lines = re.findall(
        r"<td>(Pinned|Reported by the feed|Configured)</td>(.*?)</tr>", operator.get(path).text
    )
    assert [(name, "used now" in cells) for name, cells in lines] == [
        ("Pinned", True), ("Reported by the feed", False), ("Configured", False),
    ]  # fmt: skip
    requested = {"src": "1", "dst": "56", "token": "USDT", "amount": "100", "slippage": "0.5"}
    explained = operator.get("/admin/estimates/", query_string=requested).text
    assert "Pinned by an operator until" in explained
    assert "0.7 USDT" in explained
    clock.forward(hours=1)
    operator = visitor_of(app, email_of(Role.OPERATOR))
    assert re.match(r"\s*0\.5 .*reported ", listed(operator))
    assert "too old" in operator.get("/admin/routes/").text
    record = operator.get("/admin/audit/").text
    assert "route of USDT from Ethereum to BNB Chain" in record


def row_of(database: Database, section: str, **named: Any) -> dict[str, Any]:
    (row,) = (row for row in document(database)[section] if named.items() <= row.items())
    return dict(row)


def test_tokens_of_pair_are_edited(operator: Visitor, database: Database, editing: Editing) -> None:
    """Entered values are stored, emptied ones are those of the chain again, those without input stay."""
    given = document(database)
    given["pegged_pairs"][0]["pegged_token"] = {"icon": "", "extra": {"note": 1}}
    import_network(*editing, text(given), actor=TESTER)
    path = page_of(database, "pegged_pairs", "CELR", 1, 10)
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


def test_states_and_bounds_of_token_are_edited(operator: Visitor, database: Database) -> None:
    path = page_of(database, "tokens", 1, "USDT")
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
    """Somebody else sets these columns of the token."""
    of_token = update(Token).where(Token.chain_id == 1, Token.symbol == "USDT")
    with writing(part_of(app, Database).engine) as connection:
        connection.execute(of_token.values(dict(zip(STOPS, stops, strict=True))))
        connection.execute(update(NetworkPart).values(version=NetworkPart.version + 1))


@pytest.mark.parametrize("stops", list(product((False, True), repeat=3)))
def test_state_choice_sets_all_token_stops(
    operator: Visitor, network: Flask, database: Database, stops: tuple[bool, ...]
) -> None:
    path = page_of(database, "tokens", 1, "USDT")
    with_stops(network, *stops)
    states: dict[tuple[bool, ...], str] = {
        (False, False, False): "runs", (False, True, False): "pool", (True, False, False): "stopped",
        (True, True, False): "stopped",
    }  # fmt: skip
    state = states.get(stops, "custom")
    page = operator.get(path)
    assert form_of(page)["xfer_disabled"] == state
    assert not set(STOPS[1:]) & form_of(page).keys()
    assert ("Custom: " in page.text) == (state == "custom")
    save(operator, path, name=f"Named {stops}")
    assert stops_of(database) == stops, (
        "another edit, which sends the same choice, does not change the columns"
    )
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
    save(operator, page_of(database, "tokens", 1, "USDT"), xfer_disabled="stopped")
    assert stops_of(database) == (True, True, False), "nobody waits for a stop"


def test_bounds_of_pair_are_edited(operator: Visitor, database: Database) -> None:
    path = page_of(database, "pegged_pairs", "CELR", 1, 10)
    page = operator.get(path).text
    for words in ("minDeposit plus 1", "maxDeposit", "minBurn plus 1", "maxBurn"):
        assert words in page
    assert "minSend plus 1" in operator.get(page_of(database, "tokens", 1, "USDT")).text
    bounds = {"min_deposit": "2", "max_deposit": "9", "min_burn": "3", "max_burn": "8"}
    assert "2 CELR" in send(operator, path, **bounds).text
    save(operator, path, **bounds)
    row = row_of(database, "pegged_pairs", pegged_chain_id=10)
    assert {name: int(row[name]) // 10**18 for name in bounds} == {n: int(v) for n, v in bounds.items()}
    refused = send(operator, path, max_burn="2")
    assert "Must be at least “Minimum burn”" in refused.text
    save(operator, path, **dict.fromkeys(bounds, ""))
    assert not set(bounds) & row_of(database, "pegged_pairs", pegged_chain_id=10).keys()


def test_unknown_fees_are_shown(operator: Visitor, database: Database) -> None:
    path = route_page(database, "USDT", src=1, dst=56)
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


@pytest.mark.parametrize("fee", ["burn_base_fee", "perc_fee_tiers"])
def test_unknown_pegged_fees_are_shown(operator: Visitor, database: Database, fee: str) -> None:
    path = page_of(database, "pegged_pairs", "CELR", 1, 10)
    blank = ("perc_fee_tiers_0_from", "perc_fee_tiers_0_fee") if fee == "perc_fee_tiers" else (fee,)
    save(operator, path, **dict.fromkeys(blank, ""))
    assert row_of(database, "pegged_pairs", pegged_chain_id=10)[fee] is None
    assert "not known" in operator.get("/admin/pegged_pairs/").text
    requested = {"src": "1", "dst": "10", "token": "CELR", "amount": "1", "slippage": "0.5"}
    if fee == "burn_base_fee":
        requested |= {"src": "10", "dst": "1"}
    page = operator.get("/admin/estimates/", query_string=requested)
    assert page.status_code == 200
    assert "are not known at this moment" in page.text
    assert "The fees are known" in page.text


def test_new_route_without_fees_is_marked(operator: Visitor) -> None:
    new = {"symbol": "USDT", "src_chain_id": "10", "dst_chain_id": "1", "base_fee": ""}
    new |= {"perc_fee_tiers_0_from": "", "perc_fee_tiers_0_fee": ""}
    assert "a fee is not known" in send(operator, "/admin/routes/new", **new).text.lower()
