"""What a service returns, as an answer of the public door."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import orjson
from flask import Response
from marshmallow import Schema
from werkzeug.datastructures import Headers

from app import json_documents
from app.http.headers import AS_IT_IS, JSON, NO_STORE, PRIVATE_HEADERS, progress_headers
from app.http.public import ANY_ORIGIN, EXPOSED_HEADERS
from app.transfers.services.status import TransferStatus
from app.values.codes import ErrCode

__all__ = [
    "ANY_ORIGIN",
    "AS_IT_IS",
    "EXPOSED",
    "JSON",
    "NO_STORE",
    "PRIVATE_HEADERS",
    "PUBLIC_HEADERS",
    "answer",
    "body",
    "refusal_body",
    "status_response",
]

EXPOSED: Final = ("Access-Control-Expose-Headers", EXPOSED_HEADERS)

PUBLIC_HEADERS: Final = (*PRIVATE_HEADERS, ANY_ORIGIN, EXPOSED)


def body(shape: Schema, values: Any) -> bytes:
    """The body of a successful answer: ``values`` (an object or a mapping) in this shape, ``err`` null."""
    return orjson.dumps(json_documents.dump(shape, values))


class _PublicHeaders(Headers):
    """The headers of the public door. Werkzeug would check each of them again for each answer."""

    def __init__(self, more: Iterable[tuple[str, str]]) -> None:
        self._list = [*PUBLIC_HEADERS, *more]


class _CompleteResponse(Response):
    """A response whose headers are complete: werkzeug does not copy and check them again."""

    def get_wsgi_headers(self, environ: Any) -> Headers:
        return self.headers


def refusal_body(shape: Schema, code: ErrCode, msg: str) -> bytes:
    """The body of an error: every field of the shape at its zero value, but for ``err``."""
    return orjson.dumps(shape.dump({"err": {"code": code, "msg": msg}}))


def answer(shape: Schema, values: Any, headers: Iterable[tuple[str, str]] = ()) -> Response:
    """A successful answer: :func:`body` with the headers of the public door.

    :param headers: more of them, names and values as they are sent.
    """
    return _CompleteResponse(body(shape, values), 200, _PublicHeaders(headers))


def status_response(shape: Schema, status: TransferStatus) -> Response:
    """A successful answer about a status, with the headers of its progress."""
    return answer(shape, status, progress_headers(status.progress, status.as_of))
