"""The methods of the service. Each reads the message, calls a service and makes the answer."""

from __future__ import annotations

from typing import Any, Final

from google.protobuf.message import Message

from app.db.database import Database
from app.estimates.counts import EstimateCounts
from app.estimates.inputs import EstimateRequest
from app.estimates.services import (
    Withdrawal,
    Withdrawals,
    estimate_transfer,
    estimate_withdrawals,
    token_bound,
)
from app.grpcweb import gateway_pb2 as pb
from app.grpcweb.messages import (
    Call,
    Method,
    Rules,
    configs_answer,
    estimate_answer,
    history_answer,
    latency_answer,
    read_question,
    status_answer,
    withdraw_estimate,
)
from app.http.limits import RefundRequestLimit
from app.latency.services import median_latency
from app.network.services import transfer_configs
from app.network.snapshot import SnapshotSource, TransferConfigs
from app.parts import current
from app.refunds.services import request_refund
from app.refunds.user_request import read_withdraw_request
from app.transfers.schemas.status_answers import progress_headers
from app.transfers.services.lookups import transfer_history
from app.transfers.services.status import transfer_status
from app.values.amounts import parse_uint256
from app.values.errors import BadRequest
from app.values.wire_values import (
    MISSING,
    parse_accounts,
    parse_page_token,
    parse_transfer_id,
    required,
    token_symbol,
    user_address,
)

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
_WITHDRAWAL_RULES: Final[Rules] = {
    "src_withdraws": _withdrawals,
    "token_symbol": required(token_symbol),
    "usr_addr": lambda text: user_address(text) or None,
}
_BOUND_RULES: Final[Rules] = {"token_addr": required(user_address)}


def withdraw_liquidity(call: Call) -> Message:
    """Pay this transfer back."""
    asked = read_question(pb.WithdrawLiquidityRequest, call.message, _ASK_RULES)
    number = request_refund(
        current(Database),
        current(SnapshotSource),
        current(RefundRequestLimit),
        asked["withdraw_req"],
        call.caller,
    )
    return pb.WithdrawLiquidityResponse(seq_num=number)


def estimate_withdraw_amt(call: Call) -> Message:
    """What would these withdrawals bring?"""
    asked = read_question(pb.EstimateWithdrawAmtRequest, call.message, _WITHDRAWAL_RULES)
    estimates = estimate_withdrawals(
        current(Database),
        current(SnapshotSource),
        current(EstimateCounts),
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
    bound = token_bound(current(Database), current(SnapshotSource), asked["chain_id"], asked["token_addr"])
    return pb.GetTokenBoundResponse(value="" if bound is None else str(bound))


def withdrawal_methods() -> dict[str, Method]:
    """The methods by name."""
    return {
        "WithdrawLiquidity": Method(withdraw_liquidity, pb.WithdrawLiquidityResponse),
        "EstimateWithdrawAmt": Method(estimate_withdraw_amt, pb.EstimateWithdrawAmtResponse),
        "GetTokenBound": Method(get_token_bound, pb.GetTokenBoundResponse),
    }


_ESTIMATE_RULES: Final[Rules] = {
    "token_symbol": required(token_symbol),
    "amt": required(parse_uint256),
    "usr_addr": lambda text: user_address(text) or None,
    "is_pegged": lambda flag: flag or None,  # false counts as left out (docs/interface.md#grpc-fields)
}
_STATUS_RULES: Final[Rules] = {"transfer_id": parse_transfer_id}
_HISTORY_RULES: Final[Rules] = {"next_page_token": parse_page_token}


def estimate_amt(call: Call) -> Message:
    """What would this transfer bring?"""
    asked = read_question(pb.EstimateAmtRequest, call.message, _ESTIMATE_RULES)
    usr_addr = asked.pop("usr_addr")
    return estimate_answer(
        estimate_transfer(
            current(Database),
            current(SnapshotSource),
            current(EstimateCounts),
            EstimateRequest(**asked),
            usr_addr,
            call.caller,
        )
    )


def get_transfer_status(call: Call) -> Message:
    """Where is this transfer?"""
    asked = read_question(pb.GetTransferStatusRequest, call.message, _STATUS_RULES)
    status = transfer_status(current(Database), current(SnapshotSource), asked["transfer_id"])
    call.headers.extend(progress_headers(status))
    return status_answer(status)


def get_latest_7_day_transfer_latency(call: Call) -> Message:
    """How long do transfers between these chains take?"""
    asked = read_question(pb.GetLatest7DayTransferLatencyForQueryRequest, call.message, {})
    return latency_answer(
        median_latency(
            current(Database), current(SnapshotSource), asked["src_chain_id"], asked["dst_chain_id"]
        )
    )


def transfer_history_page(call: Call) -> Message:
    """What did these accounts send and receive?"""
    asked = read_question(pb.TransferHistoryRequest, call.message, _HISTORY_RULES)
    try:
        accounts = parse_accounts(asked["acct_addr"], asked["addr"])
    except ValueError as fault:
        raise BadRequest.naming({"acct_addr": str(fault)}) from None
    page = transfer_history(
        current(Database), current(SnapshotSource), accounts, asked["next_page_token"], asked["page_size"]
    )
    return history_answer(page)


class _Configs:
    """What can be transferred where? The message is made again when the network changes."""

    def __init__(self) -> None:
        self._made: tuple[TransferConfigs, Message] | None = None

    def __call__(self, call: Call) -> Message:
        """The message of the configs as they are now."""
        read_question(pb.GetTransferConfigsRequest, call.message, {})
        configs = transfer_configs(current(SnapshotSource))
        made = self._made
        if made is None or made[0] is not configs:
            made = self._made = (configs, configs_answer(configs))
        return made[1]


def methods() -> dict[str, Method]:
    """The methods that are answered, by name; any other is unimplemented."""
    configs = Method(_Configs(), pb.GetTransferConfigsResponse)
    return {
        "EstimateAmt": Method(estimate_amt, pb.EstimateAmtResponse),
        "GetTransferStatus": Method(get_transfer_status, pb.GetTransferStatusResponse),
        "GetLatest7DayTransferLatencyForQuery": Method(
            get_latest_7_day_transfer_latency, pb.GetLatest7DayTransferLatencyForQueryResponse
        ),
        "TransferHistory": Method(transfer_history_page, pb.TransferHistoryResponse),
        "GetTransferConfigs": configs,
        "GetTransferConfigsForAll": configs,
        **withdrawal_methods(),
    }
