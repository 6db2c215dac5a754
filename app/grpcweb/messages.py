"""Reads request messages strictly, and writes answers as messages (docs/grpc-web.md#grpc-fields)."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.json_format import ParseDict
from google.protobuf.message import DecodeError, Message
from msgspec import Struct, structs

from app.estimates.rules.checks import Estimate
from app.estimates.rules.sending import SendQuote
from app.grpcweb.gateway_pb2 import (
    Approval,
    Chain,
    EstimateAmtResponse,
    GetLatest7DayTransferLatencyForQueryResponse,
    GetSendTransactionResponse,
    GetTokenInfoResponse,
    GetTransferConfigsResponse,
    GetTransferStatusResponse,
    Token,
    TransferHistory,
    TransferHistoryResponse,
    WithdrawEstimate,
)
from app.grpcweb.gateway_pb2 import Transaction as TransactionMessage
from app.http.requests import Operation, values_and_faults
from app.network.snapshot import TransferConfigs
from app.transfers.services.lookups import HistoryPage, Leg, ListedTransfer
from app.transfers.services.status import TransferStatus
from app.values.amounts import is_ascii_digits, rate_as_number
from app.values.codes import ErrCode
from app.values.contract_calls import Transaction
from app.values.errors import BadRequest
from app.values.wire_values import bounded_uint

Rules = Mapping[str, Callable[[Any], Any]]
"""For fields with a rule beyond their type: a function that reads the value or raises ValueError."""

Read = Callable[[dict[str, Any]], tuple[dict[str, Any], dict[str, str]]]
"""From the values of a message's fields to the request, and to the fault of each of them."""


class Method(Struct, frozen=True):
    """How a method reads a request, what it does, and how it answers.

    :param call: executes it.
    :param write: makes the message of its result.
    :param headers: the names and values of the answer's headers.
    """

    question: type[Message]
    answer: type[Message]
    read: Read
    call: Callable[[dict[str, Any]], Any]
    write: Callable[[Any], Message]
    headers: Callable[[Any], list[tuple[str, str]]] | None = None

    def error(self, code: ErrCode, msg: str) -> Message:
        """The answer that is an error: ``err``, and every other field zero."""
        return self.answer(err={"code": code, "msg": msg})


_BITS: Final = {FieldDescriptor.TYPE_UINT32: 32, FieldDescriptor.TYPE_UINT64: 64}
_VARINT, _EIGHT_BYTES, _LENGTH, _GROUP, _END_OF_GROUP = range(5)


