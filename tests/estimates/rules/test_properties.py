"""What holds for every estimate, whatever its inputs."""

from __future__ import annotations

from hypothesis import given, reject
from hypothesis import strategies as st
from msgspec.structs import replace

from app.estimates.rules.checks import Estimate, estimate
from app.estimates.rules.inputs import EstimateInputs
from app.estimates.rules.pricing import Calculation, CurveUnsettled, calculate, price_of, transfer_terms
from app.estimates.rules.refusals import EstimateRefused
from app.network.rules.terms import FeeTier
from tests.estimates.rules.estimate_cases import pegged_cases, plausible, with_request

UINT256 = 2**256 - 1
pools = st.one_of(plausible(curve=False), plausible(curve=True))


def answer(inputs: EstimateInputs) -> Estimate:
    try:
        return estimate(inputs)
    except EstimateRefused:
        reject()


def worked_out(inputs: EstimateInputs) -> Calculation:
    """The figures of an amount, whatever the limits are."""
    transfer = transfer_terms(inputs)
    assert transfer is not None
    try:
        price = price_of(transfer)
        return reject() if price is None else calculate(transfer, price, inputs.request.amt)
    except CurveUnsettled:
        reject()


@given(pools)
def test_pool_answer_is_within_bounds(inputs):
    got = answer(inputs)
    assert inputs.src_chain.minimal_max_slippage <= got.max_slippage < 10**6
    assert got.estimated_receive_amt == got.eq_value_token_amt - got.perc_fee - got.base_fee
    assert 0 < got.estimated_receive_amt <= got.eq_value_token_amt <= UINT256
    assert got.estimated_receive_amt <= inputs.dst_pool.balance


@given(pools, st.integers(0, 2**100))
def test_higher_base_fee_never_receives_more(inputs, more):
    fee = inputs.route.base_fee
    dearer = replace(inputs, route=replace(inputs.route, base_fee=replace(fee, amount=fee.amount + more)))
    assert worked_out(dearer).receive == worked_out(inputs).receive - more
    assert worked_out(dearer).max_slippage >= worked_out(inputs).max_slippage


@given(pools, st.integers(0, 20_000))
def test_higher_protocol_fee_never_receives_more(inputs, more):
    tiers = tuple(FeeTier(tier.from_amount, tier.ppm + more) for tier in inputs.route.tiers)
    dearer = replace(inputs, route=replace(inputs.route, tiers=tiers))
    assert worked_out(dearer).receive <= worked_out(inputs).receive


@given(pegged_cases(), st.integers(0, 2**100))
def test_higher_pegged_fee_receives_less(inputs, more):
    dearer = replace(inputs, pegged=replace(inputs.pegged, base_fee=inputs.pegged.base_fee + more))
    assert worked_out(dearer).receive == worked_out(inputs).receive - more


@given(pools, st.one_of(st.integers(1, 10), st.integers(1, 2**80)))
def test_more_sent_is_worth_no_less_before_fees(inputs, more):
    bigger = with_request(inputs, amt=inputs.request.amt + more)
    # eq: value in destination units, before fees
    assert worked_out(bigger).eq >= worked_out(inputs).eq


@given(pools, st.integers(1, 999_999))
def test_max_slippage_grows_with_tolerance(inputs, other):
    low, high = sorted((inputs.request.slippage_tolerance, other))
    lower, higher = (worked_out(with_request(inputs, slippage_tolerance=t)) for t in (low, high))
    assert lower.max_slippage <= higher.max_slippage
    assert lower.receive == higher.receive


@given(pools)
def test_the_bridge_rate_is_exact(inputs):
    got = answer(inputs)
    shift = inputs.dst_token.decimals - inputs.src_token.decimals
    scaled = got.bridge_rate * inputs.request.amt * (10**shift if shift >= 0 else 1) / 10 ** max(0, -shift)
    assert int(scaled) == got.eq_value_token_amt
