"""The terms of an estimate and the limits of a transfer in words and numbers, for the explanation."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from app.estimates.advice import largest_paid
from app.estimates.curve import CURVE_DECIMALS
from app.estimates.pricing import Calculation, CurvePrice, Price, TransferTerms
from app.estimates.refusals import Check
from app.network.pools import PoolState
from app.network.route_terms import FixedRate
from app.values.amounts import MAX_UINT256, PPM

Value = int | Fraction | str

EXACT: Final = "not rounded"

_ROUNDING: Final = {
    "invariant": "down",
    "scaled_amt": EXACT,
    "eq_value_token_amt": "down",
    "bridge_rate": EXACT,
    "perc_fee": "up",
    "minimum_destination_amt": EXACT,
    "max_slippage_rate": EXACT,
    "max_slippage": "down",
    "minimum_receive_amt": EXACT,
}
"""By the names of terms; the others have nothing to round."""


class Term(Struct, frozen=True):
    """One number of the answer: its formula in words over ``inputs``, its value and its unit."""

    name: str
    formula: str
    inputs: tuple[tuple[str, Value], ...]
    value: Value
    unit: str

    @property
    def rounding(self) -> str:
        """``down``, ``up`` or ``EXACT``; empty where there is nothing to round."""
        return _ROUNDING.get(self.name, "")


def src_unit(transfer: TransferTerms) -> str:
    """The name of the source token's unit."""
    return f"smallest units of {transfer.src_token.symbol} on {transfer.src_chain.name}"


def dst_unit(transfer: TransferTerms) -> str:
    """The name of the destination token's unit."""
    return f"smallest units of {transfer.dst_token.symbol} on {transfer.dst_chain.name}"


def terms_of(transfer: TransferTerms, price: Price | None, result: Calculation | None) -> tuple[Term, ...]:
    """Every term in the order of the calculation; without ``result`` those that need no amount."""
    if price is None or result is None:
        base_fee = [_base_fee(transfer)] if transfer.fees_known else []
        return (*_curve_terms(price), *base_fee, _drop_gas(transfer))
    scaled = Fraction(result.amt * transfer.up, transfer.down)
    return (
        *_curve_terms(price),
        *_value_terms(transfer, price, result, scaled),
        *_fee_terms(transfer, result),
        *_slippage_terms(transfer, result, scaled),
        _drop_gas(transfer),
    )


def _curve_terms(price: Price | None) -> Iterator[Term]:
    if isinstance(price, CurvePrice):
        yield Term(
            "invariant",
            "D of the two pools' balances, scaled to 18 decimals and rounded down",
            (
                ("source_balance", price.x),
                ("destination_balance", price.y),
                ("amplification", price.amplification),
            ),
            price.d,
            f"units of {CURVE_DECIMALS} decimals",
        )


def _value_terms(
    transfer: TransferTerms, price: Price, result: Calculation, scaled: Fraction
) -> Iterator[Term]:
    yield Term(
        "scaled_amt",
        "amt in the destination token's decimals, not rounded",
        (
            ("amt", result.amt),
            ("source_decimals", transfer.src_token.decimals),
            ("destination_decimals", transfer.dst_token.decimals),
        ),
        scaled,
        dst_unit(transfer),
    )
    rate = price.bridge_rate(result.amt, result.eq)
    eq_inputs: tuple[tuple[str, Value], ...]
    if isinstance(price, CurvePrice):
        eq_formula = "what leaves the destination pool at the same invariant, less 1, rounded down"
        eq_inputs = (("amt", result.amt), ("invariant", price.d))
        rate_formula = "eq_value_token_amt / scaled_amt"
        rate_inputs: tuple[tuple[str, Value], ...] = (
            ("eq_value_token_amt", result.eq),
            ("scaled_amt", scaled),
        )
    else:
        eq_formula = "scaled_amt * bridge_rate, rounded down"
        eq_inputs = (("scaled_amt", scaled), ("bridge_rate", rate))
        rate_formula = "the fixed rate of the route" if transfer.pools else "1 for a pegged transfer"
        rate_inputs = (("rate", transfer.rate.text),) if isinstance(transfer.rate, FixedRate) else ()
    yield Term("eq_value_token_amt", eq_formula, eq_inputs, result.eq, dst_unit(transfer))
    yield Term("bridge_rate", rate_formula, rate_inputs, rate, "destination tokens for one source token")


