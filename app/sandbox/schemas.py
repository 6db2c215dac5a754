"""The shapes of the request that moves a made-up transfer, and of its answer."""

from __future__ import annotations

from typing import Any, Final

from marshmallow import ValidationError, fields, validate

from app.http.schemas import TRANSFER_ID_PATTERN, Answer, Question, TransferIdHex, Uint, describe
from app.sandbox.services import STORIES
from app.values.crypto import parse_evm_address

_ID: Final = "0x77d7e231b08120217969ded3ff1ed2b40c0028ca1e239b225f535c57808a23f6"


class _EvmAddress(fields.String):
    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        address = parse_evm_address(value) if isinstance(value, str) else None
        if address is None:
            raise ValidationError("must be an address: 0x and 40 hex digits, such as that of your wallet")
        return address


class AdvanceBody(Question):
    story = fields.String(
        validate=validate.OneOf(tuple(STORIES), error="must be one of {choices}"),
        error_messages={"invalid": "must be a string such as 0005"},
        metadata=describe(
            "What happens to the transfer: the last digits of the sandbox's transfer that has this story. "
            "Needed for a new transfer.",
            "0008",
        ),
    )
    transfer_id = TransferIdHex(
        metadata=describe(
            "The transfer, or the id of a new one, such as the one that your wallet has computed. If "
            "omitted, a new one is made up.",
            pattern=TRANSFER_ID_PATTERN,
        )
    )
    account = _EvmAddress(
        metadata=describe("Who sends and receives a new transfer. If omitted, an account is made up.")
    )
    steps = Uint(
        32,
        metadata=describe(
            "How far to take the story, in steps from its beginning. If omitted, to its end. It never "
            "goes back."
        ),
    )


class AdvanceAnswer(Answer):
    transfer_id = fields.String(dump_default="", metadata=describe("Its id.", _ID))
    story = fields.String(dump_default="", metadata=describe("Its story.", "0008"))
    status = fields.Integer(dump_default=0, metadata=describe("Its TransferHistoryStatus.", 3))
    done = fields.List(
        fields.String(),
        dump_default=[],
        metadata=describe("Steps that have happened.", ["sent", "confirmed"]),
    )
    left = fields.List(
        fields.String(),
        dump_default=[],
        metadata=describe("Steps to come.", ["refund_requested", "evidence 3"]),
    )
