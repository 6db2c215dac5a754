"""The methods of the service, with what is special to messages. The table of operations has the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from msgspec import Struct

from app.api.operations import OPERATIONS
from app.estimates.services import Withdrawal
from app.grpcweb import gateway_pb2 as pb
from app.grpcweb.messages import (
    Method,
    Rules,
    by_rules,
    by_schema,
    configs_answer,
    estimate_answer,
    history_answer,
    latency_answer,
    send_answer,
    status_answer,
    token_info_answer,
    withdraw_estimate,
)
from app.http.requests import Operation
from app.network.snapshot import TransferConfigs
from app.transfers.rules.refunds.request_message import read_withdraw_request
from app.values.amounts import parse_uint256
from app.values.wire_values import MISSING, required, token_symbol, user_address

MAX_WITHDRAWALS: Final = 32  # source chains of one request: each can cost a read


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


class _LastConfigs:
    """The message of the configs, made again when the network changes."""

    def __init__(self) -> None:
        self._made: tuple[TransferConfigs, Message] | None = None

    def __call__(self, configs: TransferConfigs) -> Message:
        made = self._made
        if made is None or made[0] is not configs:
            made = self._made = (configs, configs_answer(configs))
        return made[1]


class _InMessages(Struct, frozen=True):
    """What an operation reads from a message, and how it answers with one, where that differs from HTTP."""

    write: Callable[[Any], Message]
    rules: Rules | None = None


def _in_messages() -> dict[str, _InMessages]:
    """By name, for every operation that is served."""
    configs = _InMessages(_LastConfigs(), {})
    return {
        "estimateAmt": _InMessages(estimate_answer),
        "getSendTransaction": _InMessages(send_answer),
        "getTransferStatus": _InMessages(status_answer),
        "getLatest7DayTransferLatencyForQuery": _InMessages(latency_answer),
        "transferHistory": _InMessages(history_answer),
        "getTransferConfigs": configs,
        "getTransferConfigsForAll": configs,
        "getTokenInfo": _InMessages(token_info_answer),
        "withdrawLiquidity": _InMessages(
            lambda number: pb.WithdrawLiquidityResponse(seq_num=number),
            {"withdraw_req": read_withdraw_request},
        ),
        "estimateWithdrawAmt": _InMessages(
            lambda estimates: pb.EstimateWithdrawAmtResponse(
                req_amt={chain_id: withdraw_estimate(each) for chain_id, each in estimates.items()}
            ),
            {
                "src_withdraws": _withdrawals,
                "token_symbol": required(token_symbol),
                "usr_addr": lambda text: user_address(text) or None,
            },
        ),
        "getTokenBound": _InMessages(
            lambda bound: pb.GetTokenBoundResponse(value="" if bound is None else str(bound)),
            {"token_addr": required(user_address)},
        ),
    }


def methods() -> dict[str, Method]:
    """The methods by name; any other name is unimplemented."""
    messages = _in_messages()
    served = {each.name[0].upper() + each.name[1:]: each for each in OPERATIONS if each.name in messages}
    return {name: _method(name, each, messages[each.name]) for name, each in served.items()}


def _method(name: str, operation: Operation, messages: _InMessages) -> Method:
    described = pb.DESCRIPTOR.services_by_name["Web"].methods_by_name[name]
    assert operation.call is not None  # noqa: S101  those with only a view serve only HTTP
    return Method(
        GetMessageClass(described.input_type),
        GetMessageClass(described.output_type),
        by_schema(operation) if messages.rules is None else by_rules(messages.rules),
        operation.call,
        messages.write,
        operation.headers,
    )
