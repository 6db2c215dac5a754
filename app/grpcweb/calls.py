"""The service as a part of the Flask application: every request under its path, every error as gRPC.

A frame of gRPC-Web is a byte of flags, the length of what follows in four bytes (big-endian), and that many
bytes. In the text types the frames are in base64, in pieces of any size: each may end with its own padding.
"""

from __future__ import annotations

import logging
import re
import struct
import time
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any, Final
from urllib.parse import quote

from flask import Blueprint, Flask, Response, request
from msgspec import Struct, field
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.routing import BaseConverter, Rule

from app.db.database import Database
from app.feed.services.ahead import settle_what_is_due
from app.grpcweb.messages import Method, read_question
from app.grpcweb.service import methods
from app.http.application import add_part, current
from app.http.errors import as_gateway_error, retry_after
from app.http.headers import AS_IT_IS, NO_STORE, REASON, meant_headers
from app.http.public import ANY_ORIGIN, EXPOSED_HEADERS, MAX_QUESTION_BYTES, preflight
from app.observability.logs import OPERATION, UNKNOWN
from app.observability.outages import FAILURES
from app.values.codes import Reason
from app.values.error_catalogue import ErrorKind
from app.values.errors import BadRequest, GatewayError, TooLarge, UnsupportedFormat

BINARY: Final = "application/grpc-web+proto"
TEXT: Final = "application/grpc-web-text+proto"

_ENCODINGS: Final = {
    "application/grpc-web": BINARY,
    "application/grpc-web+proto": BINARY,
    "application/grpc-web-text": TEXT,
    "application/grpc-web-text+proto": TEXT,
}


def encoding_of(content_type: str) -> str | None:
    """``BINARY`` or ``TEXT`` for a Content-Type, ignoring case and parameters; None for others."""
    return _ENCODINGS.get(content_type.partition(";")[0].strip().lower())


def answer_encoding(content_type: str, accept: str) -> str:
    """``BINARY`` or ``TEXT``: the first that the Accept header names, else that of the request.

    Clients that read streams as text say so in Accept; ``*/*`` names neither.
    """
    for accepted in accept.split(","):
        encoding = encoding_of(accepted)
        if encoding is not None:
            return encoding
    return encoding_of(content_type) or BINARY


HEADER: Final = struct.Struct(">BI")

TOO_LARGE: Final = "the message is larger than 64 KiB"

_COMPRESSED: Final = 0x01
_TRAILERS: Final = 0x80

_QUANTUM: Final = rb"[A-Za-z0-9+/]{4}"
_PADDED: Final = rb"[A-Za-z0-9+/]{2}(?:==|[A-Za-z0-9+/]=)"
_TEXT: Final = re.compile(rb"(?:%b|%b)*" % (_QUANTUM, _PADDED))
_PIECE: Final = re.compile(rb"[A-Za-z0-9+/]+=*")
_UNESCAPED: Final = "".join(chr(code) for code in range(0x20, 0x7F) if chr(code) != "%")


class CompressedMessage(Exception):
    pass


def read_message(body: bytes, longest: int) -> bytes:
    """The message of the one frame of a unary request.

    :param longest: the most bytes that a message may have.
    :raises BadRequest: the body is not exactly one frame, or not one of a message.
    :raises CompressedMessage: its flag says so.
    :raises TooLarge: its length says so.
    """
    if len(body) < HEADER.size:
        raise BadRequest("body: ends before its message" if body else "body: must contain a message")
    flags, length = HEADER.unpack_from(body)
    if flags == _COMPRESSED:
        raise CompressedMessage
    if flags:
        raise BadRequest(f"body: must start with a message, not with a frame with the flags 0x{flags:02x}")
    if length > longest:
        raise TooLarge(TOO_LARGE)
    rest = len(body) - HEADER.size - length
    if rest:
        raise BadRequest(
            f"body: {'ends before its message does' if rest < 0 else 'has data after its message'}"
        )
    return body[HEADER.size :]


def write_answer(message: bytes | None, trailers: Mapping[str, str]) -> bytes:
    """The frame of a message, if there is one, and the frame of the trailers.

    :param trailers: lower-case names and values in printable ASCII.
    """
    lines = "".join(f"{name}:{value}\r\n" for name, value in trailers.items()).encode("ascii")
    end = HEADER.pack(_TRAILERS, len(lines)) + lines
    return end if message is None else HEADER.pack(0, len(message)) + message + end


