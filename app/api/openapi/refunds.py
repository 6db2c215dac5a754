"""Asking for a refund, as the OpenAPI document describes it."""

from __future__ import annotations

from typing import Any, Final

from app.api.door import ApiDoor
from app.api.openapi.requests import JSON, body_of, unread_types
from app.api.openapi.responses import READ, responses

ASK_EXAMPLES: Final[dict[str, Any]] = {
    "asked": {"summary": "The request is accepted", "value": {"err": None, "seq_num": "1700000000"}},
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
        "summary": "withdrawLiquidity: ask for a refund",
        "description": (
            "Requests the refund of a transfer with status 6. The status becomes 7, and 8 when the "
            "validators have signed: poll `getTransferStatus` until then. With status 7 to 10 the answer "
            "is the same and nothing changes; with any other status it is `refund_not_available`. A caller "
            "may send a few requests a minute. No signature is needed: the refund is paid to the sender of "
            "the transfer, whoever requests it."
        ),
        "requestBody": body_of({JSON: {"schema": door.ask_body}}),
        "responses": responses(door.ask_answer, ASK_EXAMPLES, *READ, *unread_types(door)),
    }
