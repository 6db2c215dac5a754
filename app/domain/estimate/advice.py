"""The refusals that look at the amount: each names the nearest amounts that would really pass.

What a message promises was searched with the same calculation that refuses (estimate_search),
with every limit counted, not only the one that refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from app.domain.amounts import format_units
from app.domain.codes import Reason
from app.domain.estimate.inputs import EstimateInputs
from app.domain.estimate.pricing import Price, PricingTerms, price_of
from app.domain.estimate.refusals import Check, EstimateRefused
from app.domain.estimate.search import amount_cap, largest_passing, largest_tolerance, smallest_passing
from app.domain.estimate.stableswap import CurveUnsettled

LONGEST_EPOCH_TOLD: Final = 366 * 24 * 60 * 60


@dataclass(frozen=True, slots=True)
class Advice:
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


def over_limit(inputs: EstimateInputs, plan: PricingTerms, check: Check) -> EstimateRefused:
    """Refuse an amount over an upper limit: 1005, 1017, 1004, or 500 for a result over 2^256-1."""
    advice = _advise(inputs, plan)
    if advice.below is not None:
        msg = f"You can transfer up to {_written(plan, advice.below)} at this moment"
    elif advice.above is not None:
        msg = f"This amount is not possible at this moment: transfer at least {_written(plan, advice.above)}"
    else:
        msg = _nothing_passes(inputs, plan)
    if check is Check.EPOCH_CAP:
        msg += _next_epoch(inputs, plan)
    return _refused(msg, check, _OVER_LIMIT[check], advice)


def empty_curve(plan: PricingTerms) -> EstimateRefused:
    """1004: one side of the curve holds nothing, so there is no price."""
    return EstimateRefused(
        f"No {plan.src_token.symbol} can be transferred from {plan.src_chain.name} to {plan.dst_chain.name} "
        "at this moment, as one of the two pools is empty: ask again when liquidity was added",
        check=Check.DST_BALANCE,
        reason=Reason.NOT_ENOUGH_LIQUIDITY,
    )


def curve_unsettled(plan: PricingTerms) -> EstimateRefused:
    """500: the curve gives no price for these balances and this amount."""
    return EstimateRefused(
        f"The pools give no price for this amount of {plan.src_token.symbol} at this moment: "
        "try another amount, or ask again later",
        check=Check.CURVE,
        reason=Reason.CURVE_UNSETTLED,
    )


def fees_eat(inputs: EstimateInputs, plan: PricingTerms) -> EstimateRefused:
    """500: nothing is left after the fees."""
    advice = _advise(inputs, plan)
    if advice.above is not None:
        msg = f"The fees would take all of this amount: transfer at least {_written(plan, advice.above)}"
    elif advice.below is not None:
        msg = (
            "The fees would take all of this amount: "
            f"you can transfer up to {_written(plan, advice.below)} at this moment"
        )
    else:
        msg = f"The fees would take all of this amount. {_nothing_passes(inputs, plan)}"
    return _refused(msg, Check.FEES, Reason.AMOUNT_TOO_SMALL, advice)


def slippage_too_high(inputs: EstimateInputs, plan: PricingTerms) -> EstimateRefused:
    """1012: ``max_slippage`` is the whole amount or more, which no contract takes."""
    advice = _advise(inputs, plan, with_tolerance=True)
    remedies = []
    if advice.tolerance is not None:
        remedies.append(f"ask with a slippage_tolerance of {advice.tolerance} or less")
    if advice.above is not None:
        remedies.append(f"transfer at least {_written(plan, advice.above)}")
    elif advice.below is not None:
        remedies.append(f"transfer up to {_written(plan, advice.below)}")
    what = "With this slippage_tolerance nothing may be left of this amount"
    msg = f"{what}: {', or '.join(remedies)}" if remedies else f"{what}. {_nothing_passes(inputs, plan)}"
    return _refused(msg, Check.MAX_SLIPPAGE, Reason.SLIPPAGE_TOO_HIGH, advice)


def _advise(inputs: EstimateInputs, plan: PricingTerms, *, with_tolerance: bool = False) -> Advice:
    """Look for what passes on both sides of the amount; nothing where there is no price to look with."""
    amt = inputs.request.amt
    try:
        price = price_of(plan)
        if price is None:
            return Advice()
        return Advice(
            below=largest_passing(plan, price, amt - 1),
            above=smallest_passing(plan, price, amt + 1),
            tolerance=largest_tolerance(plan, price, amt) if with_tolerance else None,
        )
    except CurveUnsettled:
        return Advice()


def _nothing_passes(inputs: EstimateInputs, plan: PricingTerms) -> str:
    """Say that no amount passes at this tolerance, and what to do."""
    symbol, src, dst = plan.src_token.symbol, plan.src_chain.name, plan.dst_chain.name
    lower = _lower_tolerance(plan)
    if lower is not None:
        tolerance, amt = lower
        return (
            f"No amount passes with a slippage_tolerance of {plan.tolerance}; with {tolerance} or less "
            f"you can transfer {_written(plan, amt)} at this moment"
        )
    others = [name for name in inputs.open_destinations if name != dst]
    hint = " or choose another destination chain" if others else ""
    return (
        f"No amount of {symbol} can be transferred from {src} to {dst} at this moment: ask again later{hint}"
    )


def _lower_tolerance(plan: PricingTerms) -> tuple[int, int] | None:
    """A tolerance under the asked one and the largest amount that passes with it."""
    if plan.pools is None:
        return None
    try:
        price: Price | None = price_of(plan)
        amt = None if price is None else largest_passing(plan, price, amount_cap(plan), tolerance=1)
        tolerance = None if price is None or amt is None else largest_tolerance(plan, price, amt)
    except CurveUnsettled:
        return None
    return None if tolerance is None or amt is None else (tolerance, amt)


def _next_epoch(inputs: EstimateInputs, plan: PricingTerms) -> str:
    """When the epoch's volume starts again from 0, where that is known."""
    seconds = plan.pools.src.epoch_seconds if plan.pools is not None else None
    if seconds is None or not 0 < seconds <= LONGEST_EPOCH_TOLD:
        return ""
    since_1970 = (inputs.now - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
    ends = inputs.now.replace(microsecond=0) + timedelta(seconds=seconds - since_1970 % seconds)
    return f"; the limit is renewed at {ends.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _refused(msg: str, check: Check, reason: Reason, advice: Advice) -> EstimateRefused:
    return EstimateRefused(
        msg,
        check=check,
        reason=reason,
        largest_passing_amt=advice.below,
        smallest_passing_amt=advice.above,
        largest_passing_tolerance=advice.tolerance,
    )


def _written(plan: PricingTerms, amt: int) -> str:
    """Write an amount in whole source tokens, with the symbol."""
    return f"{format_units(amt, plan.src_token.decimals)} {plan.src_token.symbol}"
