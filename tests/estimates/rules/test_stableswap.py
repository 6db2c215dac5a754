"""The curve against a closed solution in 200 digits, and against a second integer iteration."""

from __future__ import annotations

import mpmath
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from app.estimates.rules import pricing
from app.estimates.rules.checks import estimate
from app.estimates.rules.pricing import MAX_STEPS, CurveUnsettled, balance_for, invariant, swap_output
from tests.estimates.rules import oracle
from tests.estimates.rules.estimate_cases import on_curve, with_request

HUGE = 10**30
sides = st.integers(1, HUGE)
amplifications = st.one_of(st.integers(1, 10), st.integers(1, 10_000))
precision = mpmath.workdps(200)


def exact_d(x: int, y: int, amp: int) -> mpmath.mpf:
    """The one real root of ``D^3 + p D = q``, in closed form (no iteration)."""
    ann = 2 * amp
    p, q = mpmath.mpf(4 * x * y * (ann - 1)), mpmath.mpf(4 * x * y * ann * (x + y))
    angle = mpmath.asinh(3 * q / (2 * p) * mpmath.sqrt(3 / p))
    return 2 * mpmath.sqrt(p / 3) * mpmath.sinh(angle / 3)


def exact_y(x: int, d: mpmath.mpf, amp: int) -> mpmath.mpf:
    """The positive root of ``y^2 + (x + D / Ann - D) y = D^3 / (4 x Ann)``, cancelling nothing."""
    ann = 2 * amp
    b, c = x + d / ann - d, d**3 / (4 * mpmath.mpf(x) * ann)
    root = mpmath.sqrt(b * b + 4 * c)
    return (root - b) / 2 if b <= 0 else 2 * c / (root + b)


@st.composite
def pools(draw: st.DrawFn, lean: int = 10**6) -> tuple[int, int]:
    """Two balances of 10^-6 to 10^12 tokens, up to so many to one."""
    smaller = draw(st.integers(10**12, 10**24))
    larger = smaller * draw(st.integers(10**6, lean * 10**6)) // 10**6
    return draw(st.sampled_from(((smaller, larger), (larger, smaller))))


@given(pools(), amplifications, st.integers(1, 10**9))
def test_against_the_closed_solution(pool, amp, share):
    x, y = pool
    dx = x * share // 10**6 + 1
    with precision:
        true_d = exact_d(x, y, amp)
        # The solution is one: it fulfils the invariant as published.
        assert (
            abs(2 * amp * (x + y) + true_d - 2 * amp * true_d - true_d**3 / (4 * x * y))
            < mpmath.mpf(10) ** -60
        )
        d = invariant(x, y, amp)
        assert abs(d - true_d) <= 2
        assert abs(balance_for(x + dx, d, amp) - exact_y(x + dx, mpmath.mpf(d), amp)) <= 2
        least = y - exact_y(x + dx, true_d + 2, amp) - 1
        most = y - exact_y(x + dx, true_d - 2, amp) - 1
        assert least - 2 <= swap_output(x, y, d, amp, dx) <= max(most, 0) + 2


@given(sides, sides, amplifications, st.integers(0, 2 * HUGE))
def test_the_second_iteration_agrees(x, y, amp, dx):
    try:
        d = oracle.curve_d([x, y], amp)
        left = oracle.curve_y([x + dx], d, amp)
    except oracle.Unsettled:
        with pytest.raises(CurveUnsettled):
            swap_output(x, y, invariant(x, y, amp), amp, dx)
        return
    assert invariant(x, y, amp) == d
    assert swap_output(x, y, d, amp, dx) == max(0, y - left - 1)


@given(pools(lean=20), amplifications, st.integers(1, 10**6))
def test_contract_division_order_differs_little(pool, amp, share):
    """Curve's contracts divide factor by factor."""
    x, y = pool
    dx, ann = x * share // 10**6 + 1, 2 * amp
    d = x + y
    for _ in range(255):
        product, before = d * d // (2 * x) * d // (2 * y), d
        d = (ann * (x + y) + 2 * product) * d // ((ann - 1) * d + 3 * product)
        if abs(d - before) <= 1:
            break
    c, b, new = d * d // (2 * (x + dx)) * d // (2 * ann), x + dx + d // ann, d
    for _ in range(255):
        new, before = (new * new + c) // (2 * new + b - d), new
        if abs(new - before) <= 1:
            break
    difference = swap_output(x, y, invariant(x, y, amp), amp, dx) - max(0, y - new - 1)
    assert abs(difference) <= 3


@given(
    st.one_of(st.integers(1, 50), sides),
    st.one_of(st.integers(1, 50), sides),
    amplifications,
    st.integers(0, HUGE),
    st.one_of(st.integers(1, 5), st.integers(1, HUGE)),
)
def test_more_input_never_yields_less(x, y, amp, dx, more):
    """Nor the whole pool."""
    try:
        d = invariant(x, y, amp)
        less, greater = (swap_output(x, y, d, amp, amount) for amount in (dx, dx + more))
    except CurveUnsettled:
        assume(False)
    assert 0 <= less <= greater < y


def test_near_empty_pool_stays_monotonic():
    """Where the new balance is a few units, the iteration's stop within 1 is a large part of it."""
    for amp in (1, 2, 10, 100):
        for x in range(1, 40):
            for y in (1, 2, 5, 40, 1000, 12345):
                d = invariant(x, y, amp)
                outputs = [swap_output(x, y, d, amp, dx) for dx in range(40)]
                assert outputs == sorted(outputs)


def test_stableswap_of_equal_pools_is_nearly_even():
    pool = 5 * 10**24
    d = invariant(pool, pool, 200)
    assert d == 2 * pool
    assert swap_output(pool, pool, d, 200, 10**18) == 999_999_999_004_975_125
    assert swap_output(pool, pool, d, 200, 0) == 0


def test_an_output_under_zero_counts_as_zero():
    assert swap_output(10**18, 10**18, invariant(10**18, 10**18, 100), 100, 1) == 0


@pytest.mark.parametrize(
    ("x", "y", "amp"), [(0, 1, 1), (1, 0, 1), (1, 1, 0), (-1, 5, 1), (5, -1, 1), (1, 1, -7)]
)
def test_no_curve(x, y, amp):
    with pytest.raises(CurveUnsettled):
        invariant(x, y, amp)


@pytest.mark.parametrize(("x", "d", "amp"), [(0, 5, 1), (5, 0, 1), (5, 5, 0), (-1, 5, 1)])
def test_no_balance(x, d, amp):
    with pytest.raises(CurveUnsettled):
        balance_for(x, d, amp)


def test_every_unbalanced_curve_settles():
    for lean in range(19):
        for amp in (1, 10, 200, 5000):
            for odd in (1, 3, 7, 123_456_789):
                invariant(10**18 + odd, 10 ** (18 + lean) + odd, amp)
                invariant(10 ** (18 + lean) + odd, 10**18 + odd, amp)


def test_an_iteration_that_does_not_settle_ends():
    with pytest.raises(CurveUnsettled, match=str(MAX_STEPS)):
        invariant(1, 2**1200, 1)


def test_invariant_is_computed_once() -> None:
    inputs = on_curve()
    pricing._cached_invariant.cache_clear()
    for amt in range(10**6, 10**6 + 20):
        estimate(with_request(inputs, amt=amt))
    assert pricing._cached_invariant.cache_info().misses == 1