def decode_text(body: bytes) -> bytes:
    """The bytes that the pieces of base64 encode.

    :raises BadRequest: it is not base64; white space is refused as well.
    """
    if not _TEXT.fullmatch(body):
        raise BadRequest("body: is not base64")
    return b"".join(map(b64decode, _PIECE.findall(body)))


def encode_text(body: bytes) -> bytes:
    """One piece of base64, which every reader accepts."""
    return b64encode(body)


def encode_status_message(text: str) -> str:
    """``grpc-message`` for a text: what is not printable ASCII, and ``%``, percent-encoded as UTF-8."""
    return quote(text, safe=_UNESCAPED, errors="replace")


_TIMEOUT: Final = re.compile(r"([0-9]{1,8})([HMSmun])")
_SECONDS: Final = {"H": 3600.0, "M": 60.0, "S": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}


class DeadlineExceeded(Exception):
    pass


class Deadline(Struct, frozen=True):
    """When the caller stops waiting, in seconds of a monotonic clock; None where it waits for ever."""

    at: float | None

    @classmethod
    def read(cls, timeout: str | None, now: float) -> Deadline:
        """The deadline of a request received at ``now`` with this ``grpc-timeout``, None for no header.

        :raises BadRequest: it is not one to eight digits and a unit (H, M, S, m, u, n).
        """
        if timeout is None:
            return cls(None)
        match = _TIMEOUT.fullmatch(timeout)
        if match is None:
            raise BadRequest("grpc-timeout: must be one to eight digits and a unit (H, M, S, m, u or n)")
        return cls(now + int(match[1]) * _SECONDS[match[2]])

    def check(self, now: float) -> None:
        """:raises DeadlineExceeded: the caller waits no longer."""
        if self.at is not None and now >= self.at:
            raise DeadlineExceeded


_HEADERS: Final = (
    NO_STORE,
    *AS_IT_IS,
    ANY_ORIGIN,
    ("Access-Control-Expose-Headers", f"grpc-status, grpc-message, {EXPOSED_HEADERS}"),
)


