"""Asking for a refund, as the OpenAPI document describes it."""

from __future__ import annotations

from typing import Any, Final

from app.api.door import ApiDoor
from app.api.openapi.requests import JSON, body_of, unread_types
from app.api.openapi.responses import READ, responses

ASK_EXAMPLES: Final[dict[str, Any]] = {
    "asked": {"summary": "The ask is taken", "value": {"err": None, "seq_num": "1700000000"}},
    "not to be refunded": {
        "summary": "X-Gateway-Reason: refund_not_available",
        "value": {
            "err": {
                "code": 500,
                "msg": "this transfer cannot be refunded: its status is 5 (TRANSFER_COMPLETED); request the "
                "refund while it is 6",
            },
            "seq_num": "0",
        },
    },
}


def ask_operation(door: ApiDoor) -> dict[str, Any]:
    """The operation."""
    return {
        "operationId": "withdrawLiquidity",
        "tags": ["Transfers"],
        "summary": "Ask for a refund",
        "description": (
            "For a transfer at status 6. The status goes to 7, and to 8 when the validators have signed: ask "
            "`getTransferStatus` until then. At 7 to 10 this is answered in the same way and changes "
            "nothing; at any other status it is `refund_not_available`. A caller may ask a few times a "
            "minute. It needs no signature: the refund goes to the sender of the transfer, whoever asks."
        ),
        "requestBody": body_of(door, {JSON: {"schema": door.ask_body}}),
        "responses": responses(door.ask_answer, ASK_EXAMPLES, *READ, *unread_types(door)),
    }
