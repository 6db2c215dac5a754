"""How the public door behaves to everybody: origins, body sizes, who the caller is."""

from __future__ import annotations

from typing import Final

from flask import Response, request
from werkzeug.exceptions import RequestEntityTooLarge

from app.api.answers import ANY_ORIGIN, NO_STORE
from app.api.door import PREFIX, TWIN_PREFIX, current_door
from app.domain.blocking import IPAddress
from app.domain.caller import caller_address

MAX_BODY_BYTES: Final = 64 * 1024

_PUBLIC_PREFIXES: Final = (f"{PREFIX}/", f"{TWIN_PREFIX}/", "/openapi.json")
_PREFLIGHT: Final = (
    ANY_ORIGIN,
    NO_STORE,
    ("Access-Control-Allow-Methods", "GET, POST, OPTIONS"),
    (
        "Access-Control-Allow-Headers",
        "content-type, cache-control, x-grpc-web, x-user-agent, grpc-timeout",
    ),
    ("Access-Control-Max-Age", "86400"),
)


def is_public(path: str) -> bool:
    """Whether pages of any origin may read what this path answers. The console's never may."""
    return path.startswith(_PUBLIC_PREFIXES)


def guard() -> Response | None:
    """Before every public operation: answer a preflight, refuse a body that is too large.

    Looks at the bare environment first: most requests have no body.
    """
    environ = request.environ
    if environ["REQUEST_METHOD"] == "OPTIONS":
        return _preflight()
    if environ.get("CONTENT_LENGTH") or "HTTP_TRANSFER_ENCODING" in environ:
        _bound_body()
    return None


def _bound_body() -> None:
    """Refuse a body over the limit; one of undeclared length (chunked) is read here to find out."""
    # One byte more than is allowed: a body cut off exactly at the limit could not be told from a whole one.
    request.max_content_length = MAX_BODY_BYTES + 1
    length = request.content_length
    if length is None:
        length = len(request.get_data())
    if length > MAX_BODY_BYTES:
        raise RequestEntityTooLarge


def _preflight() -> Response:
    response = Response(status=204, headers=_PREFLIGHT)
    del response.headers["Content-Type"]  # nothing has no type
    return response


def caller() -> IPAddress | None:
    """The address of who asks, as ``TRUSTED_PROXIES`` defines it."""
    environ = request.environ
    return caller_address(
        environ.get("REMOTE_ADDR"), environ.get("HTTP_X_FORWARDED_FOR"), current_door().trusted_proxies
    )
