"""The methods about withdrawals: a refund asked for, what one would bring, what a pool takes in."""

from __future__ import annotations

from typing import Any, Final

from google.protobuf.message import Message

from app.domain.amounts import parse_uint256
from app.domain.refund.ask import read_withdraw_request
from app.domain.wire_values import MISSING, required, token_symbol, user_address
from app.grpcweb import gateway_pb2 as pb
from app.grpcweb.answers import withdraw_estimate
from app.grpcweb.calls import Call, Method
from app.grpcweb.questions import Rules, read_question
from app.services.estimates.bound import token_bound
from app.services.estimates.withdraw import Withdrawal, Withdrawals, estimate_withdrawals
from app.services.refund_asks import ask_for_refund

MAX_WITHDRAWALS: Final = 32
"""Source chains of one question: each can cost a read."""


def _withdrawals(sources: Any) -> list[Withdrawal]:
    if not sources:
        raise ValueError(MISSING)
    if len(sources) > MAX_WITHDRAWALS:
        raise ValueError(f"must have at most {MAX_WITHDRAWALS} chains")
    if len({source.chain_id for source in sources}) < len(sources):
        raise ValueError("must name each chain once")
    amount = required(parse_uint256)
    found = []
    for source in sources:
        try:
            found.append(Withdrawal(source.chain_id, amount(source.amount), source.slippage_tolerance))
        except ValueError as fault:
            raise ValueError(f"amount of chain {source.chain_id}: {fault}") from None
    return found


_ASK_RULES: Final[Rules] = {"withdraw_req": read_withdraw_request}
_ESTIMATE_RULES: Final[Rules] = {
    "src_withdraws": _withdrawals,
    "token_symbol": required(token_symbol),
    "usr_addr": lambda text: user_address(text) or None,
}
_BOUND_RULES: Final[Rules] = {"token_addr": required(user_address)}


def withdraw_liquidity(call: Call) -> Message:
    """Pay this transfer back."""
    asked = read_question(pb.WithdrawLiquidityRequest, call.message, _ASK_RULES)
    number = ask_for_refund(call.gateway, asked["withdraw_req"], call.caller)
    return pb.WithdrawLiquidityResponse(seq_num=number)


def estimate_withdraw_amt(call: Call) -> Message:
    """What would these withdrawals bring?"""
    asked = read_question(pb.EstimateWithdrawAmtRequest, call.message, _ESTIMATE_RULES)
    estimates = estimate_withdrawals(
        call.gateway,
        Withdrawals(asked["src_withdraws"], asked["dst_chain_id"], asked["token_symbol"]),
        asked["usr_addr"],
        call.caller,
    )
    return pb.EstimateWithdrawAmtResponse(
        req_amt={chain_id: withdraw_estimate(estimate) for chain_id, estimate in estimates.items()}
    )


def get_token_bound(call: Call) -> Message:
    """How much of the token does its pool take in?"""
    asked = read_question(pb.GetTokenBoundRequest, call.message, _BOUND_RULES)
    bound = token_bound(call.gateway, asked["chain_id"], asked["token_addr"])
    return pb.GetTokenBoundResponse(value="" if bound is None else str(bound))


def withdrawal_methods() -> dict[str, Method]:
    """The methods by name."""
    return {
        "WithdrawLiquidity": Method(withdraw_liquidity, pb.WithdrawLiquidityResponse),
        "EstimateWithdrawAmt": Method(estimate_withdraw_amt, pb.EstimateWithdrawAmtResponse),
        "GetTokenBound": Method(get_token_bound, pb.GetTokenBoundResponse),
    }
