"""The operations that list and find transfers, in the OpenAPI document."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from app.api.door import FIND_PATH, HISTORY_PATH, STATUSES_PATH
from app.api.openapi.transfer_examples import FIND_EXAMPLES, HISTORY_EXAMPLES, STATUSES_EXAMPLES
from app.api.transfer_schemas import (
    FindAnswer,
    FindQuery,
    HistoryAnswer,
    HistoryQuery,
    StatusesAnswer,
    StatusesBody,
)

Responses = Callable[..., dict[str, Any]]
"""From a shape, its examples and the ways to fail to the responses of an operation."""

_READ: Final = (400, 405, 413, 429, 500, 503)


def transfer_operations(responses: Responses) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each path, without its prefix, and its operations by method."""
    yield HISTORY_PATH, {"get": _history(responses)}
    yield FIND_PATH, {"get": _find(responses)}
    yield STATUSES_PATH, {"post": _statuses(responses)}


def _history(responses: Responses) -> dict[str, Any]:
    return {
        "operationId": "transferHistory",
        "tags": ["Transfers"],
        "summary": "What did accounts send and receive?",
        "description": (
            "Transfers from or to any of the accounts, the newest first, each once. A page ends on a whole "
            "millisecond, so it may have some transfers more than `page_size`: following `next_page_token` "
            "shows each transfer once, also while new ones arrive. An account that nothing is known of has "
            "an empty history."
        ),
        "parameters": [{"in": "query", "schema": HistoryQuery}],
        "responses": responses(HistoryAnswer, HISTORY_EXAMPLES, *_READ),
    }


def _find(responses: Responses) -> dict[str, Any]:
    return {
        "operationId": "getTransfer",
        "tags": ["Transfers"],
        "summary": "Which transfers are behind an id or a transaction?",
        "description": (
            "The transfers with this id, or whose send, payout or refund is this transaction, with all that "
            "their status answers have. `read_to` says how far each chain had been read: a transaction "
            "in a later block may still become known. No node is asked."
        ),
        "parameters": [{"in": "query", "schema": FindQuery}],
        "responses": responses(FindAnswer, FIND_EXAMPLES, *_READ),
    }


def _statuses(responses: Responses) -> dict[str, Any]:
    return {
        "operationId": "getTransferStatuses",
        "tags": ["Transfers"],
        "summary": "Where are several transfers?",
        "description": (
            "What `getTransferStatus` answers for each of up to 100 ids, in the order asked, read at once. "
            "Each has its own `err`."
        ),
        "requestBody": {"required": True, "content": {"application/json": {"schema": StatusesBody}}},
        "responses": responses(StatusesAnswer, STATUSES_EXAMPLES, *_READ, 415),
    }
