"""Amounts in tokens: what is typed, what is kept, and the unit that is always beside it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from flask import Flask

from app.db.database import Database
from app.estimates.models import ReportedFee
from tests.console.forms import form_of, save, send
from tests.console.visitor import MovableClock, Visitor, again
from tests.network.services.edits.kit import document, put, shown

MILLIONS = "8 000 000"


def page_of(database: Database, section: str, *key: Any) -> str:
    return f"/admin/{section}/{shown(database, section, *key).row_id}"


def pool(database: Database) -> dict[str, Any]:
    (row,) = (r for r in document(database)["pools"] if r["chain_id"] == 1)
    return dict(row)


def spaced(text: str) -> str:
    return re.sub("[\u2009\u202f\u00a0]", " ", text)


def test_eight_million_typed_is_eight_million_tokens(operator: Visitor, database: Database) -> None:
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


@pytest.mark.parametrize("section", ["pools", "tokens", "routes", "pegged_pairs", "chains"])
def test_amount_without_unit_is_refused(operator: Visitor, database: Database, section: str) -> None:
    """Such as from a page that was loaded before the fields had units."""
    keys: dict[str, tuple[Any, ...]] = {
        "pools": (1, "USDT"), "tokens": (1, "USDT"), "routes": ("USDT", 1, 56),
        "pegged_pairs": ("CELR", 1, 10), "chains": (1,),
    }  # fmt: skip
    names = {
        "pools": "epoch_cap", "tokens": "min_send", "routes": "base_fee", "pegged_pairs": "burn_base_fee",
        "chains": "drop_gas_amt",
    }  # fmt: skip
    before = document(database)
    path = "/admin/chains/1" if section == "chains" else page_of(database, section, *keys[section])
    form = form_of(operator.get(path))
    del form[f"{names[section]}_unit"]
    answer = operator.post(path, form | {names[section]: "5", "confirm": "1"})
    assert "unit of the amount" in answer.text.casefold()
    assert document(database) == before


@pytest.mark.parametrize(
    ("typed", "unit", "kept"),
    [
        ("0.000001", "tokens", "1"),
        ("1\u2009234.5", "tokens", "1234500000"),
        ("0", "tokens", "0"),
        ("000123", "smallest", "123"),
        ("1", "tokens", "1000000"),
        ("9" * 60, "tokens", "9" * 60 + "000000"),
    ],
)
def test_what_is_kept_is_exact(
    operator: Visitor, database: Database, typed: str, unit: str, kept: str
) -> None:
    path = page_of(database, "pools", 1, "USDT")
    save(operator, path, epoch_cap=typed, epoch_cap_unit=unit)
    assert pool(database)["epoch_cap"] == kept
    assert "Nothing was changed" in send(operator, path).text, "shown and sent back, it is the same"


@pytest.mark.parametrize(
    ("typed", "unit", "words"),
    [
        ("0.0000001", "tokens", "USDT has 6 decimals"),
        ("1e6", "tokens", "is not a number"),
        ("-1", "tokens", "is not a number"),
        ("8,000,000", "tokens", "without commas"),
        ("²", "smallest", "Enter smallest units as digits only"),
        ("9" * 121, "smallest", "Enter smallest units as digits only"),
        ("9" * 75, "tokens", "at most 2^256-1"),
    ],
)
def test_what_a_token_cannot_hold_is_refused(
    operator: Visitor, database: Database, typed: str, unit: str, words: str
) -> None:
    path = page_of(database, "pools", 1, "USDT")
    answer = send(operator, path, epoch_cap=typed, epoch_cap_unit=unit)
    assert words.casefold() in answer.text.casefold()
    assert 'name="confirm"' not in answer.text
    assert form_of(answer)["epoch_cap"] == typed, "what was typed is still there"
    assert form_of(answer)["epoch_cap_unit"] == unit


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
    path = page_of(database, "routes", "USDT", 1, 56)
    form = form_of(operator.get(path))
    assert [form[f"perc_fee_tiers_{n}_{part}"] for n in range(2) for part in ("from", "fee")] == [
        "0", "0.04", "1000000", "0.03",
    ]  # fmt: skip
    assert form["perc_fee_tiers_4_from"] == "", "rows to add without a script"
    third = {"perc_fee_tiers_3_from": "2 000 000", "perc_fee_tiers_3_fee": "0.0001 %"}
    preview = send(operator, path, **third)
    for words in ("Protocol fee tiers, row 3, from", "2 000 000 USDT", "0.0001 %", "1 ppm"):
        assert words in spaced(preview.text), words
    send(operator, path, preview, confirm="1")
    assert document(database)["routes"][0]["perc_fee_tiers"][-1] == {"from": "2000000000000", "ppm": 1}
    blank = {"perc_fee_tiers_1_from": "", "perc_fee_tiers_1_fee": ""}
    save(operator, path, **blank)
    assert [tier["ppm"] for tier in document(database)["routes"][0]["perc_fee_tiers"]] == [400, 1]
    assert operator.post(path, {"perc_fee_tiers": "0 400"}).status_code == 400, "the field of before is told"


def test_the_list_shows_the_fee_that_counts(
    app: Flask, operator: Visitor, database: Database, clock: MovableClock
) -> None:
    path = page_of(database, "routes", "USDT", 1, 56)

    def listed(visitor: Visitor = operator) -> str:
        row = visitor.get("/admin/routes/").text.split(f'href="{path}"')[1].split("</tr>")[0]
        (cell,) = re.findall(r'data-label="Base fee">(.*?)</td>', row, re.DOTALL)
        return re.sub(r"<[^>]*>", " ", cell)

    assert re.match(r"\s*0\.605437… .*configured", listed())
    put(
        database, ReportedFee, symbol="USDT", src_chain_id=1, dst_chain_id=56, base_fee=5 * 10**17,
        at=clock(), event_id="fee-1",
    )  # fmt: skip
    assert re.match(r"\s*0\.5 .*reported ", listed())
    save(operator, path, pinned_base_fee="0.7", pinned_until_in="24h", base_fee_max_age_seconds="60")
    clock.forward(hours=23)
    operator = again(app)
    assert re.match(r"\s*0\.7 .*pinned", listed(operator))
    assert "too old" not in operator.get("/admin/routes/").text
    lines = re.findall(
        r"<td>(Pinned|Reported by the feed|Configured)</td>(.*?)</tr>", operator.get(path).text
    )
    assert [(name, "used now" in cells) for name, cells in lines] == [
        ("Pinned", True), ("Reported by the feed", False), ("Configured", False),
    ]  # fmt: skip
    asked = {"src": "1", "dst": "56", "token": "USDT", "amount": "100", "slippage": "0.5"}
    explained = operator.get("/admin/estimates/", query_string=asked).text
    assert "Pinned by an operator until" in explained
    assert "0.7 USDT" in explained
    clock.forward(hours=1)
    operator = again(app)
    assert re.match(r"\s*0\.5 .*reported ", listed(operator))
    assert "too old" in operator.get("/admin/routes/").text
    record = operator.get("/admin/audit/").text
    assert "route of USDT from Ethereum to BNB Chain" in record
