"""Fields of a refund ask and of its answer."""

from __future__ import annotations

from typing import Any, Final

from marshmallow import ValidationError, fields

from app.domain.refund.ask import INSTEAD, decode_base64, read_withdraw_request
from app.domain.wire_values import MISSING

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
