"""The terms of an estimate in words and numbers, for the explanation."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from app.estimates.rules.pricing import CURVE_DECIMALS, Calculation, CurvePrice, Price, Priced, TransferTerms
from app.network.rules.terms import FixedRate
from app.values.amounts import PPM

Value = int | Fraction | str

EXACT: Final = "not rounded"


class Counted(StrEnum):
    SRC = "source token"
    DST = "destination token"
    CURVE = "curve units"
    GAS = "gas token"
    PPM = "ppm"
    RATIO = "ratio"
    RATE = "rate"


class Unit(Struct, frozen=True):
    counted: Counted
    text: str


CURVE_UNIT: Final = Unit(Counted.CURVE, f"units of {CURVE_DECIMALS} decimals")
PPM_UNIT: Final = Unit(Counted.PPM, "ppm")
RATIO_UNIT: Final = Unit(Counted.RATIO, "ratio")
RATE_UNIT: Final = Unit(Counted.RATE, "destination tokens for one source token")


def src_unit(transfer: TransferTerms) -> Unit:
    return Unit(Counted.SRC, f"smallest units of {transfer.src_token.symbol} on {transfer.src_chain.name}")


def dst_unit(transfer: TransferTerms) -> Unit:
    return Unit(Counted.DST, f"smallest units of {transfer.dst_token.symbol} on {transfer.dst_chain.name}")


class Input(Struct, frozen=True):
    """A number that a term is calculated from; ``label`` names it in the console."""

    name: str
    label: str
    value: Value
    counted: Counted | None = None


class Term(Struct, frozen=True):
    """One number of the answer: its formula in words over ``inputs``, its value and its unit. ``rounding`` is
    ``down``, ``up`` or ``EXACT``; empty where there is nothing to round. ``label`` names it in the console.
    """

    name: str
    label: str
    formula: str
    inputs: tuple[Input, ...]
    value: Value
    unit: Unit
    rounding: str = ""

    @property
    def as_input(self) -> Input:
        return Input(self.name, self.label.lower(), self.value, self.unit.counted)

    @property
    def direction(self) -> str:
        """``down``, ``up`` or ``none``: the rounding for clients."""
        return self.rounding if self.rounding in ("down", "up") else "none"


def terms_of(priced: Priced) -> tuple[Term, ...]:
    """Every term in the order of the calculation. Without a result only those that need no amount."""
    transfer, price, result = priced.transfer, priced.price, priced.result
    if transfer is None:
        return ()
    drop_gas = Term(
        "drop_gas_amt",
        "Gas dropped on the destination",
        "as configured for the destination chain",
        (),
        transfer.dst_chain.drop_gas_amt,
        Unit(Counted.GAS, f"smallest units of the gas token on {transfer.dst_chain.name}"),
    )
    base_fee = Term(
        "base_fee",
        "Base fee",
        "the fee for the destination's gas",
        (),
        transfer.base_fee,
        dst_unit(transfer),
    )
    invariant = (_invariant(price),) if isinstance(price, CurvePrice) else ()
    if price is None or result is None:
        return (*invariant, base_fee, drop_gas) if transfer.fees_known else (drop_gas,)
    scaled = _scaled(transfer, result)
    eq, rate = _value(transfer, price, result, scaled)
    perc_fee = _perc_fee(transfer, result, eq)
    fees = (eq.as_input, perc_fee.as_input, base_fee.as_input)
    receive = Term(
        "estimated_receive_amt",
        "Received",
        "eq_value_token_amt - perc_fee - base_fee",
        fees,
        result.receive,
        dst_unit(transfer),
    )
    slippage = _slippage_terms(transfer, result, scaled, fees)
    return (*invariant, scaled, eq, rate, perc_fee, base_fee, receive, *slippage, drop_gas)


def _invariant(price: CurvePrice) -> Term:
    return Term(
        "invariant",
        "Invariant of the curve",
        "D of the two pools' balances, scaled to 18 decimals and rounded down",
        (
            Input("source_balance", "source pool's balance", price.x, Counted.CURVE),
            Input("destination_balance", "destination pool's balance", price.y, Counted.CURVE),
            Input("amplification", "amplification", price.amplification),
        ),
        price.d,
        CURVE_UNIT,
        "down",
    )


def _amt(result: Calculation) -> Input:
    return Input("amt", "amount sent", result.amt, Counted.SRC)


def _scaled(transfer: TransferTerms, result: Calculation) -> Term:
    return Term(
        "scaled_amt",
        "Amount sent, in the destination's decimals",
        "amt in the destination token's decimals, not rounded",
        (
            _amt(result),
            Input("source_decimals", "source decimals", transfer.src_token.decimals),
            Input("destination_decimals", "destination decimals", transfer.dst_token.decimals),
        ),
        Fraction(result.amt * transfer.up, transfer.down),
        dst_unit(transfer),
        EXACT,
    )


def _value(transfer: TransferTerms, price: Price, result: Calculation, scaled: Term) -> tuple[Term, Term]:
    """The worth of the amount before fees, and the rate. On a curve the rate follows from the worth."""
    eq = Term(
        "eq_value_token_amt",
        "Value on the destination before fees",
        "scaled_amt * bridge_rate, rounded down",
        (),
        result.eq,
        dst_unit(transfer),
        "down",
    )
    rate = Term(
        "bridge_rate",
        "Rate",
        "the fixed rate of the route" if transfer.pools else "1 for a pegged transfer",
        (),
        price.bridge_rate(result.amt, result.eq),
        RATE_UNIT,
        EXACT,
    )
    if isinstance(price, CurvePrice):
        of_curve = (_amt(result), Input("invariant", "invariant", price.d, Counted.CURVE))
        formula = "what leaves the destination pool at the same invariant, less 1, rounded down"
        eq = replace(eq, formula=formula, inputs=of_curve)
        return eq, replace(
            rate, formula="eq_value_token_amt / scaled_amt", inputs=(eq.as_input, scaled.as_input)
        )
    if isinstance(transfer.rate, FixedRate):
        rate = replace(rate, inputs=(Input("rate", "configured rate", transfer.rate.text),))
    return replace(eq, inputs=(scaled.as_input, rate.as_input)), rate


def _perc_fee(transfer: TransferTerms, result: Calculation, eq: Term) -> Term:
    tier = result.tier
    return Term(
        "perc_fee",
        "Protocol fee",
        "eq_value_token_amt * ppm / 1000000, rounded up, at the highest tier that starts at or under amt",
        (
            eq.as_input,
            Input("ppm", "fee", tier.ppm if tier else 0, Counted.PPM),
            Input("tier_from", "tier starts at", tier.from_amount if tier else 0, Counted.SRC),
        ),
        result.perc_fee,
        dst_unit(transfer),
        "up",
    )


def _slippage_terms(
    transfer: TransferTerms, result: Calculation, scaled: Term, fees: tuple[Input, Input, Input]
) -> tuple[Term, ...]:
    """``fees`` are the worth, the protocol fee and the base fee."""
    most = Term(
        "max_slippage",
        "Maximum slippage for the transaction",
        "0 for a pegged transfer",
        (),
        result.max_slippage,
        PPM_UNIT,
        "down",
    )
    if transfer.pools is None:
        return (most,)
    minimum = _minimum(transfer, result, fees)
    rate = Term(
        "max_slippage_rate",
        "Maximum loss as a share",
        "1 - minimum_destination_amt / scaled_amt",
        (minimum.as_input, scaled.as_input),
        1 - Fraction(result.minimum_ppm, PPM) / Fraction(result.amt * transfer.up, transfer.down),
        RATIO_UNIT,
        EXACT,
    )
    minimal = transfer.src_chain.minimal_max_slippage
    most = replace(
        most,
        formula="the larger of max_slippage_rate * 1000000, cut to an integer, and minimal_max_slippage",
        inputs=(
            rate.as_input,
            Input("minimal_max_slippage", "source chain's minimum", minimal, Counted.PPM),
        ),
    )
    return minimum, rate, most, _least_received(transfer, result, (fees[0], most.as_input))


def _minimum(transfer: TransferTerms, result: Calculation, fees: tuple[Input, Input, Input]) -> Term:
    eq, perc_fee, base_fee = fees
    tolerance = Input("slippage_tolerance", "slippage tolerance", transfer.tolerance, Counted.PPM)
    return Term(
        "minimum_destination_amt",
        "Minimum value at full tolerance",
        "eq_value_token_amt * (1 - slippage_tolerance / 1000000) - base_fee - perc_fee",
        (eq, tolerance, base_fee, perc_fee),
        Fraction(result.minimum_ppm, PPM),
        dst_unit(transfer),
        EXACT,
    )


def _least_received(transfer: TransferTerms, result: Calculation, inputs: tuple[Input, Input]) -> Term:
    return Term(
        "minimum_receive_amt",
        "Minimum received at maximum slippage",
        "eq_value_token_amt * (1 - max_slippage / 1000000)",
        inputs,
        Fraction(result.eq * (PPM - result.max_slippage), PPM),
        dst_unit(transfer),
        EXACT,
    )