def by_rules(rules: Rules) -> Read:
    def read(values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        requested: dict[str, Any] = {}
        faults: dict[str, str] = {}
        for name, value in values.items():
            try:
                requested[name] = rules[name](value) if name in rules else value
            except ValueError as fault:
                faults[name] = str(fault)
        return requested, faults

    return read


def by_schema(operation: Operation) -> Read:
    """By the operation's schema, as over HTTP. All but numbers count as left out if they are zero
    (docs/grpc-web.md#grpc-fields).
    """
    schema = operation.question(compat_clients=False)

    def read(values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        given = {name: value for name, value in values.items() if value or type(value) is int}
        return values_and_faults(schema, given)

    return read


def read_question(kind: type[Message], raw: bytes, read: Read) -> dict[str, Any]:
    """The request in a message, as ``read`` reads the value of every field: zero where the field is missing.

    :raises BadRequest: the bytes are no such message, or fields are malformed: then it names each of them.
    """
    try:
        message = kind.FromString(raw)
    except DecodeError:
        raise BadRequest(f"body: must be a message {kind.DESCRIPTOR.name}") from None
    values = {each.name: getattr(message, each.name) for each in kind.DESCRIPTOR.fields}
    lists = {each.name: list(values[each.name]) for each in kind.DESCRIPTOR.fields if each.is_repeated}
    requested, faults = read(values | lists)
    faults = dict(_oversized(kind.DESCRIPTOR, raw)) | faults
    if faults:
        raise BadRequest.naming({name: faults[name] for name in values if name in faults})
    return requested


def _oversized(kind: Any, raw: bytes) -> Iterator[tuple[str, str]]:
    """Integers that do not fit their field's type: the fault by field name.

    Protobuf itself drops the upper bits: chain 4294967297 would be read as chain 1
    (docs/interface/answers.md#integers). Within a nested message the name is that of the outer field.
    """
    for number, value in _values(raw):
        field = kind.fields_by_number.get(number)
        if field is None:
            continue
        if isinstance(value, bytes):
            if field.message_type is not None:
                yield from (
                    (field.name, f"{name} {fault}") for name, fault in _oversized(field.message_type, value)
                )
        elif field.type in _BITS:
            try:
                bounded_uint(value, _BITS[field.type])
            except ValueError as fault:
                yield field.name, str(fault)


def _values(raw: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Field number and value of each variable-length integer of the outer message, and of each field with a
    length.

    :param raw: a message that protobuf has read without an error, so its lengths are valid.
    """
    at = depth = 0
    while at < len(raw):
        tag, at = _varint(raw, at)
        kind = tag & 7
        if kind == _VARINT:
            value, at = _varint(raw, at)
            if not depth:
                yield tag >> 3, value
        elif kind == _LENGTH:
            length, at = _varint(raw, at)
            if not depth:
                yield tag >> 3, raw[at : at + length]
            at += length
        elif kind in (_GROUP, _END_OF_GROUP):
            depth += 1 if kind == _GROUP else -1
        else:
            at += 8 if kind == _EIGHT_BYTES else 4


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    """The integer at an offset, in groups of seven bits with the lowest first, and the offset after it."""
    value = shift = 0
    while True:
        byte = raw[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


_ESTIMATE_FIELDS: Final = frozenset(EstimateAmtResponse.DESCRIPTOR.fields_by_name) - {"err"}

MAX_FLOAT: Final = (2 - 2**-23) * 2.0**127
"""The largest ``float`` of protobuf. A larger rate is sent as this one, not as infinity."""


def estimate_answer(estimate: Estimate) -> EstimateAmtResponse:
    """Amounts are decimal strings."""
    return EstimateAmtResponse(
        eq_value_token_amt=str(estimate.eq_value_token_amt),
        bridge_rate=min(rate_as_number(estimate.bridge_rate), MAX_FLOAT),
        perc_fee=str(estimate.perc_fee),
        slippage_tolerance=estimate.slippage_tolerance,
        max_slippage=estimate.max_slippage,
        base_fee=str(estimate.base_fee),
        estimated_receive_amt=str(estimate.estimated_receive_amt),
        drop_gas_amt=str(estimate.drop_gas_amt),
    )


def send_answer(quote: SendQuote) -> GetSendTransactionResponse:
    whole, approval = estimate_answer(quote.estimate), quote.approval
    return GetSendTransactionResponse(
        **{name: getattr(whole, name) for name in _ESTIMATE_FIELDS},
        transaction=_transaction(quote.transaction),
        approval=None
        if approval is None
        else Approval(
            token=approval.token,
            spender=approval.spender,
            amount=str(approval.amount),
            transaction=_transaction(approval.transaction),
        ),
        transfer_id=quote.transfer_id_text,
        valid_until=quote.valid_until_text,
    )


def _transaction(transaction: Transaction) -> TransactionMessage:
    return TransactionMessage(**structs.asdict(transaction))


def withdraw_estimate(estimate: Estimate) -> WithdrawEstimate:
    """The estimate of a withdrawal from one chain."""
    whole = estimate_answer(estimate)
    return WithdrawEstimate(
        **{name: getattr(whole, name) for name in WithdrawEstimate.DESCRIPTOR.fields_by_name}
    )


_STATUS_FIELDS: Final = frozenset(GetTransferStatusResponse.DESCRIPTOR.fields_by_name) - {"err"}


def status_answer(status: TransferStatus) -> GetTransferStatusResponse:
    """The status, its evidence as the bytes behind the base64."""
    values: dict[str, Any] = {name: getattr(status, name) for name in _STATUS_FIELDS}
    values["wd_onchain"] = b64decode(status.wd_onchain or "")
    for name in ("sorted_sigs", "signers", "powers"):
        values[name] = [b64decode(text) for text in values[name]]
    return GetTransferStatusResponse(**values)


def history_answer(page: HistoryPage) -> TransferHistoryResponse:
    """The messages have no accounts."""
    return TransferHistoryResponse(
        history=[_listed(transfer) for transfer in page.transfers],
        next_page_token=page.next_page_token,
        current_size=len(page.transfers),
    )


def _listed(transfer: ListedTransfer) -> TransferHistory:
    status = transfer.status
    values: dict[str, Any] = {
        "transfer_id": "0x" + transfer.transfer_id.hex(),
        "src_send_info": _leg(transfer.sent),
        "dst_received_info": _leg(transfer.received),
        "ts": transfer.began_ms,
        "src_block_tx_link": status.src_block_tx_link,
        "dst_block_tx_link": status.dst_block_tx_link,
        "status": status.status,
        "refund_reason": status.refund_reason,
        "update_ts": transfer.updated_ms,
        "bridge_type": status.bridge_type,
    }
    return TransferHistory(**values)


_CHAIN_FIELDS: Final = tuple(field.name for field in Chain.DESCRIPTOR.fields)
_TOKEN_FIELDS: Final = tuple(field.name for field in Token.DESCRIPTOR.fields)


def _chain(chain: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a chain that the message has. Two of its numbers may be configured as anything: then they
    are 0 where that is no such number. Only ``extra`` of a chain can have a base fee.
    """
    fee = chain.get("suggested_base_fee")
    return {name: chain[name] for name in _CHAIN_FIELDS if name in chain} | {
        "suggested_gas_cost": _uint64(chain["suggested_gas_cost"]),
        "suggested_base_fee": fee if type(fee) in (int, float) else 0,
    }


def _uint64(text: str) -> int:
    number = int(text) if is_ascii_digits(text) and len(text) <= len(str(2**64)) else 0
    return number if number < 2**64 else 0


def _leg(leg: Leg) -> dict[str, Any]:
    """The fields of chain and token that the messages have: the configs have more."""
    return {
        "chain": _chain(leg.chain),
        "token": {name: leg.token[name] for name in _TOKEN_FIELDS},
        "amount": str(leg.amount),
    }


def latency_answer(seconds: float) -> GetLatest7DayTransferLatencyForQueryResponse:
    return GetLatest7DayTransferLatencyForQueryResponse(median_transfer_latency_in_second=seconds)


def configs_answer(configs: TransferConfigs) -> GetTransferConfigsResponse:
    """The transfer configs as a message. This takes milliseconds, other messages microseconds."""
    answer = {**configs.answer, "chains": [_chain(chain) for chain in configs.answer["chains"]]}
    return ParseDict(answer, GetTransferConfigsResponse(), ignore_unknown_fields=True)


def token_info_answer(info: Mapping[str, Any]) -> GetTokenInfoResponse:
    return ParseDict({"token_info": info}, GetTokenInfoResponse(), ignore_unknown_fields=True)
