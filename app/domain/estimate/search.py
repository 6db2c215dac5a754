"""Which amounts and tolerances would pass: what a refusal tells its reader. Only refusals search.

Inside one fee tier an amount's worth (``eq``) never falls when the amount grows, so every upper
limit is one bound on ``eq``. The lower condition, that something is left at the tolerance
(``Left``), nearly grows with ``eq``: where the rounded-up fee jumps by 1 it dips, for a few
smallest units. The searches below step through those dips, so that what they find is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from app.domain.amounts import MAX_UINT256, PPM, mul_div_down, ppm_up
from app.domain.estimate.inputs import FixedRate
from app.domain.estimate.pricing import Price, PricingTerms, minimum_times_ppm, tier_at

MAX_STEPS: Final = 16
"""How many amounts a search tries in a tier. One or two do; more only at tolerances within a hair of what
the protocol fee leaves, with rates that skip most values of ``eq``. Past it, the tier names no amount."""


@dataclass(frozen=True, slots=True)
class Remainder:
    """The lower condition in one tier: over 0 is left at least, with the tolerance used up.

    For a pool transfer that is ``max_slippage`` under 1,000,000, and implies a receiving amount
    over 0; at tolerance 0 (pegged) it is the receiving amount over 0.
    """

    tolerance: int
    ppm: int
    base_fee: int

    @property
    def gain(self) -> int:
        """Millionths that each unit of ``eq`` leaves on average; at 0 or under nothing ever passes."""
        return PPM - self.tolerance - self.ppm

    def holds(self, eq: int) -> bool:
        """Whether anything is left of ``eq``."""
        return minimum_times_ppm(eq, ppm_up(eq, self.ppm) + self.base_fee, self.tolerance) > 0

    def least_from(self, eq: int) -> int | None:
        """The smallest value from ``eq`` on of which something is left.

        Below ``base_fee / gain`` nothing is, a unit of fee above it always something, and each
        step skips at least to where the next unit of fee begins: at most ``ppm / gain + 2`` steps.
        """
        if self.gain <= 0:
            return None
        eq = max(eq, self.base_fee * PPM // self.gain + 1)
        while not self.holds(eq):
            fees = ppm_up(eq, self.ppm) + self.base_fee
            eq = fees * PPM // (PPM - self.tolerance) + 1
        return eq

    def most_to(self, eq: int) -> int | None:
        """The largest value up to ``eq`` of which something is left; steps back fee by fee, as above."""
        if self.gain <= 0:
            return None
        while not self.holds(eq):
            if self.ppm == 0 or eq * self.gain <= self.base_fee * PPM:
                return None
            eq = (ppm_up(eq, self.ppm) - 1) * PPM // self.ppm
        return eq


@dataclass(frozen=True, slots=True)
class Span:
    """The amounts of one tier that the search may name, and the most ``eq`` allowed there."""

    low: int
    high: int
    most_eq: int
    left: Remainder


def amount_cap(plan: PricingTerms) -> int:
    """The largest amount that fits the wire and the source pool's limits; may be under 0."""
    cap = MAX_UINT256
    if plan.pools is not None:
        src = plan.pools.src
        for rest in (src.inbound_limit, src.epoch_rest, src.total_rest):
            if rest is not None and rest < cap:
                cap = rest
    return cap


def most_eq_paid(plan: PricingTerms, ppm: int) -> int | None:
    """At a fixed rate, the largest ``eq`` whose receiving amount the destination pool can pay.

    ``eq - ceil(eq * ppm / 1e6) - base <= balance`` solved for ``eq``; ``None``: no bound.
    """
    if plan.pools is None or not isinstance(plan.rate, FixedRate) or ppm >= PPM:
        return None
    return ((plan.pools.dst.balance + plan.base_fee + 1) * PPM - 1) // (PPM - ppm)


