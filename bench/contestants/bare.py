"""A bare WSGI callable: what the server alone costs."""

from __future__ import annotations

from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIEnvironment

BODY = b'{"hello":"world"}'
HEADERS = [("Content-Type", "application/json"), ("Content-Length", str(len(BODY)))]


def app(_environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer a constant."""
    start_response("200 OK", HEADERS)
    return [BODY]
