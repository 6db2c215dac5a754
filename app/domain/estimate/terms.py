"""The terms of an estimate in words and numbers, for the explanation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from app.domain.amounts import PPM
from app.domain.estimate.inputs import FixedRate
from app.domain.estimate.pricing import Calculation, CurvePrice, Price, TransferTerms
from app.domain.estimate.stableswap import CURVE_DECIMALS

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


@dataclass(frozen=True, slots=True)
class Term:
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
