"""Refusals that depend on the amount: each names the nearest amounts that would pass.

``search`` finds these amounts with the calculation that refused, under every limit, not only the broken one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from app.domain.amounts import format_units
from app.domain.codes import Reason
from app.domain.estimate.inputs import EstimateInputs
from app.domain.estimate.pricing import Price, TransferTerms, price_of
from app.domain.estimate.refusals import Check, EstimateRefused
from app.domain.estimate.search import amount_cap, largest_passing, largest_tolerance, smallest_passing
from app.domain.estimate.stableswap import CurveUnsettled
from app.domain.times import Epoch, rfc3339

LONGEST_EPOCH_NAMED: Final = 366 * 24 * 60 * 60


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
