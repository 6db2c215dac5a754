"""The methods of the service: what is particular to messages; what they do is in the table of operations."""

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
    configs_answer,
    estimate_answer,
    history_answer,
    latency_answer,
    status_answer,
    withdraw_estimate,
)
from app.http.operations import Operation
from app.network.snapshot import TransferConfigs
from app.refunds.user_request import read_withdraw_request
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


def _with_accounts(asked: dict[str, Any]) -> dict[str, Any]:
    """The question with the accounts of both fields together."""
    try:
        return asked | {"accounts": parse_accounts(asked["acct_addr"], asked["addr"])}
    except ValueError as fault:
        raise BadRequest.naming({"acct_addr": str(fault)}) from None


class _LastConfigs:
    """The message of the configs, made again when the network changes."""

    def __init__(self) -> None:
        self._made: tuple[TransferConfigs, Message] | None = None

    def __call__(self, configs: TransferConfigs) -> Message:
        """The message of the configs as they are now."""
        made = self._made
        if made is None or made[0] is not configs:
            made = self._made = (configs, configs_answer(configs))
        return made[1]


class _InMessages(Struct, frozen=True):
    """The messages of an operation: see ``Method``. ``complete`` reads what is in more than one field."""

    write: Callable[[Any], Message]
    rules: Rules = {}
    complete: Callable[[dict[str, Any]], dict[str, Any]] = dict


def _user(text: str) -> str | None:
    return user_address(text) or None


_ESTIMATE_RULES: Final[Rules] = {
    "token_symbol": required(token_symbol),
    "amt": required(parse_uint256),
    "usr_addr": _user,
    "is_pegged": lambda flag: flag or None,  # false counts as left out (docs/interface.md#grpc-fields)
}
_WITHDRAWAL_RULES: Final[Rules] = {
    "src_withdraws": _withdrawals,
    "token_symbol": required(token_symbol),
    "usr_addr": _user,
}


def _in_messages() -> dict[str, _InMessages]:
    """Of every operation that is served, by its name."""
    configs = _InMessages(_LastConfigs())
    return {
        "estimateAmt": _InMessages(estimate_answer, _ESTIMATE_RULES),
        "getTransferStatus": _InMessages(status_answer, {"transfer_id": parse_transfer_id}),
        "getLatest7DayTransferLatencyForQuery": _InMessages(latency_answer),
        "transferHistory": _InMessages(history_answer, {"next_page_token": parse_page_token}, _with_accounts),
        "getTransferConfigs": configs,
        "getTransferConfigsForAll": configs,
        "withdrawLiquidity": _InMessages(
            lambda number: pb.WithdrawLiquidityResponse(seq_num=number),
            {"withdraw_req": read_withdraw_request},
        ),
        "estimateWithdrawAmt": _InMessages(
            lambda estimates: pb.EstimateWithdrawAmtResponse(
                req_amt={chain_id: withdraw_estimate(each) for chain_id, each in estimates.items()}
            ),
            _WITHDRAWAL_RULES,
        ),
        "getTokenBound": _InMessages(
            lambda bound: pb.GetTokenBoundResponse(value="" if bound is None else str(bound)),
            {"token_addr": required(user_address)},
        ),
    }


def methods() -> dict[str, Method]:
    """The methods that are answered, by name; any other is unimplemented."""
    messages = _in_messages()
    served = {each.name[0].upper() + each.name[1:]: each for each in OPERATIONS if each.name in messages}
    return {name: _method(name, each, messages[each.name]) for name, each in served.items()}


def _method(name: str, operation: Operation, messages: _InMessages) -> Method:
    described = pb.DESCRIPTOR.services_by_name["Web"].methods_by_name[name]
    call, complete = operation.call, messages.complete
    assert call is not None  # noqa: S101  a view alone serves HTTP alone
    return Method(
        GetMessageClass(described.input_type),
        GetMessageClass(described.output_type),
        messages.rules,
        lambda asked: call(complete(asked)),
        messages.write,
        operation.headers,
    )
