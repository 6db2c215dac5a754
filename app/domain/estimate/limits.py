"""The limits of a transfer in words and numbers, for the explanation; ``checks`` enforces them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from app.domain.amounts import MAX_UINT256, PPM
from app.domain.estimate.inputs import FixedRate, PoolState
from app.domain.estimate.pricing import Calculation, Price, TransferTerms
from app.domain.estimate.refusals import Check
from app.domain.estimate.search import largest_paid
from app.domain.estimate.terms import dst_unit, src_unit

MINIMAL_MAX_SLIPPAGE: Final = "minimal_max_slippage"


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit. ``counted`` is what this transfer brings against ``value``, both in ``unit``.

    ``headroom`` is ``value`` less ``counted``, or the reverse for a lower limit; negative: it is broken.
    ``largest_amt`` is the largest amount (source units) that this limit alone lets through, ``None`` where it
    bounds none.
    ``binds``: an upper limit that no other is tighter than; a lower one that is broken; for
    ``minimal_max_slippage``, which breaks nothing, whether it is what ``max_slippage`` answers.
    """

    name: str
    formula: str
    value: int
    counted: int
    headroom: int
    unit: str
    largest_amt: int | None
    binds: bool = False


def limits_of(
    transfer: TransferTerms, price: Price | None, result: Calculation | None, amt: int
) -> tuple[Limit, ...]:
    """All limits on these terms, as far as there are numbers for them; ``amt`` in source units."""
    upper = [*_greatest(transfer, amt), *_inbound(transfer, amt), *_outbound(transfer, price, result)]
    tightest = min((limit.largest_amt for limit in upper if limit.largest_amt is not None), default=None)
    bound = [
        replace(limit, binds=limit.largest_amt is not None and limit.largest_amt == tightest)
        for limit in upper
    ]
    return (*bound, *_least(transfer, amt), *_lower(transfer, result))


def _greatest(transfer: TransferTerms, amt: int) -> list[Limit]:
    """What an operator lets a transfer be at most."""
    most = transfer.src_token.max_send
    if most is None:
        return []
    formula = f"amt is at most {_of_pair(transfer, 'max')}max_send of the token on the source chain"
    return [Limit(Check.MAX_SEND.value, formula, most, amt, most - amt, src_unit(transfer), most)]


def _least(transfer: TransferTerms, amt: int) -> list[Limit]:
    """What an operator lets a transfer be at least."""
    least = transfer.src_token.min_send
    if least is None:
        return []
    return [
        Limit(
            name=Check.MIN_SEND.value,
            formula=f"amt is at least {_of_pair(transfer, 'min')}min_send of the token on the source chain",
            value=least,
            counted=amt,
            headroom=amt - least,
            unit=src_unit(transfer),
            largest_amt=None,
            binds=amt < least,
        )
    ]


def _of_pair(transfer: TransferTerms, end: str) -> str:
    """The bound that goes before the token's for a pegged transfer, in words."""
    return f"{end}_deposit or {end}_burn of the pair, else " if transfer.pools is None else ""


def _inbound(transfer: TransferTerms, amt: int) -> list[Limit]:
    """The source pool's limits, each a bound on the amount itself."""
    if transfer.pools is None:
        return []
    pool: PoolState = transfer.pools.src
    unit = src_unit(transfer)

    def limit(check: Check, formula: str, value: int, used: int) -> Limit:
        rest = value - used
        return Limit(check.value, formula, value, used + amt, rest - amt, unit, largest_amt=max(0, rest))

    limits = [
        limit(
            Check.INBOUND_LIMIT,
            "amt is at most liquidity added - relayed - withdrawn of the source pool",
            pool.inbound_limit,
            0,
        )
    ]
    if pool.epoch_cap is not None:
        formula = "volume of the source pool in this epoch + amt is at most its epoch cap"
        limits.append(limit(Check.EPOCH_CAP, formula, pool.epoch_cap, pool.epoch_volume))
    if pool.total_cap is not None:
        formula = "balance of the source pool + amt is at most its total cap"
        limits.append(limit(Check.TOTAL_CAP, formula, pool.total_cap, pool.balance))
    return limits


def _outbound(transfer: TransferTerms, price: Price | None, result: Calculation | None) -> list[Limit]:
    """What the destination pool can pay at a fixed rate, and the bound of uint256."""
    if result is None or price is None:
        return []
    limits = []
    if transfer.pools is not None and isinstance(transfer.rate, FixedRate):
        balance = transfer.pools.dst.balance
        limits.append(
            Limit(
                name=Check.DST_BALANCE.value,
                formula="estimated_receive_amt is at most the balance of the destination pool",
                value=balance,
                counted=result.receive,
                headroom=balance - result.receive,
                unit=dst_unit(transfer),
                largest_amt=largest_paid(transfer, price),
            )
        )
    limits.append(
        Limit(
            name=Check.RESULT_SIZE.value,
            formula="eq_value_token_amt is at most 2^256-1",
            value=MAX_UINT256,
            counted=result.eq,
            headroom=MAX_UINT256 - result.eq,
            unit=dst_unit(transfer),
            largest_amt=None,
        )
    )
    return limits


def _lower(transfer: TransferTerms, result: Calculation | None) -> list[Limit]:
    """The limits that a small amount breaks."""
    if result is None:
        return []
    limits = [
        Limit(
            name=Check.FEES.value,
            formula="estimated_receive_amt is at least 1",
            value=1,
            counted=result.receive,
            headroom=result.receive - 1,
            unit=dst_unit(transfer),
            largest_amt=None,
            binds=result.receive < 1,
        )
    ]
    if transfer.pools is None:
        return limits
    minimal = transfer.src_chain.minimal_max_slippage
    return [
        *limits,
        Limit(
            name=Check.MAX_SLIPPAGE.value,
            formula="max_slippage is at most 999999",
            value=PPM - 1,
            counted=result.max_slippage,
            headroom=PPM - 1 - result.max_slippage,
            unit="ppm",
            largest_amt=None,
            binds=result.max_slippage >= PPM,
        ),
        Limit(
            name=MINIMAL_MAX_SLIPPAGE,
            formula="max_slippage is at least minimal_max_slippage of the source chain",
            value=minimal,
            counted=result.slippage_down,
            headroom=result.slippage_down - minimal,
            unit="ppm",
            largest_amt=None,
            binds=result.slippage_down < minimal,
        ),
    ]
