"""What a client sends to request a refund: ``withdraw_req`` (docs/interface.md#refund-ask).

It is not signed, so it does not show who requests. It names a transfer, and nothing in it is a fact.
"""

import base64
import re
from typing import Final

from google.protobuf.message import DecodeError
from msgspec import Struct

from app.refunds.refund_pb2 import REFUND_TRANSFER, WithdrawReq
from app.values.identifiers import TransferId
from app.values.wire_values import parse_transfer_id

INSTEAD: Final = (
    "send the base64 of a WithdrawReq message whose xfer_id is the transfer's id and whose withdraw_type is 1"
)
_STANDARD: Final = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_URL_SAFE: Final = str.maketrans("-_", "+/")


class WithdrawRequest(Struct, frozen=True):
    """A request to be paid out.

    ``refund_of`` is the transfer whose refund is requested, None where something else is (liquidity, a share
    of fees). ``req_id`` is the client's own number, of 64 bits.
    """

    refund_of: TransferId | None
    req_id: int


def decode_base64(text: str) -> bytes:
    """Decode base64 of either alphabet, padded or not: protobuf's JSON accepts all of them.

    :raises ValueError: it is not base64.
    """
    plain = text.translate(_URL_SAFE)
    padded = plain if "=" in plain else plain + "=" * (-len(plain) % 4)
    if not _STANDARD.fullmatch(padded) or len(padded) % 4:
        raise ValueError(f"is not base64: {INSTEAD}")
    return base64.b64decode(padded)


def read_withdraw_request(raw: bytes) -> WithdrawRequest:
    """Decode ``withdraw_req``.

    :raises ValueError: it is no such message, or requests a refund and names no transfer; the text says
        what to send instead.
    """
    if not raw:
        raise ValueError(f"is missing: {INSTEAD}")
    try:
        message = WithdrawReq.FromString(raw)
    except DecodeError:
        raise ValueError(f"is not a WithdrawReq message: {INSTEAD}") from None
    if message.withdraw_type != REFUND_TRANSFER:
        return WithdrawRequest(None, message.req_id)
    try:
        return WithdrawRequest(parse_transfer_id(message.xfer_id), message.req_id)
    except ValueError as fault:
        raise ValueError(f"its xfer_id {fault}") from None