def largest_passing(
    plan: PricingTerms, price: Price, at_most: int, tolerance: int | None = None
) -> int | None:
    """The largest amount up to ``at_most`` that passes every check from the limits on.

    ``tolerance`` replaces the plan's. Raises ``CurveUnsettled``.
    """
    for span in _spans(plan, 1, at_most, tolerance):
        amt = _most_amt(price, span.most_eq, span.low, span.high)
        for _ in range(MAX_STEPS):
            if amt is None:
                break
            eq = price.eq_down(amt)
            if span.left.holds(eq):
                return amt
            most = span.left.most_to(eq)
            amt = None if most is None else _most_amt(price, most, span.low, amt)
    return None


def smallest_passing(
    plan: PricingTerms, price: Price, at_least: int, tolerance: int | None = None
) -> int | None:
    """The smallest amount from ``at_least`` on that passes every check from the limits on.

    ``tolerance`` replaces the plan's. Raises ``CurveUnsettled``.
    """
    for span in reversed(list(_spans(plan, at_least, MAX_UINT256, tolerance))):
        amt: int | None = span.low
        for _ in range(MAX_STEPS):
            if amt is None:
                break
            eq = price.eq_down(amt)
            if eq > span.most_eq:
                break
            if span.left.holds(eq):
                return amt
            least = span.left.least_from(eq + 1)
            amt = None if least is None else price.least_amt(least, amt, span.high)
    return None


def largest_tolerance(plan: PricingTerms, price: Price, amt: int) -> int | None:
    """The largest ``slippage_tolerance`` from 1 to 999999 at which something is left of ``amt``, if any."""
    eq = price.eq_down(amt)
    if plan.pools is None or _never_passes(plan) or eq <= 0:
        return None
    tier = tier_at(plan.tiers, amt)
    fees = ppm_up(eq, tier.ppm if tier is not None else 0) + plan.base_fee
    tolerance = PPM - 1 - mul_div_down(fees, PPM, eq)
    return tolerance if tolerance >= 1 else None


def largest_paid(plan: PricingTerms, price: Price) -> int | None:
    """At a fixed rate, the largest amount that the destination pool alone allows; ``None``: any."""
    for low, high, ppm in _tiers_down(plan, 1, MAX_UINT256):
        most_eq = most_eq_paid(plan, ppm)
        amt = high if most_eq is None else _most_amt(price, most_eq, low, high)
        if amt is not None:
            return None if amt == MAX_UINT256 else amt
    return 0


def _never_passes(plan: PricingTerms) -> bool:
    """Whether the source chain's minimum alone refuses every pool transfer from it."""
    return plan.pools is not None and plan.src_chain.minimal_max_slippage >= PPM


def _spans(plan: PricingTerms, at_least: int, at_most: int, tolerance: int | None) -> Iterator[Span]:
    """The tiers as spans of amounts, the highest first, none outside the bounds or over a limit."""
    if _never_passes(plan):
        return
    if tolerance is None:
        tolerance = plan.tolerance
    for low, high, ppm in _tiers_down(plan, at_least, min(at_most, amount_cap(plan))):
        paid = most_eq_paid(plan, ppm)
        most_eq = MAX_UINT256 if paid is None else min(paid, MAX_UINT256)
        yield Span(low, high, most_eq, Remainder(tolerance, ppm, plan.base_fee))


def _tiers_down(plan: PricingTerms, low: int, high: int) -> Iterator[tuple[int, int, int]]:
    """The amounts from ``low`` to ``high`` by tier: ``(first, last, ppm)``, the highest tier first."""
    while high >= low:
        tier = tier_at(plan.tiers, high)
        ppm, start = (tier.ppm, tier.from_amount) if tier is not None else (0, 0)
        yield max(start, low), high, ppm
        high = start - 1


def _most_amt(price: Price, eq: int, low: int, high: int) -> int | None:
    """The largest amount from ``low`` to ``high`` that is worth ``eq`` or less."""
    over = price.least_amt(eq + 1, low, high)
    if over is None:
        return high
    return over - 1 if over > low else None