def _fee_terms(transfer: TransferTerms, result: Calculation) -> Iterator[Term]:
    tier = result.tier
    yield Term(
        "perc_fee",
        "eq_value_token_amt * ppm / 1000000, rounded up, at the highest tier that starts at or under amt",
        (
            ("eq_value_token_amt", result.eq),
            ("ppm", tier.ppm if tier else 0),
            ("tier_from", tier.from_amount if tier else 0),
        ),
        result.perc_fee,
        dst_unit(transfer),
    )
    yield _base_fee(transfer)
    yield Term(
        "estimated_receive_amt",
        "eq_value_token_amt - perc_fee - base_fee",
        (
            ("eq_value_token_amt", result.eq),
            ("perc_fee", result.perc_fee),
            ("base_fee", result.base_fee),
        ),
        result.receive,
        dst_unit(transfer),
    )


def _slippage_terms(transfer: TransferTerms, result: Calculation, scaled: Fraction) -> Iterator[Term]:
    if transfer.pools is None:
        yield Term("max_slippage", "0 for a pegged transfer", (), result.max_slippage, "ppm")
        return
    minimum = Fraction(result.minimum_ppm, PPM)
    rate = 1 - minimum / scaled
    yield Term(
        "minimum_destination_amt",
        "eq_value_token_amt * (1 - slippage_tolerance / 1000000) - base_fee - perc_fee",
        (
            ("eq_value_token_amt", result.eq),
            ("slippage_tolerance", transfer.tolerance),
            ("base_fee", result.base_fee),
            ("perc_fee", result.perc_fee),
        ),
        minimum,
        dst_unit(transfer),
    )
    yield Term(
        "max_slippage_rate",
        "1 - minimum_destination_amt / scaled_amt",
        (("minimum_destination_amt", minimum), ("scaled_amt", scaled)),
        rate,
        "ratio",
    )
    yield Term(
        "max_slippage",
        "the larger of max_slippage_rate * 1000000, cut to an integer, and minimal_max_slippage",
        (("max_slippage_rate", rate), ("minimal_max_slippage", transfer.src_chain.minimal_max_slippage)),
        result.max_slippage,
        "ppm",
    )
    yield Term(
        "minimum_receive_amt",
        "eq_value_token_amt * (1 - max_slippage / 1000000)",
        (("eq_value_token_amt", result.eq), ("max_slippage", result.max_slippage)),
        Fraction(result.eq * (PPM - result.max_slippage), PPM),
        dst_unit(transfer),
    )


def _base_fee(transfer: TransferTerms) -> Term:
    return Term("base_fee", "the fee for the destination's gas", (), transfer.base_fee, dst_unit(transfer))


def _drop_gas(transfer: TransferTerms) -> Term:
    return Term(
        "drop_gas_amt",
        "as configured for the destination chain",
        (),
        transfer.dst_chain.drop_gas_amt,
        f"smallest units of the gas token on {transfer.dst_chain.name}",
    )


MINIMAL_MAX_SLIPPAGE: Final = "minimal_max_slippage"


class Limit(Struct, frozen=True):
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
    return limits if transfer.pools is None else [*limits, *_slippage(transfer, result)]


def _slippage(transfer: TransferTerms, result: Calculation) -> list[Limit]:
    """The bounds of what may get lost on the way through pools: a small amount loses most of itself."""
    minimal = transfer.src_chain.minimal_max_slippage
    return [
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
