"""Marshmallow fields of the gateway's documents: the network document and events."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from marshmallow import ValidationError, fields

from app.domain.amounts import parse_uint256
from app.domain.crypto import checksum_address, parse_evm_address
from app.domain.times import parse_rfc3339, rfc3339

MAX_ACCOUNT: Final = 128


def read_time(text: str) -> datetime:
    """An RFC 3339 time with an offset, in UTC; digits past the microsecond are cut.

    :raises ValueError: with what it must be.
    """
    try:
        return Time().deserialize(text)
    except ValidationError as error:
        raise ValueError(str(error.messages[0])) from None


class Time(fields.Field[datetime]):
    """RFC 3339 with an offset; digits past the microsecond are cut."""

    default_error_messages = {"invalid": "must be a time with an offset such as 2026-01-31T12:00:00Z"}

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> datetime:
        if not isinstance(value, str):
            raise self.make_error("invalid")
        try:
            return parse_rfc3339(value)
        except ValueError:
            raise self.make_error("invalid") from None

    def _serialize(self, value: datetime | None, attr: str | None, obj: Any, **kwargs: Any) -> str | None:
        return None if value is None else rfc3339(value)


class WholeNumber(fields.Field[int]):
    """A JSON integer in a range."""

    default_error_messages = {"invalid": "must be an integer from {low} to {high}"}

    def __init__(self, low: int, high: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.low, self.high = low, high

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> int:
        if type(value) is not int or not self.low <= value <= self.high:
            raise self.make_error("invalid", low=self.low, high=self.high)
        return value


class Amount(fields.Field[int]):
    """A uint256 as a decimal string."""

    default_error_messages = {
        "invalid": 'must be a string of decimal digits up to 2^256-1, such as "1000000"'
    }

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> int:
        if not isinstance(value, str):
            raise self.make_error("invalid")
        try:
            return parse_uint256(value)
        except ValueError:
            raise self.make_error("invalid") from None

    def _serialize(self, value: int | None, attr: str | None, obj: Any, **kwargs: Any) -> str | None:
        return None if value is None else str(value)


class Text(fields.Field[str]):
    """Text without NUL, which PostgreSQL cannot store."""

    default_error_messages = {"invalid": "must be a text of {least} to {most} characters without NUL"}

    def __init__(self, most: int, least: int = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.most, self.least = most, least

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        if not isinstance(value, str) or not self.least <= len(value) <= self.most or "\x00" in value:
            raise self.make_error("invalid", least=self.least, most=self.most)
        return value


class Account(Text):
    """An account on any chain; an EVM address is kept with its checksum."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(MAX_ACCOUNT, **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        account = super()._deserialize(value, attr, data, **kwargs)
        address = parse_evm_address(account)
        return checksum_address(address) if address is not None else account


class Signer(fields.Field[str]):
    """A validator: a 0x address other than the zero address, kept with its checksum."""

    default_error_messages = {"invalid": "must be a 0x address of 20 bytes, not all zero"}

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        address = parse_evm_address(value) if isinstance(value, str) else None
        if address is None or not any(address):
            raise self.make_error("invalid")
        return checksum_address(address)
