"""The operations beside the first three, in the OpenAPI document: what each takes, and what it answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from app.api.openapi.documented_responses import JSON, READ, body_of, responses, stream_example, unread_types
from app.estimates.schemas import ExplainedAnswer, estimate_query
from app.estimates.views import EXPLAIN_PATH
from app.http.interface import NOTHING_BUT_ERR
from app.latency.schemas import LatencyStatsAnswer, LatencyStatsQuery
from app.latency.views import LATENCY_STATS_PATH
from app.refunds.schemas import WithdrawAnswer, WithdrawBody
from app.transfers.schemas.look_ups import FindAnswer, FindQuery, HistoryAnswer, HistoryQuery
from app.transfers.schemas.status_answers import StatusesAnswer, StatusesBody, status_answer
from app.transfers.views import FIND_PATH, HISTORY_PATH, STATUSES_PATH
from app.waiting.schemas import EventsQuery, WaitQuery
from app.waiting.views import EVENTS_PATH, WAIT_PATH
from app.webhooks.schemas import WebhookBody, WebhookQuery, WebhooksAnswer


def insight_operations(compat_clients: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each path, without its prefix, and its operations by method."""
    yield EXPLAIN_PATH, {"get": _explain(compat_clients)}
    yield LATENCY_STATS_PATH, {"get": _latency_stats()}


def _explain(compat_clients: bool) -> dict[str, Any]:
    return {
        "operationId": "explainEstimate",
        "tags": ["Transfers"],
        "summary": "explainEstimate: how an estimate comes about",
        "description": (
            "Returns how `estimateAmt` comes to its answer to the same parameters: every number with its "
            "formula, inputs and rounding, every limit with what is left of it, and the amounts that pass. "
            "If the estimate is refused, `refusal` has its code, reason and message, the check that refused "
            "and the nearest amounts that pass; `err` is null. A blocked caller gets no numbers."
        ),
        "parameters": [{"in": "query", "schema": estimate_query(compat_clients)}],
        "responses": responses(ExplainedAnswer, "explainEstimate", *READ),
    }


def _latency_stats() -> dict[str, Any]:
    return {
        "operationId": "getTransferLatencyStats",
        "tags": ["Transfers"],
        "summary": "getTransferLatencyStats: median and percentiles of transfer times",
        "description": (
            "Returns the exact median and the 90th and 99th percentiles (nearest rank) of the time from send "
            "to release, in seconds, of the transfers between the two chains that were released in the last "
            "7 days. Of a token of a very busy pair the window is shorter, as `window_seconds` says."
        ),
        "parameters": [{"in": "query", "schema": LatencyStatsQuery}],
        "responses": responses(LatencyStatsAnswer, "getTransferLatencyStats", *READ),
    }


def request_operation(compat_clients: bool) -> dict[str, Any]:
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
        "requestBody": body_of({JSON: {"schema": WithdrawBody}}),
        "responses": responses(WithdrawAnswer, "withdrawLiquidity", *READ, *unread_types(compat_clients)),
    }


def transfer_operations(compat_clients: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each path, without its prefix, and its operations by method."""
    yield HISTORY_PATH, {"get": _history()}
    yield FIND_PATH, {"get": _find()}
    yield STATUSES_PATH, {"post": _statuses(compat_clients)}


def _history() -> dict[str, Any]:
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
        "responses": responses(HistoryAnswer, "transferHistory", *READ),
    }


def _find() -> dict[str, Any]:
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
        "responses": responses(FindAnswer, "getTransfer", *READ),
    }


def _statuses(compat_clients: bool) -> dict[str, Any]:
    return {
        "operationId": "getTransferStatuses",
        "tags": ["Transfers"],
        "summary": "getTransferStatuses: status of several transfers",
        "description": (
            "Returns what `getTransferStatus` returns for each of up to 100 ids, in the order requested, "
            "all of one moment. Each has its own `err`."
        ),
        "requestBody": body_of({JSON: {"schema": StatusesBody}}),
        "responses": responses(StatusesAnswer, "getTransferStatuses", *READ, *unread_types(compat_clients)),
    }


_LAST_EVENT_ID: Final = {
    "in": "header",
    "name": "Last-Event-ID",
    "schema": {"type": "string"},
    "description": "The id of the last event that you heard of: the stream goes on behind it.",
}


def waiting_operations(compat_clients: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each path, without its prefix, and its operations by method."""
    yield WAIT_PATH, {"get": _wait(compat_clients)}
    yield EVENTS_PATH, {"get": _events()}


def _wait(compat_clients: bool) -> dict[str, Any]:
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
            status_answer(compat_clients),
            "getTransferStatus",
            *READ,
        ),
    }


def _events() -> dict[str, Any]:
    answers = responses(NOTHING_BUT_ERR, "", *READ)
    answers["200"] = {
        "description": "Server-sent events, until one of both sides closes the connection.",
        "content": {
            "text/event-stream": {"schema": {"type": "string"}, "example": stream_example("transferEvents")}
        },
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


_TAGS: Final = ["Webhooks"]


def webhook_operations(
    security: list[dict[str, list[str]]], compat_clients: bool
) -> dict[str, dict[str, Any]]:
    """The operations by method. Each needs an API key.

    :param security: how the key is sent.
    """
    made_by = body_of({JSON: {"schema": WebhookBody}})
    return {
        "get": {
            "operationId": "listWebhooks",
            "tags": _TAGS,
            "security": security,
            "summary": "webhooks: list yours",
            "description": "Returns the webhooks of the API key, the oldest first.",
            "responses": responses(WebhooksAnswer, "listWebhooks", *READ),
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
            "responses": responses(WebhooksAnswer, "createWebhook", *READ, *unread_types(compat_clients)),
        },
        "delete": {
            "operationId": "removeWebhook",
            "tags": _TAGS,
            "security": security,
            "summary": "webhooks by DELETE: remove one",
            "description": "Sends nothing more to it. Returns the webhooks that are left.",
            "parameters": [{"in": "query", "schema": WebhookQuery}],
            "responses": responses(WebhooksAnswer, "removeWebhook", *READ),
        },
    }
