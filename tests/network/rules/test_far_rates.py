"""Which rates of a route need a confirmation: exactly those beyond the bounds."""

from __future__ import annotations

from fractions import Fraction

import pytest

from app.network.rules.far_rates import (
    FITTING_PPM,
    Quote,
    RouteTrial,
    Trial,
    dangers,
    has_high_impact,
    is_far,
    rate_down,
)

UNIT = 10**6


def quote(rate: str, amt: int = UNIT) -> Quote:
    exact = Fraction(rate)
    return Quote(amt, int(amt * exact), int(amt * exact), exact)


def tried(small: str, large: str, before: str | None = None) -> RouteTrial:
    """A route with these rates for one token and for a hundred; ``before`` for both."""
    after = Trial(quote(small), quote(large, 100 * UNIT))
    if before is None:
        return RouteTrial("USDT", 6, 6, None, after)
    was = quote(before), quote(before, 100 * UNIT)
    pairs = ((was[0], quote(small)), (was[1], quote(large, 100 * UNIT)))
    return RouteTrial("USDT", 6, 6, Trial(*was), after, pairs)


@pytest.mark.parametrize(
    ("small", "large", "before", "warnings"),
    [
        ("1", "1", None, 0),
        ("1.01", "1.01", None, 0),  # exactly 1 %: accepted
        ("0.99", "0.99", None, 0),
        ("1.010001", "1", None, 1),  # the small amount gets more
        ("0.989999", "0.9", None, 1),  # or less
        ("1", "1.010001", None, 1),  # only the largest gets more
        ("1", "0.2", None, 0),  # a curve that is used up gives less: no money is given away
        ("1.02", "1.02", None, 2),
        ("1.009", "1.009", "0.999", 1),  # near 1, but far from its former value
        ("1.0099", "1.0099", "1", 0),
        ("1", "1", "0", 1),  # it was nothing
    ],
)
def test_far_rate_warns_beyond_one_percent(small: str, large: str, before: str | None, warnings: int) -> None:
    assert len(list(dangers(tried(small, large, before)))) == warnings


def test_unmoved_rate_has_no_high_impact() -> None:
    unmoved, moved = tried("1.5", "1.5", "1.5"), tried("1.5", "1.5", "1.499999")
    assert list(dangers(unmoved))
    assert not has_high_impact(unmoved)
    assert has_high_impact(moved)
    assert has_high_impact(tried("1.5", "1.5")), "a new route"


def test_smaller_amount_at_far_rate_is_grave() -> None:
    """A lower minimum moves no rate of an amount, and opens one that was not there."""
    many, few = quote("1.005", 100 * UNIT), quote("1.02", UNIT)
    lowered = RouteTrial("USDT", 6, 6, Trial(many, many), Trial(few, many), ((many, many),))
    assert has_high_impact(lowered)


def test_route_without_quotes_is_no_danger() -> None:
    assert not list(dangers(RouteTrial("USDT", 6, 6, None, Trial(refused_by="The fees are known"))))


def test_copied_rate_fits_up_to_a_thousandth() -> None:
    assert not is_far(Fraction("1.001"), FITTING_PPM)
    assert not is_far(Fraction("0.999"), FITTING_PPM)
    assert is_far(Fraction("1.0010001"), FITTING_PPM)


def test_rate_is_written_rounded_down() -> None:
    assert rate_down(Fraction("1.0092749")) == "1.009274"
    assert rate_down(Fraction(1)) == "1"
