"""Refusals that depend on the amount: each names the nearest amounts that would pass.

Inside one fee tier a larger amount is never worth less (``eq``), so every upper limit is one bound on
``eq``. The lower condition (:class:`PositiveRemainder`) holds from some ``eq`` on, except for a few smallest
units where the rounded-up fee grows by 1. The searches step over these exceptions, so their results are
exact.

``search`` finds these amounts with the calculation that refused, under every limit, not only the broken one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from app.estimates.curve import CurveUnsettled
from app.estimates.inputs import EstimateInputs
from app.estimates.pricing import Price, TransferTerms, minimum_times_ppm, price_of, tier_at
from app.estimates.refusals import Check, EstimateRefused
from app.network.route_terms import FixedRate
from app.values.amounts import MAX_UINT256, PPM, format_units, mul_div_down, ppm_up
from app.values.codes import Reason
from app.values.times import Epoch, rfc3339

MAX_STEPS: Final = 16
"""How many amounts a search tries in a tier. One or two are enough, except where tolerance and protocol fee
take nearly everything and the rate skips most values of ``eq``. After that many the tier yields no amount."""


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
        """Whether more than 0 remains of ``eq``."""
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
        src = transfer.pools.src
        for rest in (src.inbound_limit, src.epoch_rest, src.total_rest):
            if rest is not None and rest < cap:
                cap = rest
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
    """At a fixed rate, the largest amount that the destination pool alone allows; None: any."""
    for low, high, ppm in _tiers_down(transfer, 1, MAX_UINT256):
        most_eq = most_eq_paid(transfer, ppm)
        amt = high if most_eq is None else _most_amt(price, most_eq, low, high)
        if amt is not None:
            return None if amt == MAX_UINT256 else amt
    return 0


def _never_passes(transfer: TransferTerms) -> bool:
    """Whether the source chain's minimum alone refuses every pool transfer from it."""
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


LONGEST_EPOCH_NAMED: Final = 366 * 24 * 60 * 60


class Advice(Struct, frozen=True):
    """What would pass instead: the nearest amounts below and above, at the tolerance asked for."""

    below: int | None = None
    above: int | None = None
    tolerance: int | None = None


_OVER_LIMIT = {
    Check.INBOUND_LIMIT: Reason.INBOUND_LIMIT,
    Check.EPOCH_CAP: Reason.EPOCH_CAP,
    Check.TOTAL_CAP: Reason.TOTAL_CAP,
    Check.DST_BALANCE: Reason.NOT_ENOUGH_LIQUIDITY,
    Check.RESULT_SIZE: Reason.AMOUNT_TOO_LARGE,
}


def over_limit(inputs: EstimateInputs, transfer: TransferTerms, check: Check) -> EstimateRefused:
    """Refuse an amount over an upper limit: 1005, 1017, 1004, or 500 for a result over 2^256-1."""
    advice = _advise(inputs, transfer)
    if advice.below is not None:
        msg = f"You can transfer up to {_written(transfer, advice.below)} at this moment"
    elif advice.above is not None:
        least = _written(transfer, advice.above)
        msg = f"This amount is not possible at this moment: transfer at least {least}"
    else:
        msg = _nothing_passes(inputs, transfer)
    if check is Check.EPOCH_CAP:
        msg += _next_epoch(inputs, transfer)
    return _refused(msg, check, _OVER_LIMIT[check], advice)


def amount_under_minimum(inputs: EstimateInputs, transfer: TransferTerms) -> EstimateRefused:
    """500: less than an operator lets a transfer of the token be."""
    advice, bound = _advise(inputs, transfer), transfer.src_token.min_send
    least = bound if advice.above is None else advice.above
    remedy = "" if least is None else f"transfer at least {_written(transfer, least)}"
    return _out_of_bounds(inputs, transfer, f"is too small: {remedy}", Check.MIN_SEND, advice)


def amount_over_maximum(inputs: EstimateInputs, transfer: TransferTerms) -> EstimateRefused:
    """500: more than an operator lets a transfer of the token be."""
    advice, bound = _advise(inputs, transfer), transfer.src_token.max_send
    most = bound if advice.below is None else advice.below
    remedy = "" if most is None else f"transfer at most {_written(transfer, most)}"
    return _out_of_bounds(inputs, transfer, f"is too large: {remedy}", Check.MAX_SEND, advice)


def _out_of_bounds(
    inputs: EstimateInputs, transfer: TransferTerms, msg: str, check: Check, advice: Advice
) -> EstimateRefused:
    """What passes every other check too is named, where there is such; else the bound itself."""
    amount, chain = _written(transfer, inputs.request.amt), transfer.src_chain.name
    reason = Reason.AMOUNT_UNDER_MINIMUM if check is Check.MIN_SEND else Reason.AMOUNT_OVER_MAXIMUM
    return _refused(f"A transfer of {amount} from {chain} {msg}", check, reason, advice)


