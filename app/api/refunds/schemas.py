"""The public shapes of a refund ask."""

from __future__ import annotations

from marshmallow import fields

from app.api.refunds.fields import Uint64Text, WithdrawRequestText
from app.api.refunds.pattern import PLAIN_ASK
from app.api.schemas import Answer, Question, describe


class WithdrawBody(Question):
    """Body of a refund ask, as clients of several services send it. The other fields are not read."""

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
            pattern=PLAIN_ASK,
        ),
    )
    estimated_received_amt = fields.Raw(allow_none=True, metadata=describe("Ignored."))
    method_type = fields.Raw(allow_none=True, metadata=describe("Ignored."))


class WithdrawAnswer(Answer):
    """That the refund was asked for."""

    seq_num = Uint64Text(
        dump_default="0",
        metadata=describe("The request's `req_id`, a decimal string.", "1700000000", pattern="^[0-9]{1,20}$"),
    )
