"""The explanation has the figures of the answer, and shows where they come from."""

from __future__ import annotations

from fractions import Fraction

from msgspec.structs import replace

from app.estimates.rules import explanation as explanations
from app.estimates.rules.checks import estimate
from app.estimates.rules.explanation import CheckOutcome, Explanation
from app.estimates.rules.inputs import EstimateInputs
from app.estimates.rules.pricing import price_transfer
from app.estimates.rules.refusals import Check, EstimateRefused
from app.network.rules.terms import FeeTier
from app.values.codes import BridgeType
from tests.estimates.rules.estimate_cases import (
    TOKEN,
    any_plausible,
    for_seeds,
    on_curve,
    pegged,
    pool_with,
    usdt,
    with_request,
)
from tests.estimates.rules.oracle import known

ADVICE = "largest_passing_amt", "smallest_passing_amt", "largest_passing_tolerance"
FIGURES = (
    "eq_value_token_amt",
    "bridge_rate",
    "perc_fee",
    "base_fee",
    "estimated_receive_amt",
    "max_slippage",
    "drop_gas_amt",
)


def explain(inputs: EstimateInputs) -> Explanation:
    return explanations.explain(price_transfer(inputs))


def terms(inputs):
    return {term.name: term for term in explain(inputs).terms}


def limits(inputs):
    return {limit.name: limit for limit in explain(inputs).limits}


def outcomes(inputs):
    return {result.check: result.outcome for result in explain(inputs).checks}


@for_seeds(400, any_plausible)
def test_explanation_agrees_with_answer(inputs):
    explanation = explain(inputs)
    values = {term.name: term.value for term in explanation.terms}
    try:
        got = estimate(inputs)
    except EstimateRefused as refused:
        shown = known(explanation.refusal)
        assert shown.msg == refused.msg
        for name in ("check", "code", "reason", *ADVICE):
            assert getattr(shown, name) == getattr(refused, name)
        by_name = {limit.name: limit for limit in explanation.limits}
        if refused.check.value in by_name:
            assert by_name[refused.check.value].headroom < 0
        return
    assert explanation.refusal is None
    assert all(
        result.outcome in (CheckOutcome.PASSED, CheckOutcome.NOT_MADE) for result in explanation.checks
    )
    for name in FIGURES:
        assert values[name] == getattr(got, name)
    for limit in explanation.limits:
        assert limit.headroom >= 0 or limit.name == "minimal_max_slippage"
    assert explanation.bridge_type is got.bridge_type


def test_the_terms_follow_from_their_inputs():
    got = terms(usdt())
    assert got["scaled_amt"].value == 10**19
    made_from = [(each.name, each.value) for each in got["perc_fee"].inputs]
    assert made_from == [("eq_value_token_amt", 10**19), ("ppm", 400), ("tier_from", 0)]
    assert got["perc_fee"].unit.text == "smallest units of USDT on BNB Chain"
    assert (
        got["minimum_destination_amt"].value
        == Fraction(10**19 * 997_000, 10**6) - 605437528092011966 - 4 * 10**15
    )
    assert got["max_slippage_rate"].value == 1 - got["minimum_destination_amt"].value / 10**19
    assert got["max_slippage"].value == 63_943 == int(got["max_slippage_rate"].value * 10**6)
    assert got["minimum_receive_amt"].value == 10**19 * (10**6 - 63_943) // 10**6
    assert all(term.formula and term.unit.text for term in got.values())


def test_curve_shows_balances_and_invariant():
    got = terms(on_curve())
    assert got["invariant"].value == 10**25
    assert {each.name: each.value for each in got["invariant"].inputs}["amplification"] == 200
    assert got["bridge_rate"].value == Fraction(got["eq_value_token_amt"].value, 10**19)