def empty_curve(transfer: TransferTerms) -> EstimateRefused:
    """1004: one side of the curve holds nothing, so there is no price."""
    symbol, src, dst = transfer.src_token.symbol, transfer.src_chain.name, transfer.dst_chain.name
    return EstimateRefused(
        f"No {symbol} can be transferred from {src} to {dst} "
        "at this moment because one of the two pools is empty: try again later",
        check=Check.DST_BALANCE,
        reason=Reason.NOT_ENOUGH_LIQUIDITY,
    )


def curve_unsettled(transfer: TransferTerms) -> EstimateRefused:
    """500: the curve gives no price for these balances and this amount."""
    return EstimateRefused(
        f"The pools give no price for this amount of {transfer.src_token.symbol} at this moment: "
        "try another amount, or try again later",
        check=Check.CURVE,
        reason=Reason.CURVE_UNSETTLED,
    )


def fees_eat(inputs: EstimateInputs, transfer: TransferTerms) -> EstimateRefused:
    """500: nothing is left after the fees."""
    advice = _advise(inputs, transfer)
    if advice.above is not None:
        msg = f"The fees would use up this amount: transfer at least {_written(transfer, advice.above)}"
    elif advice.below is not None:
        msg = (
            "The fees would use up this amount: you can transfer up to "
            f"{_written(transfer, advice.below)} at this moment"
        )
    else:
        msg = f"The fees would use up this amount. {_nothing_passes(inputs, transfer)}"
    return _refused(msg, Check.FEES, Reason.AMOUNT_TOO_SMALL, advice)


def slippage_too_high(inputs: EstimateInputs, transfer: TransferTerms) -> EstimateRefused:
    """1012: ``max_slippage`` is the whole amount or more, which no contract takes."""
    advice = _advise(inputs, transfer, with_tolerance=True)
    remedies = []
    if advice.tolerance is not None:
        remedies.append(f"use a slippage_tolerance of {advice.tolerance} or less")
    if advice.above is not None:
        remedies.append(f"transfer at least {_written(transfer, advice.above)}")
    elif advice.below is not None:
        remedies.append(f"transfer up to {_written(transfer, advice.below)}")
    what = "With this slippage_tolerance, nothing of this amount may be received"
    msg = f"{what}: {', or '.join(remedies)}" if remedies else f"{what}. {_nothing_passes(inputs, transfer)}"
    return _refused(msg, Check.MAX_SLIPPAGE, Reason.SLIPPAGE_TOO_HIGH, advice)


def _advise(inputs: EstimateInputs, transfer: TransferTerms, *, with_tolerance: bool = False) -> Advice:
    """Search for what passes below and above the amount; nothing where there is no price."""
    amt = inputs.request.amt
    try:
        price = price_of(transfer) if transfer.fees_known else None
        if price is None:
            return Advice()
        return Advice(
            below=largest_passing(transfer, price, amt - 1),
            above=smallest_passing(transfer, price, amt + 1),
            tolerance=largest_tolerance(transfer, price, amt) if with_tolerance else None,
        )
    except CurveUnsettled:
        return Advice()


def _nothing_passes(inputs: EstimateInputs, transfer: TransferTerms) -> str:
    """Say that no amount passes at this tolerance, and what to do."""
    symbol, src, dst = transfer.src_token.symbol, transfer.src_chain.name, transfer.dst_chain.name
    lower = _lower_tolerance(transfer)
    if lower is not None:
        tolerance, amt = lower
        return (
            f"No amount is possible with a slippage_tolerance of {transfer.tolerance}; with {tolerance} or "
            f"less you can transfer {_written(transfer, amt)} at this moment"
        )
    others = [name for name in inputs.open_destinations if name != dst]
    hint = " or choose another destination chain" if others else ""
    return (
        f"No amount of {symbol} can be transferred from {src} to {dst} at this moment: try again later{hint}"
    )


def _lower_tolerance(transfer: TransferTerms) -> tuple[int, int] | None:
    """A tolerance under the asked one and the largest amount that passes with it."""
    if transfer.pools is None:
        return None
    try:
        price: Price | None = price_of(transfer)
        amt = None if price is None else largest_passing(transfer, price, amount_cap(transfer), tolerance=1)
        tolerance = None if price is None or amt is None else largest_tolerance(transfer, price, amt)
    except CurveUnsettled:
        return None
    return None if tolerance is None or amt is None else (tolerance, amt)


def _next_epoch(inputs: EstimateInputs, transfer: TransferTerms) -> str:
    """When the epoch's volume starts again from 0, where that is known."""
    seconds = transfer.pools.src.epoch_seconds if transfer.pools is not None else None
    if seconds is None or not 0 < seconds <= LONGEST_EPOCH_NAMED:
        return ""
    return f"; the limit resets at {rfc3339(Epoch.at(inputs.now, seconds).ends_at)}"


def _refused(msg: str, check: Check, reason: Reason, advice: Advice) -> EstimateRefused:
    return EstimateRefused(
        msg,
        check=check,
        reason=reason,
        largest_passing_amt=advice.below,
        smallest_passing_amt=advice.above,
        largest_passing_tolerance=advice.tolerance,
    )


def _written(transfer: TransferTerms, amt: int) -> str:
    """Write an amount in whole source tokens, with the symbol."""
    return f"{format_units(amt, transfer.src_token.decimals)} {transfer.src_token.symbol}"
