"""The parts of the schemas of public requests and answers: fields, bases, and their documentation.

``dump_default`` is a field's zero value. An error is the schema dumped with only ``err``, so it has every
field (docs/interface/answers.md#json-envelope).

Values of a query or a form are text; a JSON body may also write an integer as a number and a flag as true or
false. Python's ``int`` accepts signs, spaces, underscores and the digits of every script as well; requests
may use none of them (docs/interface/answers.md#integers).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Any, Final

from marshmallow import EXCLUDE, Schema, ValidationError, fields

from app.values.amounts import is_ascii_digits, parse_uint256, rate_as_number
from app.values.codes import ErrCode
from app.values.wire_values import (
    MISSING,
    bounded_text,
    bounded_uint,
    parse_page_token,
    parse_transfer_id,
    parse_tx_hash,
    watched_account,
)

TRANSFER_ID_PATTERN: Final = "^(0[xX])?[0-9a-fA-F]{64}$"
TX_HASH_PATTERN: Final = "^[0-9A-Za-z_-]{1,128}$"

MAX_INT64: Final = 2**63 - 1
"""The largest bound in the OpenAPI document. Up to 2^64-1 is read: many languages have no such type."""

_MAX_DIGITS: Final = 78
_TOO_LARGE: Final = 1 << 64
_WITHOUT_NUL: Final = r"^[^\u0000]*$"
_FLAGS: Final = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
_MESSAGES: Final[dict[str, str | list[Any] | dict[Any, Any]]] = {
    "required": MISSING,
    "null": MISSING,
}


class Uint(fields.Integer):
    """An unsigned integer of 32 or 64 bits: ASCII digits, or a JSON integer
    (docs/interface/answers.md#integers).
    """

    default_error_messages = _MESSAGES

    def __init__(self, bits: int, *, metadata: dict[str, Any] | None = None, **kwargs: Any) -> None:
        self.bits = bits
        bounds = {"minimum": 0, "maximum": min(2**bits - 1, MAX_INT64)}
        super().__init__(metadata=bounds | (metadata or {}), **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> int:
        number = _whole_number(value)
        if number is None:
            raise ValidationError("must be a whole number in the digits 0 to 9")
        try:
            return bounded_uint(number, self.bits)
        except ValueError as error:
            raise ValidationError(str(error)) from None


def _whole_number(value: Any) -> int | None:
    """The number in a text or a JSON number, of any size; None where it is none of 0, 1, 2, …

    In JSON 3000.0 is the integer 3000: some writers have only one type of numbers.
    """
    if isinstance(value, str):
        if not is_ascii_digits(value):
            return None
        # int() raises for thousands of digits; longer texts count as too large without being converted.
        return int(value) if len(value) <= _MAX_DIGITS else _TOO_LARGE
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0 or value != int(value):
        return None
    return int(value)


class AmountString(fields.String):
    """An amount in smallest units: a decimal string in JSON, an ``int`` in Python."""

    default_error_messages = _MESSAGES

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        if not isinstance(value, str):  # readers of JSON store few digits of a number
            raise ValidationError("must be a string of digits")
        try:
            return parse_uint256(value)
        except ValueError as error:
            raise ValidationError(str(error)) from None


class BoundedText(fields.String):
    """Any text without NUL, up to a number of characters."""

    default_error_messages = _MESSAGES

    def __init__(self, longest: int, *, metadata: dict[str, Any] | None = None, **kwargs: Any) -> None:
        self.longest = longest
        shortest = {"minLength": 1} if kwargs.get("required") else {}  # an empty one counts as missing
        limits = shortest | {"maxLength": longest, "pattern": _WITHOUT_NUL}
        super().__init__(metadata=limits | (metadata or {}), **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        if not isinstance(value, str):
            raise ValidationError("must be a string")
        try:
            return bounded_text(value, self.longest)
        except ValueError as error:
            raise ValidationError(str(error)) from None


class WatchedAccount(fields.String):
    """An account whose transfers are followed, as ``wire_values.watched_account`` reads it
    (docs/webhooks.md#accounts).
    """

    default_error_messages = _MESSAGES

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        if not isinstance(value, str):
            raise ValidationError("must be a string")
        try:
            return watched_account(value)
        except ValueError as error:
            raise ValidationError(str(error)) from None


class Flag(fields.Boolean):
    """true, false, 1, 0, t or f in any case, or JSON's true or false (docs/interface/answers.md#booleans)."""

    default_error_messages = _MESSAGES

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> bool:
        if isinstance(value, bool):
            return value
        flag = _FLAGS.get(value.lower()) if isinstance(value, str) else None
        if flag is None:
            raise ValidationError("must be true or false")
        return flag


class TransferIdHex(fields.String):
    """A transfer id: hex in JSON (docs/interface/answers.md#transfer-id), ``bytes`` in Python."""

    default_error_messages = _MESSAGES

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        try:
            return parse_transfer_id(value)
        except ValueError as error:
            raise ValidationError(str(error)) from None


class TxHash(fields.String):
    """A transaction's hash, as ``wire_values.parse_tx_hash`` reads it
    (docs/api/getTransferStatus.md#by-transaction).
    """

    default_error_messages = _MESSAGES

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        try:
            return parse_tx_hash(value)
        except ValueError as error:
            raise ValidationError(str(error)) from None


class PageToken(fields.String):
    """A ``next_page_token``: a time in milliseconds, None for the newest page."""

    default_error_messages = _MESSAGES

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        try:
            return parse_page_token(value)
        except ValueError as error:
            raise ValidationError(str(error)) from None


class Ready(fields.List[Any]):
    """A list whose members already have their final shape: dumping a hundred takes milliseconds."""

    def _serialize(self, value: Any, attr: str | None, obj: Any, **kwargs: Any) -> Any:
        return value


class ReadyObject(fields.Nested):
    """An object that already has its final shape, with the fields that operators add to it."""

    def _serialize(  # type: ignore[override]  # the library names the value in two ways
        self, nested_obj: Any, attr: Any, obj: Any, **kwargs: Any
    ) -> Any:
        return nested_obj


class Rate(fields.Float):
    """An exact rate as a JSON number for people. 0 is written as the integer 0."""

    def _serialize(self, value: Any, attr: str | None, obj: Any, **kwargs: Any) -> Any:
        return rate_as_number(value) if value else 0


class Number(fields.Float):
    """A JSON number, written as it is: an integer stays one."""

    def _serialize(self, value: Any, attr: str | None, obj: Any, **kwargs: Any) -> Any:
        return value


def describe(description: str, example: Any = None, **more: Any) -> dict[str, Any]:
    """What the OpenAPI document says about a field."""
    return {"description": description} | ({} if example is None else {"example": example}) | more


class Question(Schema):
    """A request of a client. Unknown fields are ignored."""

    class Meta:
        """Options of every request."""

        unknown = EXCLUDE


class Shape(Schema):
    """Any object in an answer. Clients must expect fields that are added later, so none are excluded."""

    class Meta:
        """Options of every object in an answer."""

        unknown = EXCLUDE


def enumerated(values: Iterable[IntEnum]) -> dict[str, Any]:
    """An enum's numbers and, for generated clients, its names."""
    members = list(values)
    return {
        "enum": [value.value for value in members],
        "x-enum-varnames": [value.name for value in members],
    }


class Err(Shape):
    """Why the request failed."""

    code = fields.Integer(
        required=True,
        metadata=describe("ErrCode.", 500) | enumerated(code for code in ErrCode if code),
    )
    msg = fields.String(
        required=True,
        metadata=describe("For people: what is wrong, and what to send instead.", "amount should > 0"),
    )


class Answer(Shape):
    """The fields of every answer."""

    err = fields.Nested(
        Err, allow_none=True, dump_default=None, metadata=describe("null when the call succeeded.")
    )


class Transaction(Shape):
    """A transaction, ready for a wallet to sign."""

    chain_id = fields.Integer(metadata=describe("Chain to send it on.", 1))
    to = fields.String(metadata=describe("Contract to call.", "0x5427FEFA711Eff984124bFBB1AB6fbf5E3DA1820"))
    data = fields.String(metadata=describe("The call, 0x hex.", "0x"))
    value = AmountString(metadata=describe("Native coin, in smallest units.", "0"))


class PlainAnswer(Answer):
    """Only ``err``: the answer to a path that does not exist."""