def test_explain_marks_tightest_limit_as_binding():
    pool = pool_with(added=100 * TOKEN, total_cap=300 * TOKEN, epoch_cap=90 * TOKEN, epoch_volume=20 * TOKEN)
    inputs = usdt(src_pool=pool)
    got = limits(inputs)
    assert (got["inbound_limit"].largest_amt, got["inbound_limit"].headroom) == (100 * TOKEN, 90 * TOKEN)
    assert (got["epoch_cap"].largest_amt, got["epoch_cap"].counted) == (70 * TOKEN, 30 * TOKEN)
    assert (got["total_cap"].largest_amt, got["total_cap"].value) == (200 * TOKEN, 300 * TOKEN)
    assert [name for name, limit in got.items() if limit.binds] == ["epoch_cap"]
    thin = limits(replace(inputs, dst_pool=pool_with(added=20 * 10**18)))
    assert thin["dst_balance"].largest_amt == 20_613_683
    assert [name for name, limit in thin.items() if limit.binds] == ["dst_balance"]


def test_affordable_amount_is_found_across_tiers():
    """What the destination can pay."""
    inputs = usdt(dst_pool=pool_with(added=985 * 10**18))
    steep = (FeeTier(0, 0), FeeTier(1000 * TOKEN, 20_000))
    inputs = replace(inputs, route=replace(known(inputs.route), tiers=steep))
    largest = limits(inputs)["dst_balance"].largest_amt
    assert largest > 1000 * TOKEN
    assert estimate(with_request(inputs, amt=largest)).estimated_receive_amt <= 985 * 10**18
    above = [largest + 1, largest + TOKEN]
    assert all(
        known(explain(with_request(inputs, amt=amt)).refusal).check is Check.DST_BALANCE for amt in above
    )


def test_larger_chain_minimum_binds():
    inputs = usdt(src_chain=replace(known(usdt().src_chain), minimal_max_slippage=700_000))
    assert limits(inputs)["minimal_max_slippage"].binds
    assert not limits(usdt())["minimal_max_slippage"].binds


def test_refusal_comes_with_terms_and_limits():
    inputs = with_request(usdt(), amt=10**15)
    explanation = explain(inputs)
    assert known(explanation.refusal).check is Check.INBOUND_LIMIT
    assert terms(inputs)["eq_value_token_amt"].value == 10**27
    assert limits(inputs)["inbound_limit"].headroom == 5_000_000 * TOKEN - 10**15
    results = outcomes(inputs)
    assert results[Check.SLIPPAGE_TOLERANCE] is CheckOutcome.PASSED
    assert results[Check.INBOUND_LIMIT] is CheckOutcome.REFUSED
    assert results[Check.TOTAL_CAP] is CheckOutcome.NOT_REACHED
    assert results[Check.CURVE] is CheckOutcome.NOT_MADE


def test_the_checks_of_a_pegged_transfer():
    results = outcomes(pegged())
    made = {check for check, outcome in results.items() if outcome is CheckOutcome.PASSED}
    assert {Check.FEES, Check.RESULT_SIZE, Check.AMOUNT, Check.DIRECTION} <= made
    assert not made & {Check.INBOUND_LIMIT, Check.MAX_SLIPPAGE, Check.CURVE, Check.BASE_FEE_AGE}
    assert {limit.name for limit in explain(pegged()).limits} == {"result_size", "fees"}


def test_partial_facts_are_explained():
    nothing = explain(usdt(src_chain=None))
    assert (nothing.terms, nothing.limits, nothing.bridge_type) == ((), (), BridgeType.UNDEFINED)
    assert set(terms(with_request(usdt(), amt=0))) == {"base_fee", "drop_gas_amt"}
    assert set(terms(on_curve(dst_pool=pool_with()))) == {"base_fee", "drop_gas_amt"}
    unsettled = on_curve(src_pool=pool_with(added=2**400), dst_pool=pool_with(added=2**2000))
    assert known(explain(unsettled).refusal).check is Check.CURVE
    assert "inbound_limit" in limits(unsettled)
