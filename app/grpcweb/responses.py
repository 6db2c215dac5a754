"""HTTP answers of gRPC-Web: the status is always 200, the result is in ``grpc-status``."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Final

from flask import Response, request

from app.domain.codes import Reason
from app.grpcweb.encodings import TEXT, answer_encoding
from app.grpcweb.frames import encode_status_message, encode_text, write_answer
from app.http.answers import AS_IT_IS, NO_STORE, REASON
from app.http.public import ANY_ORIGIN, EXPOSED_HEADERS

_HEADERS: Final = (
    NO_STORE,
    *AS_IT_IS,
    ANY_ORIGIN,
    ("Access-Control-Expose-Headers", f"grpc-status, grpc-message, {EXPOSED_HEADERS}"),
)


class GrpcStatus(IntEnum):
    """The status codes of gRPC that this gateway uses."""

    OK = 0
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    UNAUTHENTICATED = 16


def respond(
    status: GrpcStatus,
    *,
    message: bytes | None = None,
    text: str = "",
    reason: Reason | None = None,
    retry_after: int | None = None,
    headers: Iterable[tuple[str, str]] = (),
) -> Response:
    """The answer to the request being served, in the content type that it asks for.

    An answer without a message repeats its trailers as headers: some clients read only those, others only
    the body. ``X-Gateway-Reason``, ``Retry-After`` and ``headers`` are headers alone, as some clients join
    the values of both.

    :param message: the bytes of the answer; None where ``status`` is not OK.
    :param text: ``grpc-message``, for people.
    :param retry_after: seconds.
    """
    trailers = {"grpc-status": str(int(status))}
    if text:
        trailers["grpc-message"] = encode_status_message(text)
    body = write_answer(message, trailers)
    encoding = answer_encoding(request.headers.get("Content-Type", ""), request.headers.get("Accept", ""))
    content = encode_text(body) if encoding == TEXT else body
    response = Response(content, headers=[*_HEADERS, *headers])
    response.headers["Content-Type"] = encoding
    if message is None:
        response.headers.update(trailers)
    if reason:
        response.headers[REASON] = reason.value
    if retry_after:
        response.headers["Retry-After"] = str(retry_after)
    return response
