"""The estimate laid open: words for everything, and suggestions that hold to the smallest unit."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from msgspec.structs import replace

from app.console.estimates.summary import BRIDGE_TYPE_WORDS, OUTCOME_WORDS
from app.console.estimates.views import decimal_down, estimate_view
from app.estimates.rules.checks import estimate
from app.estimates.rules.explanation import CheckOutcome, passing_range
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
    wild_inputs,
    with_request,
)

UINT256 = 2**256 - 1


def passes(inputs: EstimateInputs, amt: int) -> bool:
    try:
        estimate(with_request(inputs, amt=amt))
    except EstimateRefused:
        return False
    return True


def keeps_its_word(inputs: EstimateInputs) -> None:
    view = estimate_view(inputs)
    amt = inputs.request.amt
    if view.least is not None:
        least, most = view.least.units, view.most.units if view.most else UINT256
        assert passes(inputs, least) and not passes(inputs, least - 1)
        assert passes(inputs, most) and (view.most is None or not passes(inputs, most + 1))
        assert view.explanation.refusal is not None or least <= amt <= most
    assert (view.explanation.refusal is None) == passes(inputs, amt) == (view.received is not None)
    assert view.explanation.refusal is not None or not view.suggestions
    for each in view.suggestions:
        if each.amount is not None:
            units = each.amount.units
            assert passes(inputs, units)
            beyond = units + 1 if each.label.startswith(("Largest", "Maximum")) else units - 1
            assert beyond in (amt, UINT256 + 1) or not passes(inputs, beyond), each
        else:
            assert each.tolerance is not None
            tolerant = with_request(inputs, slippage_tolerance=each.tolerance)
            assert passes(tolerant, amt)
            assert not passes(with_request(inputs, slippage_tolerance=each.tolerance + 1), amt)


@for_seeds(600, any_plausible)
def test_suggested_amount_passes_and_next_fails(inputs: EstimateInputs) -> None:
    keeps_its_word(inputs)


@for_seeds(600, wild_inputs)
def test_also_for_anything_that_the_types_allow(inputs: EstimateInputs) -> None:
    keeps_its_word(inputs)


def test_range_matches_trying_every_amount() -> None:
    rng = random.Random(3)
    for _ in range(60):
        tiers = (FeeTier(0, rng.randrange(20_000)), FeeTier(rng.randrange(1, 200), rng.randrange(20_000)))
        inputs = usdt(
            src_pool=pool_with(added=rng.randrange(300)), dst_pool=pool_with(added=rng.randrange(300))
        )
        assert inputs.route and inputs.route.base_fee and inputs.src_token
        route = replace(
            inputs.route, tiers=tiers, base_fee=replace(inputs.route.base_fee, amount=rng.randrange(40))
        )
        inputs = replace(inputs, route=route, dst_token=replace(inputs.src_token))
        passing = [amt for amt in range(400) if passes(inputs, amt)]
        found = passing_range(price_transfer(inputs))
        assert (found and (found.least_amt, found.most_amt)) == (
            (passing[0], passing[-1]) if passing else None
        )


def test_range_is_absent_when_no_amount_passes() -> None:
    chain = usdt().src_chain
    assert chain
    for closed in (
        usdt(src_chain=replace(chain, disabled=True)),
        usdt(caller_blocked=True),
        usdt(src_chain=None),
        on_curve(dst_pool=pool_with()),
        with_request(usdt(), slippage_tolerance=0),
        on_curve(src_pool=pool_with(added=2**400), dst_pool=pool_with(added=2**2000)),
    ):
        view = estimate_view(closed)
        assert view.explanation.refusal and view.least is view.most is None and not view.suggestions


def test_terms_in_both_ways_of_writing() -> None:
    view = estimate_view(usdt())
    terms = {term.name: term for term in view.explanation.terms}
    numbers = {name: view.units.number(term.value, term.unit.counted) for name, term in terms.items()}
    fee = terms["perc_fee"]
    assert (fee.label, fee.rounding, numbers["perc_fee"].human, numbers["perc_fee"].units) == (
        "Protocol fee", "up", "0.004 USDT", "4000000000000000",
    )  # fmt: skip
    assert [(each.label, view.units.number(each.value, each.counted).human) for each in fee.inputs] == [
        ("value on the destination before fees", "10 USDT"),
        ("fee", "0.04 %"),
        ("tier starts at", "0 USDT"),
    ]
    assert numbers["max_slippage"].units == "63943 ppm"
    assert numbers["max_slippage"].human == "6.3943 %"
    assert numbers["max_slippage_rate"].units.startswith("0.0639437528")
    assert numbers["bridge_rate"].units == "1"
    assert view.received and view.received.text == "9.390562471907988034"
    assert view.bridge_type_words == "Liquidity pools"
    assert view.rate_source == "Fixed rate of the route, configured as 1"
    assert view.fee_source == "Configured with the route"
    assert ("Amount", "10 USDT, 10000000 smallest units") in view.inputs
    assert ("Slippage tolerance", "0.3 %, 3000 ppm") in view.inputs


def test_binding_limit_and_failed_check() -> None:
    pool = pool_with(added=100 * TOKEN, total_cap=300 * TOKEN, epoch_cap=90 * TOKEN, epoch_volume=85 * TOKEN)
    view = estimate_view(usdt(src_pool=pool))
    (binding,) = [limit for limit in view.explanation.limits if limit.binds]
    assert (binding.label, binding.is_broken) == ("Epoch cap of the source pool", True)
    numbers = (binding.value, binding.counted, binding.headroom)
    assert [view.units.number(each, binding.unit.counted).human for each in numbers] == [
        "90 USDT",
        "95 USDT",
        "-5 USDT",
    ]
    assert binding.largest_amt and str(view.units.src(binding.largest_amt)) == "5 USDT"
    refusal = view.explanation.refusal
    assert refusal and refusal.check.label == "Within the source pool's epoch cap"
    assert (refusal.code, refusal.code.name) == (1005, "ERROR_CODE_INBOUND_LIQUIDITY_LIMIT")
    nearest = view.suggestions[0]
    assert (nearest.label, str(nearest.amount)) == ("Largest smaller amount that passes", "5 USDT")
    failed = [each.check for each in view.explanation.checks if each.outcome is CheckOutcome.REFUSED]
    assert failed == [refusal.check]


def test_too_small_names_the_least() -> None:
    view = estimate_view(with_request(usdt(), amt=1))
    assert view.explanation.refusal and view.explanation.refusal.reason == "amount_too_small"
    above = view.suggestions[0]
    assert above.label == "Smallest larger amount that passes"
    assert above.amount and above.amount == view.least and above.amount.units > 605437


def test_where_rate_and_fee_come_from() -> None:
    assert "amplification 200" in estimate_view(on_curve()).rate_source
    assert estimate_view(pegged(BridgeType.BURN_MINT)).rate_source.startswith("1: a pegged token")
    assert estimate_view(pegged()).fee_source == "Configured with the pegged pair"
    assert estimate_view(usdt(route=None)).rate_source == ""


def test_everything_has_words() -> None:
    assert all(check.label for check in Check)
    assert set(BRIDGE_TYPE_WORDS) == set(BridgeType)
    assert set(OUTCOME_WORDS) == set(CheckOutcome)


@pytest.mark.parametrize(
    ("age", "words"),
    [(None, ""), (0.0, "just now"), (0.09, "just now"), (0.1, "0.1 s ago"), (2.34, "2.3 s ago")],
)
def test_age_of_facts_is_shown(age: float | None, words: str) -> None:
    assert estimate_view(usdt(facts_age=age)).facts_age == words


@pytest.mark.parametrize(
    ("value", "places", "text"),
    [
        (Fraction(1, 3), 4, "0.3333…"),
        (Fraction(-1, 3), 2, "-0.33…"),
        (Fraction(5, 2), 4, "2.5"),
        (Fraction(7), 0, "7"),
        (Fraction(1, 10**9), 3, "0…"),
        (Fraction(12345, 10), 1, "1234.5"),
    ],
)
def test_cut_fractions_are_marked(value: Fraction, places: int, text: str) -> None:
    assert decimal_down(value, places) == text
