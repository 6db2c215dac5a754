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
            "Base64 of the protobuf message `WithdrawReq {xfer_id=1: string, withdraws=2, exit_chain_id=3, "
            "req_id=4: uint64, withdraw_type=5: enum}`: `xfer_id` is the transfer's id, 32 bytes in hex, "
            "with or without 0x; `withdraw_type` is 1, a refund; other types are refused. The pattern is "
            "that of the plain message with `xfer_id`, `req_id` and `withdraw_type` only; a message with "
            "more fields, with 0x or without padding is accepted as well.",
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
        metadata=describe("The request's `req_id`, a decimal string.", "1700000000", pattern="^[0-9]{1,20}$"),
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
            "0x hex for bytes and addresses, decimal strings for numbers; a list where the type is one.",
            oneOf=[{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
        )
    )


class ContractCall(Shape):
    function = fields.String(metadata=describe("Name of the function.", "withdraw"))
    signature = fields.String(
        metadata=describe("Name and argument types.", "withdraw(bytes,bytes[],address[],uint256[])")
    )
    arguments = fields.List(
        fields.Nested(CallArgument),
        metadata=describe("In the order of the call; empty while `valid` is false."),
    )
    data = fields.String(
        allow_none=True,
        metadata=describe(
            "Data of the transaction: the call and its arguments, ABI-encoded, with no more signatures than "
            "the quorum needs; null while `valid` is false."
        ),
    )


class Domain(Shape):
    text = fields.String(metadata=describe("Name of the kind of request.", "WithdrawMsg"))
    separator = fields.String(
        metadata=describe("keccak256 of the uint256 chain id, the contract's 20 bytes and the text.")
    )


class SignerRow(Shape):
    address = fields.String(
        metadata=describe("Address of the validator.", "0x69f71D5B8Ea22571d4dBe2713c31a7B3dCa4D234")
    )
    power = AmountString(metadata=describe("Voting power.", "127533463000000000000000000"))
    signed = fields.Boolean(metadata=describe("Whether a valid signature over the request is known.", True))
    signature = fields.String(allow_none=True, metadata=describe("The signature, 0x hex; null without one."))


class OtherRequest(Shape):
    wd_onchain = fields.String(metadata=describe("The request, base64."))
    digest = fields.String(allow_none=True, metadata=describe("Digest that validators sign."))
    power_signed = AmountString(metadata=describe("Power of the validators that signed it.", "0"))
    reached = fields.Boolean(metadata=describe("Whether that power is a quorum.", False))
    contradictions = fields.List(fields.String(), metadata=describe("How it contradicts the transfer.", []))


class OwnReason(Shape):
    reason = fields.String(
        metadata=describe(
            "Name of the reason.",
            "paused",
            enum=sorted({each.reason for kind in SendKind for each in own_reasons(kind)}),
        )
    )
    words = fields.String(metadata=describe("Explanation for people."))


class DelayedFunds(Shape):
    funds = fields.String(
        metadata=describe("What the funds are for.", "refund", enum=[each.value for each in Funds])
    )
    delayed_id = fields.String(
        allow_none=True, metadata=describe("Id in the contract's delay queue; null if it was not reported.")
    )
    chain_id = fields.Integer(
        allow_none=True,
        metadata=describe(
            "Chain of the delay queue: the source chain for a refund, the destination chain for a payout.", 1
        ),
    )
    contract = fields.String(
        allow_none=True, metadata=describe("Contract of the delay queue; null if more than one is possible.")
    )
    tx_hash = fields.String(allow_none=True, metadata=describe("Transaction that queued the funds."))
    tx_link = fields.String(
        metadata=describe("Link to that transaction in an explorer; empty while unknown.")
    )
    call = fields.Nested(
        ContractCall,
        allow_none=True,
        metadata=describe("Call that pays the funds after the delay; anyone may send it."),
    )


