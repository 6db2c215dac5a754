"""Finds what would pass instead of a refused amount, and which amounts pass at all.

Inside one fee tier a larger amount is never worth less (``eq``), so every upper limit is one bound on
``eq``. The lower condition (:class:`PositiveRemainder`) holds from some ``eq`` on, except for a few smallest
units where the rounded-up fee grows by 1. The searches step over these exceptions, so their results are
exact. They use the same calculation as the refusal, with all limits, not only the broken one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from msgspec import Struct

from app.estimates.rules.pricing import (
    CurveUnsettled,
    Price,
    Priced,
    TransferTerms,
    minimum_times_ppm,
    tier_at,
)
from app.network.rules.terms import FixedRate
from app.values.amounts import MAX_UINT256, PPM, mul_div_down, ppm_up

MAX_STEPS: Final = 16
"""How many amounts a search tries in a tier. One or two are enough, except where tolerance and protocol fee
take nearly everything and the rate skips most values of ``eq``. After this many the tier has no result."""


class PositiveRemainder(Struct, frozen=True):
    """The lower condition in one tier: more than 0 remains after the fees and the whole tolerance.

    For a pool transfer this means ``max_slippage`` under 1,000,000, and implies that more than 0 is
    received; at tolerance 0 (pegged) it means that more than 0 is received.
    """

    tolerance: int
    ppm: int
    base_fee: int

    @property
    def gain(self) -> int:
        """What remains of each unit of ``eq`` on average, in millionths; at 0 or less no amount passes."""
        return PPM - self.tolerance - self.ppm

    def holds(self, eq: int) -> bool:
        return minimum_times_ppm(eq, ppm_up(eq, self.ppm) + self.base_fee, self.tolerance) > 0

    def least_from(self, eq: int) -> int | None:
        """The smallest value from ``eq`` on of which more than 0 remains.

        Below ``base_fee / gain`` nothing remains; one unit of fee above it something always does. Each step
        goes at least to where the fee grows by one unit: at most ``ppm / gain + 2`` steps.
        """
        if self.gain <= 0:
            return None
        eq = max(eq, self.base_fee * PPM // self.gain + 1)
        while not self.holds(eq):
            fees = ppm_up(eq, self.ppm) + self.base_fee
            eq = fees * PPM // (PPM - self.tolerance) + 1
        return eq

    def most_to(self, eq: int) -> int | None:
        """The largest value up to ``eq`` of which more than 0 remains; steps back fee by fee, as above."""
        if self.gain <= 0:
            return None
        while not self.holds(eq):
            if self.ppm == 0 or eq * self.gain <= self.base_fee * PPM:
                return None
            eq = (ppm_up(eq, self.ppm) - 1) * PPM // self.ppm
        return eq


class Span(Struct, frozen=True):
    """The amounts of one tier that the search may yield, and the most ``eq`` allowed there."""

    low: int
    high: int
    most_eq: int
    remainder: PositiveRemainder


def amount_cap(transfer: TransferTerms) -> int:
    """The largest amount within uint256, ``max_send`` and the source pool's limits; may be negative."""
    cap = MAX_UINT256
    if transfer.src_token.max_send is not None:
        cap = transfer.src_token.max_send
    if transfer.pools is not None:
        cap = min(cap, transfer.pools.src.rest)
    return cap


def most_eq_paid(transfer: TransferTerms, ppm: int) -> int | None:
    """At a fixed rate, the largest ``eq`` whose receiving amount the destination pool can pay.

    ``eq - ceil(eq * ppm / 1e6) - base <= balance`` solved for ``eq``; ``None``: no bound.
    """
    if transfer.pools is None or not isinstance(transfer.rate, FixedRate) or ppm >= PPM:
        return None
    return ((transfer.pools.dst.balance + transfer.base_fee + 1) * PPM - 1) // (PPM - ppm)


def largest_passing(
    transfer: TransferTerms, price: Price, at_most: int, tolerance: int | None = None
) -> int | None:
    """The largest amount up to ``at_most`` that passes every check from the limits on.

    ``tolerance`` replaces the transfer's. Raises ``CurveUnsettled``.
    """
    for span in _spans(transfer, 1, at_most, tolerance):
        amt = _most_amt(price, span.most_eq, span.low, span.high)
        for _ in range(MAX_STEPS):
            if amt is None:
                break
            eq = price.eq_down(amt)
            if span.remainder.holds(eq):
                return amt
            most = span.remainder.most_to(eq)
            amt = None if most is None else _most_amt(price, most, span.low, amt)
    return None


def smallest_passing(
    transfer: TransferTerms, price: Price, at_least: int, tolerance: int | None = None
) -> int | None:
    """The smallest amount from ``at_least`` on that passes every check from the limits on.

    ``tolerance`` replaces the transfer's. Raises ``CurveUnsettled``.
    """
    for span in reversed(list(_spans(transfer, at_least, MAX_UINT256, tolerance))):
        amt: int | None = span.low
        for _ in range(MAX_STEPS):
            if amt is None:
                break
            eq = price.eq_down(amt)
            if eq > span.most_eq:
                break
            if span.remainder.holds(eq):
                return amt
            least = span.remainder.least_from(eq + 1)
            amt = None if least is None else price.least_amt(least, amt, span.high)
    return None


