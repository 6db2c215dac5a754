"""Estimates under the keys of tokens and pairs: switches, bounds of amounts, fees that are not known."""

from __future__ import annotations

import json
from typing import Any

import pytest
from flask import Flask

from app.db.database import Database
from app.estimates.rules.checks import Estimate
from app.feed.services.ingest import Intake, ingest_lines
from app.network.document import import_network
from app.values.codes import ErrCode, Reason
from app.values.errors import GatewayError
from app.values.times import rfc3339
from tests.actors import TESTER
from tests.applications import Editing
from tests.estimates.services.estimate_kit import answer, query
from tests.network.services.network_kit import network, text

pytestmark = pytest.mark.one_database


def put(editing: Editing, section: str, index: int = 0, /, **changes: Any) -> None:
    document = network()
    document[section][index] |= changes
    import_network(*editing, text(document), actor=TESTER)


def estimated(app: Flask, src: int = 1, dst: int = 56, symbol: str = "USDT", **changes: Any) -> Estimate:
    fields: dict[str, Any] = {"amt": 1_000_000_000} | changes
    return answer(app, query(src_chain_id=src, dst_chain_id=dst, token_symbol=symbol, **fields))


def refusal(app: Flask, src: int = 1, dst: int = 56, **changes: Any) -> GatewayError:
    with pytest.raises(GatewayError) as refused:
        estimated(app, src, dst, **changes)
    return refused.value


CELR = 3
"""Where CELR of chain 1 is among the tokens; USDT of chain 1 is the first."""


def celr(**changes: Any) -> dict[str, Any]:
    return {"symbol": "CELR", "amt": 10**18} | changes


def test_stopped_pool_stops_only_the_pool(app: Flask, editing: Editing) -> None:
    put(editing, "tokens", pool_disabled=True)
    got = refusal(app)
    assert (got.code, got.reason) == (1009, Reason.TRANSFER_DISABLED)
    assert "through the pool" in got.msg
    put(editing, "tokens", CELR, pool_disabled=True)
    assert estimated(app, **celr()).estimated_receive_amt > 0


@pytest.mark.parametrize("switch", ["xfer_disabled", "transfer_disabled"])
def test_a_stopped_token_stops_both_kinds(app: Flask, editing: Editing, switch: str) -> None:
    put(editing, "tokens", **{switch: True})
    assert refusal(app).reason is Reason.TRANSFER_DISABLED
    put(editing, "tokens", CELR, **{switch: True})
    assert refusal(app, **celr()).reason is Reason.TRANSFER_DISABLED


@pytest.mark.parametrize("side", ["org_token", "pegged_token"])
def test_a_stopped_pair(app: Flask, editing: Editing, side: str) -> None:
    put(editing, "pegged_pairs", 1, **{side: {"xfer_disabled": True}})
    for chains in ((1, 56), (56, 1), (10, 56), (56, 10)):
        assert refusal(app, *chains, **celr()).reason is Reason.TRANSFER_DISABLED
    assert estimated(app, 1, 10, **celr()).estimated_receive_amt > 0


def test_bounds_of_amounts(app: Flask, editing: Editing) -> None:
    put(editing, "tokens", min_send="2000000000", max_send="3000000000")
    got = refusal(app)
    assert (got.code, got.reason) == (ErrCode.ERROR_CODE_COMMON, Reason.AMOUNT_UNDER_MINIMUM)
    assert "transfer at least 2000 USDT" in got.msg
    got = refusal(app, amt=3_000_000_001)
    assert (got.code, got.reason) == (ErrCode.ERROR_CODE_COMMON, Reason.AMOUNT_OVER_MAXIMUM)
    assert "transfer at most 3000 USDT" in got.msg
    for amt in (2_000_000_000, 3_000_000_000):
        assert estimated(app, amt=amt).estimated_receive_amt > 0


def test_named_amount_is_within_bounds(app: Flask, editing: Editing) -> None:
    document = network()
    document["tokens"][0] |= {"max_send": "6000000000"}
    document["pools"][0] |= {"epoch_cap": "1000000"}
    import_network(*editing, text(document), actor=TESTER)
    got = refusal(app, amt=7_000_000_000)
    assert (got.reason, "at most 1 USDT" in got.msg) == (Reason.AMOUNT_OVER_MAXIMUM, True)


def test_bounds_count_for_pegged_transfers_too(app: Flask, editing: Editing) -> None:
    put(editing, "tokens", CELR, min_send=str(2 * 10**18))
    assert refusal(app, **celr()).reason is Reason.AMOUNT_UNDER_MINIMUM
    assert estimated(app, 56, 1, **celr()).estimated_receive_amt > 0, "the bound is of the source's token"


@pytest.mark.parametrize("key", ["base_fee", "perc_fee_tiers"])
def test_unknown_fees_are_not_quoted(app: Flask, editing: Editing, key: str) -> None:
    put(editing, "routes", 0, **{key: None})
    got = refusal(app)
    assert (got.code, got.reason) == (ErrCode.ERROR_CODE_COMMON, Reason.FEE_STALE)
    assert refusal(app, amt=0).reason is Reason.AMOUNT_ZERO


def test_feed_provides_only_base_fee(
    app: Flask, database: Database, intake: Intake, editing: Editing
) -> None:
    fee: dict[str, Any] = {
        "id": "fee-1",
        "type": "fee.updated",
        "at": rfc3339(database.clock()),
        "symbol": "USDT",
    }
    fee |= {"src_chain_id": 1, "dst_chain_id": 56, "base_fee": "7"}
    put(editing, "routes", base_fee=None)
    assert ingest_lines(database, intake, [json.dumps(fee).encode()], "test").accepted == 1
    assert estimated(app).base_fee == 7
    put(editing, "routes", base_fee=None, perc_fee_tiers=None)
    assert refusal(app).reason is Reason.FEE_STALE


@pytest.mark.parametrize(
    ("key", "refused"),
    [
        ("deposit_base_fee", [(1, 10), (56, 10)]),
        ("burn_base_fee", [(10, 1)]),
        ("perc_fee_tiers", [(1, 10), (10, 1), (56, 10)]),
    ],
)
def test_pegged_fees_that_are_not_known(
    app: Flask, editing: Editing, key: str, refused: list[tuple[int, int]]
) -> None:
    put(editing, "pegged_pairs", 0, **{key: None})
    for chains in ((1, 10), (10, 1), (56, 10), (10, 56)):
        if chains in refused:
            assert refusal(app, *chains, **celr()).reason is Reason.FEE_STALE
        else:
            assert estimated(app, *chains, **celr()).estimated_receive_amt > 0


def test_a_pair_token_of_other_decimals(app: Flask, editing: Editing) -> None:
    put(editing, "pegged_pairs", pegged_token={"decimal": 6})
    assert estimated(app, 1, 10, **celr()).eq_value_token_amt == 10**6
    assert estimated(app, 56, 10, **celr()).eq_value_token_amt == 10**6, "burned there, minted as the pair's"
    assert estimated(app, 1, 56, **celr()).eq_value_token_amt == 10**18