class EvidenceAnswer(Answer):
    valid = fields.Boolean(
        dump_default=False,
        metadata=describe(
            "Whether the refund can be claimed from the contract now: exactly while status is 8.", True
        ),
    )
    proven = fields.Boolean(
        dump_default=False,
        metadata=describe("Whether exactly one request is signed by a quorum, paid out or not.", True),
    )
    status = fields.Integer(
        dump_default=0,
        metadata=describe("TransferHistoryStatus of the transfer.", 8) | enumerated(TransferHistoryStatus),
    )
    transfer_id = fields.String(**_NULLABLE, metadata=describe("The transfer, lower case with 0x."))
    kind = fields.String(
        **_NULLABLE,
        metadata=describe(
            "Kind of the send, which decides which contract refunds it; null while unknown.",
            "pool",
            enum=[*(kind.value for kind in SendKind), None],
        ),
    )
    chain_id = fields.Integer(
        **_NULLABLE, metadata=describe("The source chain, where the refund is paid.", 1)
    )
    contract = fields.String(
        **_NULLABLE, metadata=describe("The contract to call.", "0x5427FEFA711Eff984124bFBB1AB6fbf5E3DA1820")
    )
    contract_role = fields.String(**_NULLABLE, metadata=describe("Role of the contract.", "pool bridge"))
    call = fields.Nested(ContractCall, **_NULLABLE, metadata=describe("The call to send to it."))
    transaction = fields.Nested(
        Transaction,
        **_NULLABLE,
        metadata=describe(
            "The transaction of this call, ready for the wallet of any account; null while `valid` is false."
        ),
    )
    domain = fields.Nested(Domain, **_NULLABLE, metadata=describe("What the signatures are bound to."))
    digest = fields.String(
        **_NULLABLE,
        metadata=describe("What validators sign: EIP-191 over keccak256 of the separator and the request."),
    )
    wd_onchain = fields.String(
        **_NULLABLE,
        metadata=describe("The request, base64: the valid one, else the one with the most power."),
    )
    request = fields.Dict(
        keys=fields.String(),
        values=fields.String(),
        **_NULLABLE,
        metadata=describe("Fields of the request by name, as text.", {"chainid": "1", "seqnum": "77"}),
    )
    withdraw_id = fields.String(
        **_NULLABLE, metadata=describe("Id of the withdrawal in the pool bridge; pool refunds only.")
    )
    contradictions = fields.List(
        fields.String(),
        **_LIST,
        metadata=describe("How the request contradicts the transfer, for people.", []),
    )
    signers = fields.List(
        fields.Nested(SignerRow),
        **_LIST,
        metadata=describe("The source chain's whole current validator set, in the contract's order."),
    )
    power_signed = AmountString(
        dump_default="", metadata=describe("Power of the validators that signed.", "90")
    )
    power_total = AmountString(**_NULLABLE, metadata=describe("Power of all validators.", "100"))
    quorum = AmountString(**_NULLABLE, metadata=describe("Minimum power that the contract accepts.", "67"))
    validator_set_version = fields.Integer(
        **_NULLABLE, metadata=describe("How many times the set was replaced since it was configured.", 3)
    )
    validator_set_hash = fields.String(
        **_NULLABLE, metadata=describe("Hash of the set: what the contract's `ssHash()` must return.")
    )
    missing = fields.List(
        fields.String(),
        **_LIST,
        metadata=describe("What is missing before the refund is paid, for people.", []),
    )
    not_signed = fields.List(
        fields.String(), **_LIST, metadata=describe("Validators whose signature is not known.", [])
    )
    may_refuse = fields.List(
        fields.Nested(OwnReason),
        **_LIST,
        metadata=describe(
            "Reasons of its own state for which the contract may still reject the call: simulate it first. "
            "Empty while `valid` is false."
        ),
    )
    delayed = fields.Nested(
        DelayedFunds,
        **_NULLABLE,
        metadata=describe("Funds in a delay queue, at status 9 and 11; null if there are none."),
    )
    notes = fields.List(fields.String(), **_LIST, metadata=describe("Further notes for people.", []))
    other_requests = fields.List(
        fields.Nested(OtherRequest), **_LIST, metadata=describe("Other requests known for the transfer.")
    )