def largest_tolerance(transfer: TransferTerms, price: Price, amt: int) -> int | None:
    """The largest ``slippage_tolerance`` from 1 to 999999 at which something remains of ``amt``, if any."""
    eq = price.eq_down(amt)
    if transfer.pools is None or _never_passes(transfer) or eq <= 0:
        return None
    tier = tier_at(transfer.tiers, amt)
    fees = ppm_up(eq, tier.ppm if tier is not None else 0) + transfer.base_fee
    tolerance = PPM - 1 - mul_div_down(fees, PPM, eq)
    return tolerance if tolerance >= 1 else None


def largest_paid(transfer: TransferTerms, price: Price) -> int | None:
    """At a fixed rate, the largest amount that the destination pool can pay for; None: any."""
    for low, high, ppm in _tiers_down(transfer, 1, MAX_UINT256):
        most_eq = most_eq_paid(transfer, ppm)
        amt = high if most_eq is None else _most_amt(price, most_eq, low, high)
        if amt is not None:
            return None if amt == MAX_UINT256 else amt
    return 0


def _never_passes(transfer: TransferTerms) -> bool:
    """Whether the source chain's minimum by itself refuses every pool transfer from it."""
    return transfer.pools is not None and transfer.src_chain.minimal_max_slippage >= PPM


def _spans(transfer: TransferTerms, at_least: int, at_most: int, tolerance: int | None) -> Iterator[Span]:
    """The tiers as spans of amounts within the bounds and limits, the highest first."""
    if _never_passes(transfer):
        return
    if tolerance is None:
        tolerance = transfer.tolerance
    at_least = max(at_least, transfer.src_token.min_send or 0)
    for low, high, ppm in _tiers_down(transfer, at_least, min(at_most, amount_cap(transfer))):
        paid = most_eq_paid(transfer, ppm)
        most_eq = MAX_UINT256 if paid is None else min(paid, MAX_UINT256)
        yield Span(low, high, most_eq, PositiveRemainder(tolerance, ppm, transfer.base_fee))


def _tiers_down(transfer: TransferTerms, low: int, high: int) -> Iterator[tuple[int, int, int]]:
    """The amounts from ``low`` to ``high`` by tier: ``(first, last, ppm)``, the highest tier first."""
    while high >= low:
        tier = tier_at(transfer.tiers, high)
        ppm, start = (tier.ppm, tier.from_amount) if tier is not None else (0, 0)
        yield max(start, low), high, ppm
        high = start - 1


def _most_amt(price: Price, eq: int, low: int, high: int) -> int | None:
    """The largest amount from ``low`` to ``high`` that is worth ``eq`` or less."""
    over = price.least_amt(eq + 1, low, high)
    if over is None:
        return high
    return over - 1 if over > low else None


class Advice(NamedTuple):
    """The values that would pass instead: the amounts (source units) next below and above the refused one, at
    the tolerance of the request, and the tolerance with its amount.
    """

    largest_passing_amt: int | None = None
    smallest_passing_amt: int | None = None
    largest_passing_tolerance: int | None = None


def advise(priced: Priced, *, with_tolerance: bool = False) -> Advice:
    """Search for what passes below and above the amount; nothing where there is no price."""
    transfer, price, amt = priced.transfer, priced.price, priced.inputs.request.amt
    if transfer is None or price is None:
        return Advice()
    try:
        return Advice(
            largest_passing(transfer, price, amt - 1),
            smallest_passing(transfer, price, amt + 1),
            largest_tolerance(transfer, price, amt) if with_tolerance else None,
        )
    except CurveUnsettled:
        return Advice()


def lower_tolerance(transfer: TransferTerms, price: Price | None) -> tuple[int, int] | None:
    """A tolerance under that of the request, and the largest amount that passes with it."""
    if transfer.pools is None or price is None:
        return None
    try:
        amt = largest_passing(transfer, price, amount_cap(transfer), tolerance=1)
        tolerance = None if amt is None else largest_tolerance(transfer, price, amt)
    except CurveUnsettled:
        return None
    return None if tolerance is None or amt is None else (tolerance, amt)


class PassingRange(Struct, frozen=True):
    """The least and the most that pass, in source units, independently of the requested amount; ``most_amt``
    is 2^256-1 where that passes. There may be gaps where a fee tier begins or a rounded-up fee grows by one.
    """

    least_amt: int
    most_amt: int


def range_within_limits(priced: Priced) -> PassingRange | None:
    """The least and the most by the limits only; None where no amount passes or there is no price."""
    transfer, price = priced.transfer, priced.price
    if transfer is None or price is None:
        return None
    try:
        least = smallest_passing(transfer, price, 1)
        most = largest_passing(transfer, price, MAX_UINT256)
    except CurveUnsettled:
        return None
    return None if least is None or most is None else PassingRange(least, most)
