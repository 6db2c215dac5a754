"""The estimate against the oracle, over many generated inputs; and nothing else raised for any of them."""

from __future__ import annotations

from functools import partial

from app.estimates.rules.checks import estimate
from app.estimates.rules.explanation import explain
from app.estimates.rules.inputs import EstimateInputs
from app.estimates.rules.pricing import price_transfer
from app.estimates.rules.refusals import EstimateRefused
from tests.estimates.rules.estimate_cases import for_seeds, pegged_inputs, plausible_inputs, wild_inputs
from tests.estimates.rules.oracle import Answer, Refused, expected, known


def answered(inputs: EstimateInputs) -> Answer | Refused:
    try:
        got = estimate(inputs)
    except EstimateRefused as refused:
        return Refused(refused.code, refused.reason)
    assert got.slippage_tolerance == inputs.request.slippage_tolerance
    assert got.drop_gas_amt == known(inputs.dst_chain).drop_gas_amt
    return Answer(
        got.eq_value_token_amt,
        got.bridge_rate,
        got.perc_fee,
        got.base_fee,
        got.estimated_receive_amt,
        got.max_slippage,
    )


@for_seeds(3000, partial(plausible_inputs, False))
def test_fixed_rate(inputs):
    assert answered(inputs) == expected(inputs)


@for_seeds(3000, partial(plausible_inputs, True))
def test_curve(inputs):
    assert answered(inputs) == expected(inputs)


@for_seeds(2000, pegged_inputs)
def test_pegged(inputs):
    assert answered(inputs) == expected(inputs)


@for_seeds(4000, wild_inputs)
def test_anything(inputs):
    got = answered(inputs)
    assert got == expected(inputs)
    explanation = explain(price_transfer(inputs))
    assert (explanation.refusal is None) == isinstance(got, Answer)
