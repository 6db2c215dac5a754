"""The public shapes of a requested refund, and of a refund's evidence.

Tools that generate requests from the document cannot generate a protobuf message, and random texts are
refused. So the document has a pattern for the message with only the fields that are read: ``xfer_id`` in
64 hex digits, ``req_id`` (a time in seconds, 5 bytes as a varint) or none, ``withdraw_type`` 1. Every text
of this form is accepted; so is any other encoding of the message
(``app.transfers.rules.refunds.request_message``).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from marshmallow import ValidationError, fields

from app.http.schemas import AmountString, Answer, Question, Shape, Transaction, describe, enumerated
from app.refunds.rules.call import Funds
from app.refunds.rules.explanation import own_reasons
from app.transfers.rules.refunds.request_message import INSTEAD, decode_base64, read_withdraw_request
from app.transfers.schemas.status_answers import StatusBody
from app.values.codes import SendKind, TransferHistoryStatus
from app.values.wire_values import MISSING

_MISSING: Final = f"{MISSING}: {INSTEAD}"


class WithdrawRequestText(fields.String):
    """A withdraw request: base64 of its message in JSON, a ``WithdrawRequest`` in Python."""

    default_error_messages = {"required": _MISSING, "null": _MISSING}

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        if not isinstance(value, str):
            raise ValidationError("must be a string")
        try:
            return read_withdraw_request(decode_base64(value))
        except ValueError as error:
            raise ValidationError(str(error)) from None


class Uint64Text(fields.String):
    """A number of 64 bits, written as a decimal string: JavaScript shows the largest inexactly."""


_ALPHABET: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_DIGITS: Final = b"0123456789"
_LETTERS: Final = b"ABCDEFabcdef"
_HEX_TRIPLES: Final = 21
"""Groups of base64 for the 63 digits after the tag, the length and the first digit."""


def _one_of(values: Iterable[int]) -> str:
    return "[" + "".join(_ALPHABET[value] for value in sorted(set(values))) + "]"


def _last(digits: bytes, before: Iterable[int]) -> str:
    """The end of a group of three bytes, the third a hex digit. ``before``: low halves of the second byte."""
    return _one_of(low << 2 | digits[0] >> 6 for low in before) + _one_of(each & 63 for each in digits)


def _ends(before: Iterable[int]) -> str:
    low = list(before)
    return f"(?:{_last(_DIGITS, low)}|{_last(_LETTERS, low)})"


def _starts(high: Iterable[int]) -> str:
    """The beginning of a group whose first byte is a hex digit. ``high``: high halves of the second byte."""
    halves = list(high)
    by_first: dict[int, set[int]] = {}
    for digit in _DIGITS + _LETTERS:
        by_first.setdefault(digit >> 2, set()).update((digit & 3) << 4 | half for half in halves)
    return "(?:" + "|".join(_ALPHABET[first] + _one_of(second) for first, second in by_first.items()) + ")"


def _hex_triple() -> str:
    kinds = (_starts({d >> 4 for d in kind}) + _ends({d & 15 for d in kind}) for kind in (_DIGITS, _LETTERS))
    return f"(?:{'|'.join(kinds)})"


def _req_id() -> str:
    """Tag 0x20 and a varint of five bytes, the first four with their upper bit set: two whole groups."""
    any_of_64 = range(64)
    continued = [value for value in any_of_64 if value & 8]
    return "".join(
        (
            "I",
            _one_of(range(8, 16)),
            _one_of(value for value in any_of_64 if value & 2),
            _one_of(any_of_64),
            _one_of(range(32, 64)),
            _one_of(continued),
            _one_of(value for value in any_of_64 if not value & 2),
            _one_of(any_of_64),
        )
    )


PLAIN_REQUEST: Final = f"^Ck{_ends([0])}(?:{_hex_triple()}){{{_HEX_TRIPLES}}}(?:{_req_id()})?KAE=$"
"""Base64 of tag 0x0a and length 64 begins with ``Ck``; of tag 0x28 and the type 1 it is ``KAE=``."""


class WithdrawBody(Question):
    """Body of a refund request, as clients of several services send it. The other fields are not read."""

    withdraw_req = WithdrawRequestText(
        required=True,
        metadata=describe(
            "Base64 of the protobuf message `WithdrawReq`: `xfer_id` (1) is the transfer's id, `req_id` (4) "
            "a number of yours, `withdraw_type` (5) is 1. Other encodings than the pattern's are accepted, "
            "too.",
            "CkA3N2Q3ZTIzMWIwODEyMDIxNzk2OWRlZDNmZjFlZDJiNDBjMDAyOGNhMWUyMzliMjI1ZjUzNWM1NzgwOGEyM2Y2"
            "IIDiz6oGKAE=",
            pattern=PLAIN_REQUEST,
        ),
    )
    estimated_received_amt = fields.Raw(allow_none=True, metadata=describe("Ignored."))
    method_type = fields.Raw(allow_none=True, metadata=describe("Ignored."))


class WithdrawAnswer(Answer):
    seq_num = Uint64Text(
        dump_default="0",
        metadata=describe("The request's `req_id`.", "1700000000", pattern="^[0-9]{1,20}$"),
    )


_NULLABLE: Final[dict[str, Any]] = {"allow_none": True, "dump_default": None}
_LIST: Final[dict[str, Any]] = {"dump_default": list}


class EvidenceQuery(StatusBody):
    """The transfer whose refund it is, named as for its status."""


class CallArgument(Shape):
    name = fields.String(metadata=describe("Name.", "wdmsg"))
    type = fields.String(metadata=describe("Solidity type.", "bytes"))
    value = fields.Raw(
        metadata=describe(
            "0x hex, decimal, or a list.",
            oneOf=[{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
        )
    )


class ContractCall(Shape):
    function = fields.String(metadata=describe("Function.", "withdraw"))
    signature = fields.String(
        metadata=describe("Name and types.", "withdraw(bytes,bytes[],address[],uint256[])")
    )
    arguments = fields.List(
        fields.Nested(CallArgument),
        metadata=describe("In the order of the call."),
    )
    data = fields.String(
        allow_none=True,
        metadata=describe("The call, ABI-encoded, with the fewest signatures that reach the quorum."),
    )


class Domain(Shape):
    text = fields.String(metadata=describe("Name of the request.", "WithdrawMsg"))
    separator = fields.String(metadata=describe("keccak256 of uint256 chain id, contract and text."))


class SignerRow(Shape):
    address = fields.String(metadata=describe("Address.", "0x69f71D5B8Ea22571d4dBe2713c31a7B3dCa4D234"))
    power = AmountString(metadata=describe("Power.", "127533463000000000000000000"))
    signed = fields.Boolean(metadata=describe("Whether its signature is known.", True))
    signature = fields.String(allow_none=True, metadata=describe("0x hex."))


class OtherRequest(Shape):
    wd_onchain = fields.String(metadata=describe("The request, base64."))
    digest = fields.String(allow_none=True, metadata=describe("What validators sign."))
    power_signed = AmountString(metadata=describe("Power that signed.", "0"))
    reached = fields.Boolean(metadata=describe("Whether that is a quorum.", False))
    contradictions = fields.List(
        fields.String(), metadata=describe("How the request contradicts the transfer.", [])
    )


class OwnReason(Shape):
    reason = fields.String(
        metadata=describe(
            "Reason.",
            "paused",
            enum=sorted({each.reason for kind in SendKind for each in own_reasons(kind)}),
        )
    )
    words = fields.String(metadata=describe("For people."))


class DelayedFunds(Shape):
    funds = fields.String(
        metadata=describe("`refund` or `payout`.", "refund", enum=[each.value for each in Funds])
    )
    delayed_id = fields.String(allow_none=True, metadata=describe("Id in the queue."))
    chain_id = fields.Integer(
        allow_none=True,
        metadata=describe("Chain of the queue.", 1),
    )
    contract = fields.String(allow_none=True, metadata=describe("Contract of the queue."))
    tx_hash = fields.String(allow_none=True, metadata=describe("Transaction that queued them."))
    tx_link = fields.String(metadata=describe("Link to an explorer, or empty."))
    call = fields.Nested(
        ContractCall,
        allow_none=True,
        metadata=describe("Pays them after the delay; anyone may send it."),
    )


class EvidenceAnswer(Answer):
    valid = fields.Boolean(
        dump_default=False,
        metadata=describe("Whether the contract owes this refund: only at 8.", True),
    )
    proven = fields.Boolean(
        dump_default=False,
        metadata=describe("Whether a quorum signed exactly one request, paid or not.", True),
    )
    status = fields.Integer(
        dump_default=0,
        metadata=describe("TransferHistoryStatus.", 8) | enumerated(TransferHistoryStatus),
    )
    transfer_id = fields.String(**_NULLABLE, metadata=describe("The transfer's id."))
    kind = fields.String(
        **_NULLABLE,
        metadata=describe(
            "`pool`, `deposit` or `burn`.",
            "pool",
            enum=[*(kind.value for kind in SendKind), None],
        ),
    )
    chain_id = fields.Integer(**_NULLABLE, metadata=describe("The source chain, which pays the refund.", 1))
    contract = fields.String(
        **_NULLABLE, metadata=describe("Contract to call.", "0x5427FEFA711Eff984124bFBB1AB6fbf5E3DA1820")
    )
    contract_role = fields.String(**_NULLABLE, metadata=describe("Its role.", "pool bridge"))
    call = fields.Nested(ContractCall, **_NULLABLE, metadata=describe("The call to it."))
    transaction = fields.Nested(
        Transaction,
        **_NULLABLE,
        metadata=describe("The call, for any wallet; null while `valid` is false."),
    )
    domain = fields.Nested(Domain, **_NULLABLE, metadata=describe("What signatures are bound to."))
    digest = fields.String(
        **_NULLABLE,
        metadata=describe("What validators sign."),
    )
    wd_onchain = fields.String(
        **_NULLABLE,
        metadata=describe("The valid request, or the one with the most power; base64."),
    )
    request = fields.Dict(
        keys=fields.String(),
        values=fields.String(),
        **_NULLABLE,
        metadata=describe("The request's fields, as text.", {"chainid": "1", "seqnum": "77"}),
    )
    withdraw_id = fields.String(**_NULLABLE, metadata=describe("Id of a pool withdraw."))
    contradictions = fields.List(
        fields.String(),
        **_LIST,
        metadata=describe("How the request contradicts the transfer.", []),
    )
    signers = fields.List(
        fields.Nested(SignerRow),
        **_LIST,
        metadata=describe("The whole validator set, in the contract's order."),
    )
    power_signed = AmountString(dump_default="", metadata=describe("Power that signed.", "90"))
    power_total = AmountString(**_NULLABLE, metadata=describe("Power of all.", "100"))
    quorum = AmountString(**_NULLABLE, metadata=describe("Least power that the contract accepts.", "67"))
    validator_set_version = fields.Integer(
        **_NULLABLE, metadata=describe("How often the set was replaced.", 3)
    )
    validator_set_hash = fields.String(
        **_NULLABLE, metadata=describe("What the contract's `ssHash()` must return.")
    )
    missing = fields.List(
        fields.String(),
        **_LIST,
        metadata=describe("What is missing, for people.", []),
    )
    not_signed = fields.List(fields.String(), **_LIST, metadata=describe("Who has not signed.", []))
    may_refuse = fields.List(
        fields.Nested(OwnReason),
        **_LIST,
        metadata=describe("Why the contract may still refuse: simulate the call."),
    )
    delayed = fields.Nested(
        DelayedFunds,
        **_NULLABLE,
        metadata=describe("Funds in a delay queue, at 9 and 11."),
    )
    notes = fields.List(fields.String(), **_LIST, metadata=describe("For people.", []))
    other_requests = fields.List(
        fields.Nested(OtherRequest), **_LIST, metadata=describe("Other requests for the transfer.")
    )
