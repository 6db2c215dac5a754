"""Webhooks of an API key, in the OpenAPI document."""

from __future__ import annotations

from typing import Any, Final

from app.api.door import ApiDoor
from app.api.openapi.requests import JSON, body_of, unread_types
from app.api.openapi.responses import READ, responses

_TAGS: Final = ["Webhooks"]
_WEBHOOK: Final = {
    "id": "whk_0123456789abcdef",
    "name": "ledger",
    "url": "https://example.org/hooks",
    "everything": False,
    "accounts": ["0x1619de6b6b20ed217a58d00f37b9d47c7663feca"],
    "transfer_ids": [],
    "state": "active",
    "waiting": 0,
    "created_at": "2026-11-21T12:00:00Z",
}
_SECRET: Final = "whsec_bm90IGEgc2VjcmV0LCBidXQgMzIgYnl0ZXMgbG9uZyE="  # noqa: S105  an example


def _example(name: str, summary: str, value: dict[str, Any]) -> dict[str, Any]:
    return {name: {"summary": summary, "value": {"err": None, "webhooks": [], "secret": ""} | value}}


LISTED: Final = _example("listed", "One webhook", {"webhooks": [_WEBHOOK]})
MADE: Final = _example("made", "A new webhook, with its secret", {"webhooks": [_WEBHOOK], "secret": _SECRET})
REMOVED: Final = _example("removed", "None is left", {}) | _example(
    "not found",
    "X-Gateway-Reason: webhook_not_found",
    {"err": {"code": 500, "msg": "this API key has no webhook with this id: list them with GET"}},
)


def webhook_operations(door: ApiDoor, security: list[dict[str, list[str]]]) -> dict[str, dict[str, Any]]:
    """The operations by method. Each needs an API key.

    :param security: how the key is sent.
    """
    made_by = body_of({JSON: {"schema": door.webhook_body}})
    return {
        "get": {
            "operationId": "listWebhooks",
            "tags": _TAGS,
            "security": security,
            "summary": "webhooks: list yours",
            "description": "Returns the webhooks of the API key, the oldest first.",
            "responses": responses(door.webhooks_answer, LISTED, *READ),
        },
        "post": {
            "operationId": "createWebhook",
            "tags": _TAGS,
            "security": security,
            "summary": "webhooks by POST: create one",
            "description": (
                "Posts an event to the URL for each change of status of the transfers that are named: "
                "`accounts`, `transfer_ids`, or `everything` with a key of the scope `webhooks:all`. Events "
                "are signed as Standard Webhooks specifies, with the `secret` of this answer."
            ),
            "requestBody": made_by,
            "responses": responses(door.webhooks_answer, MADE, *READ, *unread_types(door)),
        },
        "delete": {
            "operationId": "removeWebhook",
            "tags": _TAGS,
            "security": security,
            "summary": "webhooks by DELETE: remove one",
            "description": "Sends nothing more to it. Returns the webhooks that are left.",
            "parameters": [{"in": "query", "schema": door.webhook_query}],
            "responses": responses(door.webhooks_answer, REMOVED, *READ),
        },
    }
