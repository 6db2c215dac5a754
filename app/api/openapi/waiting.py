"""The operations of those who wait, in the OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from app.api.door import EVENTS_PATH, NOTHING_BUT_ERR, WAIT_PATH, ApiDoor
from app.api.openapi.examples import STATUS_EXAMPLES, compat_status_examples
from app.api.openapi.responses import READ, responses
from app.api.waiting.schemas import EventsQuery, WaitQuery

_LAST_EVENT_ID: Final = {
    "in": "header",
    "name": "Last-Event-ID",
    "schema": {"type": "string"},
    "description": "The id of the last event that you heard of: the stream goes on behind it.",
}
_STREAM_EXAMPLE: Final = (
    "id: 1204\nevent: transfer.status\n"
    'data: {"type":"transfer.status","timestamp":"2026-05-01T12:00:03.250000Z","data":{"transfer_id":'
    '"0x77d7e231b08120217969ded3ff1ed2b40c0028ca1e239b225f535c57808a23f6","status":5,"previous_status":4,'
    '"refund_reason":0,"seq":1204}}\n\n'
)


def waiting_operations(door: ApiDoor) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each path, without its prefix, and its operations by method."""
    yield WAIT_PATH, {"get": _wait(door)}
    yield EVENTS_PATH, {"get": _events()}


def _wait(door: ApiDoor) -> dict[str, Any]:
    return {
        "operationId": "waitTransferStatus",
        "tags": ["Transfers"],
        "summary": "waitTransferStatus: wait for the next status of a transfer",
        "description": (
            "Returns what `getTransferStatus` returns, when the transfer is at another status than "
            "`after_status`, or when the time is over. With 503 and `wait_busy` too many wait already: ask "
            "for the status instead. A gateway may serve this path elsewhere or not at all (404)."
        ),
        "parameters": [{"in": "query", "schema": WaitQuery}],
        "responses": responses(
            door.status_answer,
            compat_status_examples() if door.compat_clients else STATUS_EXAMPLES,
            *READ,
        ),
    }


def _events() -> dict[str, Any]:
    answers = responses(NOTHING_BUT_ERR, {}, *READ)
    answers["200"] = {
        "description": "Server-sent events, until one of both sides closes the connection.",
        "content": {"text/event-stream": {"schema": {"type": "string"}, "example": _STREAM_EXAMPLE}},
    }
    return {
        "operationId": "transferEvents",
        "tags": ["Transfers"],
        "summary": "transferEvents: a stream of the changes of statuses",
        "description": (
            "A stream with an event for each change of a status, also when a status is taken back. Send "
            "either `transfer_id`, and hear all its statuses from the first, or `account`, and hear what "
            "happens from now on. With the id of the last event it goes on behind that. A gateway may serve "
            "this path elsewhere or not at all (404)."
        ),
        "parameters": [{"in": "query", "schema": EventsQuery}, _LAST_EVENT_ID],
        "responses": answers,
    }
