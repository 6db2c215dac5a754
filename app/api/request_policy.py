"""What holds for every public request: origins, the size of bodies, who the caller is."""

from __future__ import annotations

from typing import Final

from flask import Response, request
from werkzeug.exceptions import RequestEntityTooLarge

from app.api.door import LEGACY_PREFIX, PREFIX, current_door
from app.domain.blocking import IPAddress
from app.http import public
from app.http.public import MAX_QUESTION_BYTES, preflight

_PUBLIC_PREFIXES: Final = (f"{PREFIX}/", f"{LEGACY_PREFIX}/", "/openapi.json")


def is_public(path: str) -> bool:
    """Whether pages of any origin may read the answers of this path (docs/interface.md#cors)."""
    return path.startswith(_PUBLIC_PREFIXES)


def apply_request_policy() -> Response | None:
    """Before every public operation: answer a preflight, refuse a body that is too large.

    It reads the WSGI environment directly, as most requests are neither.
    """
    environ = request.environ
    if environ["REQUEST_METHOD"] == "OPTIONS":
        return preflight(204)
    if environ.get("CONTENT_LENGTH") or "HTTP_TRANSFER_ENCODING" in environ:
        _bound_body()
    return None


def _bound_body() -> None:
    """Refuse a body over the limit. One of undeclared length (chunked) is read here to measure it."""
    length = request.content_length
    if length is None:
        length = len(request.get_data())
    if length > MAX_QUESTION_BYTES:
        raise RequestEntityTooLarge


def caller() -> IPAddress | None:
    """The caller's address as ``TRUSTED_PROXIES`` defines it (docs/interface.md#caller)."""
    return public.caller(current_door().trusted_proxies)
