"""What the public doors share: limits, origins (docs/interface.md#cors) and the caller's address."""

from __future__ import annotations

from typing import Final

from flask import Response, request

from app.domain.blocking import IPAddress
from app.domain.caller import caller_address
from app.http.answers import NO_STORE, REASON
from app.http.progress import MEANT, PROGRESS_HEADERS
from app.http.request_ids import REQUEST_ID

MAX_QUESTION_BYTES: Final = 64 * 1024
"""The largest JSON body or protobuf message that is read (docs/interface.md#limits)."""

ANY_ORIGIN: Final = ("Access-Control-Allow-Origin", "*")

RATE_LIMIT_HEADERS: Final = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
"""How a caller or a key stands with its limit (docs/interface.md#rate-limits)."""

EXPOSED_HEADERS: Final = ", ".join(
    (REQUEST_ID, REASON, "Retry-After", "ETag", *RATE_LIMIT_HEADERS, *PROGRESS_HEADERS, MEANT)
)
"""Headers of an answer that pages of other origins may read, on every door."""

_ALLOWED_HEADERS: Final = (
    "content-type, cache-control, if-none-match, last-event-id, x-grpc-web, x-user-agent, grpc-timeout, "
    "authorization, x-requested-with, x-request-id, traceparent, tracestate"
)
"""Headers that pages may send. ``x-requested-with`` is read by no operation, but pages set it on every
request, and a browser would not send the question at all; so it is with ``authorization`` that holds no
API key."""

_PREFLIGHT: Final = (
    ANY_ORIGIN,
    NO_STORE,
    ("Access-Control-Allow-Methods", "GET, POST, OPTIONS"),
    ("Access-Control-Allow-Headers", _ALLOWED_HEADERS),
    ("Access-Control-Max-Age", "86400"),
)


def preflight(status: int) -> Response:
    """The answer to a browser's preflight: pages of any origin may ask, without credentials."""
    response = Response(status=status, headers=_PREFLIGHT)
    del response.headers["Content-Type"]  # an empty body has no type
    return response


def caller(trusted_proxies: int) -> IPAddress | None:
    """The caller's address as ``TRUSTED_PROXIES`` defines it (docs/interface.md#caller)."""
    environ = request.environ
    return caller_address(environ.get("REMOTE_ADDR"), environ.get("HTTP_X_FORWARDED_FOR"), trusted_proxies)
