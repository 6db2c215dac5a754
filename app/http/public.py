"""What the public interfaces share: limits, origins (docs/interface.md#cors), the caller and their key."""

from __future__ import annotations

from typing import Final

from flask import Response, g, request

from app.credentials.api_key import ApiKey, Scope
from app.http.headers import MEANT, NO_STORE, PROGRESS_HEADERS, REASON, REQUEST_ID
from app.values.errors import Forbidden, Unauthorized
from app.values.ip_addresses import IPAddress, caller_address


def keep_key(key: ApiKey) -> None:
    """Keep what was recognised, for as long as the request lasts."""
    g.api_key = key


def current_key() -> ApiKey | None:
    """The valid key that came with the request; None where none did."""
    key: ApiKey | None = g.get("api_key")
    return key


def require_key(scope: Scope) -> ApiKey:
    """The key that came with the request, for an operation that needs one.

    :raises Unauthorized: none did.
    :raises Forbidden: it does not have the scope.
    """
    key = current_key()
    if key is None:
        raise Unauthorized(f"an API key with the scope {scope} is required: send Authorization: Bearer gwk_…")
    require_scope(key, scope)
    return key


def require_scope(key: ApiKey, scope: Scope) -> None:
    """Make sure that the key's bearer may do it.

    :raises Forbidden: the key does not have the scope.
    """
    if not key.may(scope):
        has = ", ".join(sorted(key.scopes))
        raise Forbidden(
            f"the API key lacks the scope {scope}, it has {has}: ask the operator for another key"
        )


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
