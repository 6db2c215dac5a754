"""The answers of an operation, in the OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Final

import orjson
from marshmallow import Schema

from app.http.headers import (
    AS_OF,
    FINAL_BY,
    IGNORED,
    MEANT,
    MEANT_COUNT,
    MOST_IGNORED,
    NEXT_ACTOR,
    NEXT_POLL,
    REASON,
    REQUEST_ID,
    TERMINAL,
)
from app.http.public import RATE_LIMIT_HEADERS
from app.http.requests import LIMITED
from app.transfers.rules.progress import LONGEST, SHORTEST, FinalBy, NextActor
from app.values.error_catalogue import ERRORS

JSON: Final = "application/json"

_FAILURES: Final = {
    400: "The request cannot be read.",
    401: "The API key that was sent is malformed, unknown or revoked.",
    403: "The API key does not have the scope that the operation needs.",
    405: "The path does not support this method.",
    413: "The body is larger than 64 KiB.",
    414: "The request line is too long.",
    415: "The content type of the body is not supported.",
    429: "Too many requests from this caller, or with this API key.",
    431: "The headers are too many or too long.",
    500: "The gateway failed.",
    503: "The gateway is temporarily unavailable.",
}
_BEFORE_THE_PATH: Final = (414, 431)
"""Statuses from before the server knows the path: so any operation may return them."""

HEADERS: Final[dict[str, dict[str, Any]]] = {
    REQUEST_ID: {
        "description": "The id of the request: your own `X-Request-Id` if it has 8 to 64 letters, digits, "
        "`-` and `_`, otherwise a new one. Give it to support.",
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]{8,64}$"},
    },
    REASON: {
        "description": "Reason of the error, for programs; sent with every err.",
        "schema": {"type": "string", "enum": [row.reason.value for row in ERRORS]},
    },
    IGNORED: {
        "description": f"The names of parameters that the gateway ignored, at most {MOST_IGNORED}, with "
        "commas between them. Missing if there are none, and from operations that refuse them.",
        "schema": {"type": "string"},
    },
    "Retry-After": {
        "description": "Seconds to wait before trying again.",
        "schema": {"type": "integer", "format": "int64", "minimum": 1},
    },
    "RateLimit-Limit": {
        "description": "How many requests a window allows. Missing if nothing limits the request.",
        "schema": {"type": "integer", "format": "int64", "minimum": 1},
    },
    "RateLimit-Remaining": {
        "description": "How many requests are left in the window.",
        "schema": {"type": "integer", "format": "int64", "minimum": 0},
    },
    "RateLimit-Reset": {
        "description": "Whole seconds until the window ends.",
        "schema": {"type": "integer", "format": "int64", "minimum": 1},
    },
    "WWW-Authenticate": {
        "description": "How to send a key: `Bearer`.",
        "schema": {"type": "string"},
    },
    "Allow": {
        "description": "Methods that the path supports.",
        "schema": {"type": "string"},
    },
    "ETag": {
        "description": "Identifies this version of the answer, for `If-None-Match`.",
        "schema": {"type": "string"},
    },
    TERMINAL: {
        "description": "Whether the transfer is over: at status 2, 5 or 10, and the block that this rests on "
        "is final.",
        "schema": {"type": "string", "enum": ["true", "false"]},
    },
    FINAL_BY: {
        "description": "Why it is over: its `block` is final, or it was `reported` without a block. "
        "Sent only when it is over.",
        "schema": {"type": "string", "enum": [why.value for why in FinalBy]},
    },
    NEXT_ACTOR: {
        "description": "Who acts next: the network, the user (at a refund), or nobody.",
        "schema": {"type": "string", "enum": [actor.value for actor in NextActor]},
    },
    NEXT_POLL: {
        "description": "When to request again, in seconds. Not sent when the transfer is over.",
        "schema": {"type": "integer", "minimum": SHORTEST, "maximum": LONGEST},
    },
    AS_OF: {
        "description": "When the gateway received its newest event (RFC 3339).",
        "schema": {"type": "string", "format": "date-time"},
    },
    MEANT: {
        "description": "The transfer that the request names by a transaction, also if it is sent as a "
        "transfer id.",
        "schema": {"type": "string", "pattern": "^0x[0-9a-f]{64}$"},
    },
    MEANT_COUNT: {
        "description": "How many transfers that transaction has. Missing if it has one.",
        "schema": {"type": "integer", "format": "int64", "minimum": 2},
    },
}
"""Headers of answers, as components."""


def headers(*names: str) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


_HINTS: Final = {401: "WWW-Authenticate", 405: "Allow", 429: "Retry-After", 503: "Retry-After"}

EXAMPLES_FILE: Final = Path(__file__).with_name("examples.json")
"""Examples of each operation by name: recorded answers of the sandbox. A test requests them again, and
``python -m tests.contract.documented_examples`` records them."""


@cache
def _recorded() -> dict[str, dict[str, dict[str, Any]]]:
    recorded: dict[str, dict[str, dict[str, Any]]] = orjson.loads(EXAMPLES_FILE.read_bytes())
    return recorded


def stream_example(operation: str) -> str:
    (example,) = _recorded()[operation].values()
    return str(example["value"])


def recorded_examples(operation: str, shape: Schema) -> dict[str, Any]:
    """The recorded answers of an operation, without fields that this shape does not have."""
    return {
        name: {
            "summary": example["summary"],
            "value": {field: value for field, value in example["value"].items() if field in shape.fields},
        }
        for name, example in _recorded().get(operation, {}).items()
    }


def responses(
    shape: Schema, examples: dict[str, Any], *failures: int, answer_headers: Iterable[str] = ()
) -> dict[str, Any]:
    """The answers of an operation: the successful one, and two for failures, all in the same shape.

    :param failures: the HTTP statuses with which this operation can fail, without those of every operation.
    :param answer_headers: the names of further headers of the successful answer.
    """
    statuses = sorted((*failures, *_BEFORE_THE_PATH))
    every = headers(
        REQUEST_ID, REASON, IGNORED, *(RATE_LIMIT_HEADERS if set(LIMITED) <= set(failures) else ())
    )
    return {
        "200": {
            "description": "The result, or `err` with the reason why there is none.",
            "headers": every | headers(*answer_headers),
            "content": {JSON: {"schema": shape} | ({"examples": examples} if examples else {})},
        },
        "4XX": _failure("A refusal", shape, every, [each for each in statuses if each < 500]),
        "default": _failure("Any other failure", shape, every, [each for each in statuses if each >= 500]),
    }


def _failure(what: str, shape: Schema, every: dict[str, Any], statuses: list[int]) -> dict[str, Any]:
    hints = headers(*(_HINTS[status] for status in statuses if status in _HINTS))
    listed = "".join(f"\n- {status}: {_FAILURES[status]}" for status in statuses)
    return {
        "description": f"{what}, with `err`" + (f":\n{listed}" if listed else "."),
        "headers": every | hints,
        "content": {JSON: {"schema": shape}},
    }
