"""The operations that list and find transfers, in the OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from app.api.door import FIND_PATH, HISTORY_PATH, STATUSES_PATH, ApiDoor
from app.api.openapi.requests import JSON, body_of, unread_types
from app.api.openapi.responses import READ, responses
from app.api.openapi.transfer_examples import FIND_EXAMPLES, HISTORY_EXAMPLES, STATUSES_EXAMPLES
from app.api.transfers.schemas import FindQuery, HistoryQuery


def transfer_operations(door: ApiDoor) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each path, without its prefix, and its operations by method."""
    yield HISTORY_PATH, {"get": _history(door)}
    yield FIND_PATH, {"get": _find(door)}
    yield STATUSES_PATH, {"post": _statuses(door)}


def _history(door: ApiDoor) -> dict[str, Any]:
    return {
        "operationId": "transferHistory",
        "tags": ["Transfers"],
        "summary": "transferHistory: transfers of accounts",
        "description": (
            "Returns the transfers from or to any of the accounts, newest first, each once. A page ends on "
            "a whole millisecond, so it may have a few more transfers than `page_size`: following "
            "`next_page_token` returns each transfer once, also while new ones arrive. An unknown account "
            "has an empty history."
        ),
        "parameters": [{"in": "query", "schema": HistoryQuery}],
        "responses": responses(door.history_answer, HISTORY_EXAMPLES, *READ),
    }


def _find(door: ApiDoor) -> dict[str, Any]:
    return {
        "operationId": "getTransfer",
        "tags": ["Transfers"],
        "summary": "getTransfer: find a transfer by its id or a transaction",
        "description": (
            "Returns the transfers with this id, or whose send, payout or refund is this transaction, with "
            "all fields of their status. `read_to` says how far each chain had been read: a transaction in "
            "a later block may still become known. Chain nodes are not queried."
        ),
        "parameters": [{"in": "query", "schema": FindQuery}],
        "responses": responses(door.find_answer, FIND_EXAMPLES, *READ),
    }


def _statuses(door: ApiDoor) -> dict[str, Any]:
    return {
        "operationId": "getTransferStatuses",
        "tags": ["Transfers"],
        "summary": "getTransferStatuses: status of several transfers",
        "description": (
            "Returns what `getTransferStatus` returns for each of up to 100 ids, in the order requested, "
            "all of one moment. Each has its own `err`."
        ),
        "requestBody": body_of({JSON: {"schema": door.statuses_body}}),
        "responses": responses(door.statuses_answer, STATUSES_EXAMPLES, *READ, *unread_types(door)),
    }
