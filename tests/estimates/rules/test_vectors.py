"""The recorded production answers."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

from app.estimates.rules.checks import estimate
from app.estimates.rules.inputs import EstimateInputs, EstimateRequest
from app.network.rules.terms import BaseFee, ChainTerms, FeeTier, FixedRate, RouteTerms, TokenTerms
from app.values.amounts import rate_as_number
from app.values.codes import BridgeType
from tests.estimates.rules.estimate_cases import BNB_CHAIN, ETHEREUM, NOW, pool_with, refused, with_request

VECTORS = Path(__file__).parents[2] / "contract" / "vectors"


def load(name: str) -> dict:
    return json.loads((VECTORS / name).read_text())


def recorded() -> tuple[EstimateInputs, dict]:
    vector = load("estimate_usdt_1_to_56.json")
    query, given = vector["request"], vector["given"]
    inputs = EstimateInputs(
        request=EstimateRequest(**(query | {"amt": int(query["amt"])})),
        now=NOW,
        src_chain=ChainTerms(ETHEREUM, "Ethereum", minimal_max_slippage=given["minimal_max_slippage"]),
        dst_chain=ChainTerms(BNB_CHAIN, "BNB Chain"),
        src_token=TokenTerms("USDT", given["src_decimal"]),
        dst_token=TokenTerms("USDT", given["dst_decimal"]),
        route=RouteTerms(
            FixedRate.parse(given["rate"]),
            BaseFee(int(given["base_fee"])),
            tiers=(FeeTier(0, given["perc_fee_ppm"]),),
        ),
        src_pool=pool_with(added=10**12),
        dst_pool=pool_with(added=10**24),
    )
    return inputs, vector


def test_usdt_from_1_to_56():
    inputs, vector = recorded()
    answer, exact, seen = estimate(inputs), vector["exact"], vector["recorded"]
    assert str(answer.eq_value_token_amt) == exact["eq_value_token_amt"]
    assert str(answer.estimated_receive_amt) == exact["estimated_receive_amt"]
    assert answer.max_slippage == exact["max_slippage"] == seen["max_slippage"]
    assert answer.bridge_rate == Fraction(1000001, 1000000)
    assert rate_as_number(answer.bridge_rate) == seen["bridge_rate"]
    assert str(answer.perc_fee) == seen["perc_fee"]
    assert str(answer.base_fee) == seen["base_fee"]
    assert str(answer.drop_gas_amt) == seen["drop_gas_amt"]
    assert answer.slippage_tolerance == seen["slippage_tolerance"]
    assert answer.bridge_type is BridgeType.POOL


def test_amount_zero_in_the_recorded_words():
    inputs, _ = recorded()
    error = load("error_estimate.json")["err"]
    got = refused(with_request(inputs, amt=0))
    assert (got.code, got.msg) == (error["code"], error["msg"])
