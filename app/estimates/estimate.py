"""Calculates an estimate: an answer or a refusal. Pure, and exact to the smallest unit.

The rules: docs/interface.md#estimate, in the order of docs/interface.md#estimate-checks. ``explanation``
explains the same answer.
"""

from __future__ import annotations

from fractions import Fraction

from msgspec import Struct

from app.estimates.checks import pass_checks
from app.estimates.inputs import EstimateInputs
from app.estimates.pricing import price_transfer
from app.estimates.refusals import Check, EstimateRefused
from app.values.codes import BridgeType

__all__ = ["Check", "Estimate", "EstimateRefused", "estimate"]


class Estimate(Struct, frozen=True):
    """The answer. Amounts are in the destination token's smallest units, from 0 to 2^256-1.

    ``bridge_rate`` is exact; ``amounts.rate_as_number`` writes it for clients. ``max_slippage``
    and ``slippage_tolerance`` are in parts per million, the latter an echo of the request.
    """

    eq_value_token_amt: int
    bridge_rate: Fraction
    perc_fee: int
    base_fee: int
    slippage_tolerance: int
    max_slippage: int
    estimated_receive_amt: int
    drop_gas_amt: int
    bridge_type: BridgeType


def estimate(inputs: EstimateInputs) -> Estimate:
    """What a transfer would cost and bring. Raises ``EstimateRefused`` and nothing else."""
    transfer, price, result = pass_checks(price_transfer(inputs))
    return Estimate(
        eq_value_token_amt=result.eq,
        bridge_rate=price.bridge_rate(result.amt, result.eq),
        perc_fee=result.perc_fee,
        base_fee=result.base_fee,
        slippage_tolerance=inputs.request.slippage_tolerance,
        max_slippage=result.max_slippage,
        estimated_receive_amt=result.receive,
        drop_gas_amt=transfer.dst_chain.drop_gas_amt,
        bridge_type=transfer.bridge_type,
    )
