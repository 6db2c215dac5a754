"""What the public interfaces share: prefixes, settings, the shape of each path's answer, origins
(docs/interface/answers.md#cors), the caller, and answers in JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import orjson
from flask import Flask, Response, current_app, request
from marshmallow import Schema
from msgspec import Struct
from werkzeug.datastructures import Headers

from app.http.headers import (
    IGNORED,
    MEANT,
    MEANT_COUNT,
    NO_STORE,
    PRIVATE_HEADERS,
    PROGRESS_HEADERS,
    REASON,
    REQUEST_ID,
)
from app.http.schemas import PlainAnswer
from app.values.codes import ErrCode
from app.values.ip_addresses import IPAddress, caller_address

PREFIX: Final = "/v2"
LEGACY_PREFIX: Final = "/v1"
"""Existing clients call the same operations here. It is not documented (docs/interface/answers.md#legacy-v1).
"""

TRANSFER_PAGES: Final = "/transfer/"
"""The prefix of the pages of transfers, for the users who wait. The transfer's id follows."""

SANDBOX_PREFIX: Final = "/sandbox/v1"
"""Of what moves the made-up transfers of a sandbox (docs/sandbox.md#controls)."""

DOCS: Final = "docs"
"""The name of the blueprint that describes the operations."""

PUBLIC_PREFIXES: Final = (
    f"{PREFIX}/",
    f"{LEGACY_PREFIX}/",
    "/sgn.gateway.v1.Web/",
    "//sgn.gateway.v1.Web/",
    TRANSFER_PAGES,
)
"""Requests that are counted, and answered soon: the public interfaces, without health checks, console and
feed."""

_OF_ANY_ORIGIN: Final = (f"{PREFIX}/", f"{LEGACY_PREFIX}/", f"{SANDBOX_PREFIX}/", "/openapi.json")


def is_public(path: str) -> bool:
    """Whether pages of any origin may read the answers of this path (docs/interface/answers.md#cors)."""
    return path.startswith(_OF_ANY_ORIGIN)


class PublicInterface(Struct, frozen=True):
    """The settings of the interface of one application."""

    trusted_proxies: int
    compat_clients: bool


Answers = Mapping[str, Schema]
"""The shape of each path's answer."""

_ANSWERS: Final = "answers"

NOTHING_BUT_ERR: Final = PlainAnswer()


def add_answers(app: Flask, answers: Answers, *, prefix: str = "") -> None:
    """Note the shape of each path's answer, for errors that are raised outside of its view."""
    shapes = {prefix + path: shape for path, shape in answers.items()}
    app.extensions.setdefault(_ANSWERS, {}).update(shapes)


def answer_shape(path: str) -> Schema:
    """The shape of a path's answer; only ``err`` where the application does not have the path."""
    shape: Schema = current_app.extensions[_ANSWERS].get(path, NOTHING_BUT_ERR)
    return shape


MAX_QUESTION_BYTES: Final = 64 * 1024
"""The largest JSON body or protobuf message that is read (docs/interface/callers.md#limits)."""

ANY_ORIGIN: Final = ("Access-Control-Allow-Origin", "*")

RATE_LIMIT_HEADERS: Final = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
"""The headers about the limit of a caller or a key (docs/interface/callers.md#rate-limits)."""

EXPOSED_HEADERS: Final = ", ".join(
    (
        REQUEST_ID,
        REASON,
        IGNORED,
        "Retry-After",
        "ETag",
        *RATE_LIMIT_HEADERS,
        *PROGRESS_HEADERS,
        MEANT,
        MEANT_COUNT,
    )
)
"""Headers of an answer that pages of other origins may read, on every interface."""

EXPOSED: Final = ("Access-Control-Expose-Headers", EXPOSED_HEADERS)

PUBLIC_HEADERS: Final = (*PRIVATE_HEADERS, ANY_ORIGIN, EXPOSED)

_ALLOWED_HEADERS: Final = (
    "content-type, cache-control, if-none-match, last-event-id, x-grpc-web, x-user-agent, grpc-timeout, "
    "authorization, x-requested-with, x-request-id, traceparent, tracestate"
)
"""Headers that pages may send. No operation reads ``x-requested-with``, but some pages send it with every
request, and without this a browser would not send the request at all. The same holds for ``authorization``
without an API key."""

_PREFLIGHT: Final = (
    ANY_ORIGIN,
    NO_STORE,
    ("Access-Control-Allow-Methods", "GET, POST, OPTIONS"),
    ("Access-Control-Allow-Headers", _ALLOWED_HEADERS),
    ("Access-Control-Max-Age", "86400"),
)


def preflight(status: int) -> Response:
    """The answer to a browser's preflight: pages of any origin may send requests, without credentials."""
    response = Response(status=status, headers=_PREFLIGHT)
    del response.headers["Content-Type"]  # an empty body has no type
    return response


def caller(trusted_proxies: int) -> IPAddress | None:
    """The caller's address as ``TRUSTED_PROXIES`` defines it (docs/interface/callers.md#caller)."""
    environ = request.environ
    return caller_address(environ.get("REMOTE_ADDR"), environ.get("HTTP_X_FORWARDED_FOR"), trusted_proxies)


def body(shape: Schema, values: Any) -> bytes:
    """The body of a successful answer: ``values`` (an object or a mapping) in this shape, ``err`` null."""
    return orjson.dumps(shape.dump(values))


class _CompleteResponse(Response):
    """A response whose headers are complete: werkzeug does not copy and check them again."""

    def get_wsgi_headers(self, environ: Any) -> Headers:
        return self.headers


def refusal_body(shape: Schema, code: ErrCode, msg: str) -> bytes:
    """The body of an error: every field of the shape at its zero value, except ``err``."""
    return orjson.dumps(shape.dump({"err": {"code": code, "msg": msg}}))


def answer(shape: Schema, values: Any, headers: Iterable[tuple[str, str]] = ()) -> Response:
    """A successful answer: :func:`body` with the headers of the public interface.

    :param headers: more of them, names and values as they are sent.
    """
    return _CompleteResponse(body(shape, values), 200, Headers([*PUBLIC_HEADERS, *headers]))