class GrpcStatus(IntEnum):
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
    """The answer to the current request, in the content type that it accepts.

    An answer without a message repeats its trailers as headers: some clients read only those, others only the
    body. ``X-Gateway-Reason``, ``Retry-After`` and ``headers`` are only headers, as some clients join the
    values of both.

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


log = logging.getLogger(__name__)

GRPC_STATUS: Final[dict[ErrorKind, GrpcStatus]] = {
    ErrorKind.ANSWERED: GrpcStatus.OK,
    ErrorKind.BAD_REQUEST: GrpcStatus.INVALID_ARGUMENT,
    ErrorKind.UNAUTHORIZED: GrpcStatus.UNAUTHENTICATED,
    ErrorKind.FORBIDDEN: GrpcStatus.PERMISSION_DENIED,
    ErrorKind.NOT_FOUND: GrpcStatus.UNIMPLEMENTED,
    ErrorKind.METHOD_NOT_ALLOWED: GrpcStatus.UNIMPLEMENTED,
    ErrorKind.TOO_LARGE: GrpcStatus.RESOURCE_EXHAUSTED,
    ErrorKind.UNSUPPORTED_MEDIA: GrpcStatus.INVALID_ARGUMENT,
    ErrorKind.RATE_LIMITED: GrpcStatus.RESOURCE_EXHAUSTED,
    ErrorKind.INTERNAL: GrpcStatus.INTERNAL,
    ErrorKind.UNAVAILABLE: GrpcStatus.UNAVAILABLE,
}


def refuse(error: Exception, method: Method | None) -> Response:
    """The answer of a call that raised ``error``.

    :param method: None where it is unknown.
    """
    if isinstance(error, CompressedMessage):
        text = "compressed messages are not supported: send the message uncompressed"
        return respond(GrpcStatus.UNIMPLEMENTED, text=text, reason=Reason.UNSUPPORTED_MEDIA_TYPE)
    if isinstance(error, DeadlineExceeded):
        return respond(GrpcStatus.DEADLINE_EXCEEDED, text="the deadline of grpc-timeout has passed")
    answered = as_gateway_error(error)
    status, reason = GRPC_STATUS[answered.kind], answered.reason
    if status in (GrpcStatus.INTERNAL, GrpcStatus.UNAVAILABLE):
        _log(error, status)
    if method and status is GrpcStatus.OK:
        message = method.error(answered.code, answered.msg).SerializeToString()
        headers = meant_headers(answered.meant, answered.meant_count)
        return respond(status, message=message, reason=reason, headers=headers)
    return respond(status, text=answered.msg, reason=reason, retry_after=retry_after(answered))


def _log(error: Exception, status: GrpcStatus) -> None:
    level = logging.ERROR if status is GrpcStatus.INTERNAL else logging.WARNING
    FAILURES.report(log, level, "%s %s answered %s", request.method, request.path, status.name, error=error)


PATH: Final = "/sgn.gateway.v1.Web/"
"""Followed by the method. The router accepts a doubled slash in front for the same path."""

MAX_BODY_BYTES: Final = HEADER.size + MAX_QUESTION_BYTES
MAX_TEXT_BYTES: Final = 2 * MAX_BODY_BYTES
"""Base64 takes 4/3 of its bytes; the rest allows for padding between pieces."""

_KEY: Final = "grpcweb"
_ENDPOINT: Final = "grpcweb.call"

web = Blueprint("grpcweb", __name__)


class Methods(Struct, frozen=True):
    by_name: dict[str, Method] = field(default_factory=methods)


class _RestOfPath(BaseConverter):
    """The rest of a path, of any characters and possibly empty."""

    regex = ".*?"
    part_isolating = False


def open_interface(app: Flask) -> None:
    """Add the service to the application.

    The rules name no HTTP method, so they match every one: every request is answered in gRPC's form, never by
    the framework.
    """
    add_part(app, Methods, Methods())
    app.register_blueprint(web)
    app.url_map.converters["rest"] = _RestOfPath
    for websocket in (False, True):
        app.url_map.add(Rule(f"{PATH}<rest:name>", endpoint=_ENDPOINT, websocket=websocket))


@web.url_value_preprocessor
def name_operation(endpoint: str | None, values: dict[str, Any] | None) -> None:
    """Set the method's name for logs and metrics, before the call can be refused."""
    name = (values or {}).get("name")
    known = name if name in current(Methods).by_name else UNKNOWN  # of a closed set, unlike callers' names
    request.environ[OPERATION] = f"{_KEY}.{known}"


@web.endpoint(_ENDPOINT)
def call(name: str) -> Response:
    """One call, or the preflight of a browser before it."""
    if request.method == "OPTIONS":
        return preflight(200)
    if request.method != "POST":
        raise GatewayError("calls must be POST requests", reason=Reason.METHOD_NOT_ALLOWED)
    method = current(Methods).by_name.get(name)
    if method is None:
        raise GatewayError("unknown method", reason=Reason.PATH_NOT_FOUND)
    encoding = encoding_of(request.headers.get("Content-Type", ""))
    if encoding is None:
        raise UnsupportedFormat(f"send the body with Content-Type: {BINARY} or {TEXT}")
    deadline = Deadline.read(request.headers.get("grpc-timeout"), time.monotonic())
    message = read_message(_body(text=encoding == TEXT), MAX_QUESTION_BYTES)
    deadline.check(time.monotonic())
    settle_what_is_due(current(Database))
    done = method.call(read_question(method.question, message, method.read))
    answer = method.write(done)
    deadline.check(time.monotonic())
    headers = () if method.headers is None else method.headers(done)
    return respond(GrpcStatus.OK, message=answer.SerializeToString(), headers=headers)


@web.errorhandler(Exception)
def answer_error(error: Exception) -> Response:
    """The answer to an error, also to one from before the call, such as the limiter's."""
    name = (request.view_args or {}).get("name", "")
    return refuse(error, current(Methods).by_name.get(name))


def _body(*, text: bool) -> bytes:
    """:raises TooLarge: the frames are longer than one message can be."""
    longest = MAX_TEXT_BYTES if text else MAX_BODY_BYTES
    # One byte more than allowed: otherwise a body cut off at the limit would look complete.
    request.max_content_length = longest + 1
    if (request.content_length or 0) > longest:
        raise TooLarge(TOO_LARGE)
    try:
        body = request.get_data(cache=False)
    except RequestEntityTooLarge:
        raise TooLarge(TOO_LARGE) from None
    if len(body) > longest:
        raise TooLarge(TOO_LARGE)
    return decode_text(body) if text else body
