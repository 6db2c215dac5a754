"""Every token of the production configuration is disconnected and connected again, over unequal pools."""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from app.accounts.rules.roles import Role
from app.accounts.rules.two_persons import TwoPersons
from app.db.database import Database
from app.network.document import import_network
from app.network.edits.restore import Undo
from app.network.edits.save import preview_edit
from app.network.from_configs import document_from_configs
from tests.actors import TESTER
from tests.amounts import few_or_many
from tests.api.shapes import ESTIMATE
from tests.applications import Editing
from tests.builders.network import text
from tests.console.forms import form_of, send
from tests.console.large import RECORDED, SIZE
from tests.console.visitor import Visitor, signed_in

SEED = 1

SECONDS = 10
"""For the preview of the whole configuration."""

CONTRACT = f"0x{7:040x}"
ACCEPTED = Fraction(1, 100)

Row = dict[str, Any]


def without(document: Row, chain_id: int, symbol: str) -> Row:
    """The document without a token on a chain, its pool, its routes and its pairs."""

    def is_of(row: Row) -> bool:
        return row["symbol"] == symbol and chain_id in [
            row[name] for name in row if name.endswith("chain_id")
        ]

    sections = ("tokens", "pools", "routes", "route_blocks", "pegged_pairs")
    return document | {name: [row for row in document[name] if not is_of(row)] for name in sections}


def of_symbols(document: Row, symbols: set[str]) -> Row:
    """The rows of the chains and of these tokens: a document of a few is imported in a tenth of the time."""
    return document | {
        name: [row for row in rows if row.get("symbol", "") in symbols or "symbol" not in row]
        for name, rows in document.items()
        if isinstance(rows, list)
    }


def reconnect(visitor: Visitor, path: str, page: TestResponse, pick: random.Random) -> TestResponse:
    """The preview of the wizard's page. A rate that it leaves open is 1, or a curve."""
    form = form_of(page)
    fees = {name: "0.5" for name in form if name.endswith("_fee")}
    liquidity = str(SMALLEST * pick.choice(TIMES))
    filled = form | fees | {"token0_address": CONTRACT, "token0_liquidity": liquidity}
    page = visitor.post(path, filled)
    for field in re.findall(r'id="(?:field-)?(route\d+_rate)-error"', page.text):
        filled[field] = pick.choice(("1", f"curve {pick.randint(50, 2000)}"))
    preview = page if 'id="confirming"' in page.text else visitor.post(path, filled)
    assert 'id="confirming"' in preview.text, preview.text
    return preview


def small_rates(visitor: Visitor, document: Row, chain_id: int, symbol: str) -> Iterator[Fraction]:
    """The bridge rates of the smallest amounts that clients get an estimate for, both ways."""
    tokens = {row["chain_id"]: row for row in document["tokens"] if row["symbol"] == symbol}
    for other in tokens.keys() - {chain_id}:
        for src, dst in ((chain_id, other), (other, chain_id)):
            least = max(10 ** tokens[src]["decimal"], int(tokens[src].get("min_send") or 0))
            for doubled in range(6):
                requested = {
                    "src_chain_id": src, "dst_chain_id": dst, "token_symbol": symbol, "is_pegged": "false",
                    "amt": least << doubled, "slippage_tolerance": 1,
                }  # fmt: skip
                answer = visitor.client.get(ESTIMATE, query_string=requested).get_json()
                if not answer["err"]:
                    yield Fraction(str(answer["bridge_rate"]))
                    break


@pytest.mark.parametrize("tokens", few_or_many(6, SIZE["pools"]))
def test_reconnected_token_keeps_its_rates(app: Flask, editing: Editing, tokens: int) -> None:
    pick, seen = random.Random(SEED), Counter[str]()
    document = priced_document(pick)
    pools = [(row["chain_id"], row["symbol"]) for row in document["pools"]]
    visitor = signed_in(app, Role.OPERATOR)
    sampled = pick.sample(pools, tokens)
    document = of_symbols(document, {symbol for _, symbol in sampled})
    for chain_id, symbol in sampled:
        import_network(*editing, text(without(document, chain_id, symbol)), actor=TESTER)
        path = f"/admin/connect/token?chain={chain_id}&symbol={symbol}"
        page = visitor.get(path)
        if page.status_code == 302:
            seen["only there"] += 1
            continue
        preview = reconnect(visitor, path, page, pick)
        seen["figures"] += preview.text.count('data-label="Sent"')
        if 'name="typed"' in preview.text:
            seen["warned"] += 1
            assert "Nothing was saved" in send(visitor, path, preview, confirm="1").text
            continue
        assert send(visitor, path, preview, confirm="1").status_code == 302
        seen["quiet"] += 1
        for rate in small_rates(visitor, document, chain_id, symbol):
            seen["estimates"] += 1
            assert abs(rate - 1) <= ACCEPTED, (chain_id, symbol, rate)
    assert seen["figures"] >= 2 * tokens
    assert seen["warned"]
    assert seen["quiet"]
    assert seen["estimates"]


def test_whole_configuration_is_previewed_in_time(
    database: Database, two_persons: TwoPersons, editing: Editing
) -> None:
    document = priced_document(random.Random(SEED))
    import_network(*editing, text(document), actor=TESTER)
    import_network(*editing, text({"version": 1}), actor=TESTER)
    started = time.monotonic()
    preview = preview_edit(database, two_persons, Undo(2, as_document=True))
    assert time.monotonic() - started < SECONDS
    assert len(preview.trials) == SIZE["routes"]
    assert all(tried.figures for tried in preview.trials)


SMALLEST: Final = 10_000
"""Whole tokens in the smallest pools."""

TIMES: Final = (1, 3, 10, 30, 100, 300, 1000)
"""How many times as large the others are."""


def priced_document(pick: random.Random) -> dict[str, Any]:
    """The recorded configuration; a third of the routes are curves, the others have a rate of 1."""
    document = dict(document_from_configs(RECORDED.read_bytes()).document)
    units = {(token["chain_id"], token["symbol"]): 10 ** token["decimal"] for token in document["tokens"]}
    for pool in document["pools"]:
        liquidity = SMALLEST * pick.choice(TIMES) * units[pool["chain_id"], pool["symbol"]]
        pool |= {"liquidity_added": str(liquidity), "total_cap": None, "epoch_cap": None}
    for route in document["routes"]:
        if not pick.randrange(3):
            route["rate"] = {"model": "stableswap", "amplification": pick.randint(50, 2000)}
        fee = units[route["dst_chain_id"], route["symbol"]] * pick.randrange(30) // 10
        route |= {"base_fee": str(fee), "perc_fee_tiers": [{"from": "0", "ppm": 400}]}
    return document
