"""What a withdrawal would bring: a refund all of it, any other what a transfer brings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from app.domain.blocking import IPAddress
from app.domain.codes import BridgeType
from app.domain.estimate import refusals as refuse
from app.domain.estimate.estimate import Estimate
from app.domain.estimate.inputs import EstimateRequest
from app.domain.keys import ChainId
from app.runtime.gateway import Gateway
from app.services.estimates.estimate import estimate_transfer


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """What is to be withdrawn from one chain: amount in its token's smallest unit, tolerance in ppm."""

    chain_id: ChainId | int
    amount: int
    slippage_tolerance: int


@dataclass(frozen=True, slots=True)
class Withdrawals:
    """Withdrawals of one token to one chain, each from another chain."""

    sources: Sequence[Withdrawal]
    dst_chain_id: ChainId | int
    symbol: str


def estimate_withdrawals(
    gateway: Gateway,
    withdrawals: Withdrawals,
    usr_addr: str | None,
    caller: IPAddress | None,
) -> Mapping[int, Estimate]:
    """The estimate of each withdrawal, by its source chain.

    From a chain to itself it is a refund: the amount, without rate, fees and slippage, also while the chain
    or the token is disabled, which may be why it is refunded. Any other is estimated as a transfer is.

    :raises GatewayError: with the first withdrawal that is refused.
    """
    return {
        each.chain_id: _refund(gateway, each)
        if each.chain_id == withdrawals.dst_chain_id
        else estimate_transfer(gateway, _transfer(each, withdrawals), usr_addr, caller)
        for each in withdrawals.sources
    }


def _transfer(withdrawal: Withdrawal, withdrawals: Withdrawals) -> EstimateRequest:
    return EstimateRequest(
        src_chain_id=ChainId(withdrawal.chain_id),
        dst_chain_id=ChainId(withdrawals.dst_chain_id),
        token_symbol=withdrawals.symbol,
        amt=withdrawal.amount,
        slippage_tolerance=withdrawal.slippage_tolerance,
        is_pegged=None,
    )


def _refund(gateway: Gateway, withdrawal: Withdrawal) -> Estimate:
    if withdrawal.chain_id not in gateway.snapshots.current().terms.chains:
        raise refuse.chain_unknown(withdrawal.chain_id)
    if withdrawal.amount <= 0:
        raise refuse.amount_zero()
    return Estimate(
        eq_value_token_amt=withdrawal.amount,
        bridge_rate=Fraction(1),
        perc_fee=0,
        base_fee=0,
        slippage_tolerance=withdrawal.slippage_tolerance,
        max_slippage=0,
        estimated_receive_amt=withdrawal.amount,
        drop_gas_amt=0,
        bridge_type=BridgeType.UNDEFINED,
    )
