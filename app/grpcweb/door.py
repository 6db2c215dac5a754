"""The service as a part of the Flask application: it answers every request under its path."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Final

from flask import Blueprint, Flask, Response, current_app, request
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.routing import BaseConverter, Rule

from app.domain.codes import Reason
from app.domain.errors import GatewayError, TooLarge, UnsupportedFormat
from app.grpcweb.calls import Call, Method
from app.grpcweb.deadlines import Deadline
from app.grpcweb.encodings import BINARY, TEXT, encoding_of
from app.grpcweb.errors import refuse
from app.grpcweb.frames import HEADER, TOO_LARGE, decode_text, read_message
from app.grpcweb.responses import GrpcStatus, respond
from app.grpcweb.service import methods
from app.http.public import MAX_QUESTION_BYTES, caller, preflight
from app.logs.entries import OPERATION, UNKNOWN
from app.runtime.gateway import current_gateway
from app.services.feed.ahead import settle_what_is_due

PATH: Final = "/sgn.gateway.v1.Web/"
"""Followed by the method. The router takes a doubled slash in front for the same path."""

MAX_BODY_BYTES: Final = HEADER.size + MAX_QUESTION_BYTES
MAX_TEXT_BYTES: Final = 2 * MAX_BODY_BYTES
"""Base64 takes 4/3 of its bytes; the rest allows for padding between pieces."""

_KEY: Final = "grpcweb"
_ENDPOINT: Final = "grpcweb.call"

web = Blueprint("grpcweb", __name__)


@dataclass(frozen=True, slots=True)
class GrpcWebDoor:
    """The setting and the methods of the door of one application."""

    trusted_proxies: int
    methods: dict[str, Method] = field(default_factory=methods)


class _RestOfPath(BaseConverter):
    """The rest of a path, of any characters and possibly empty."""

    regex = ".*?"
    part_isolating = False


def open_door(app: Flask, *, trusted_proxies: int) -> None:
    """Add the service to the application.

    The rules name no HTTP method, so they match every one: every request is answered in gRPC's form,
    never by the framework.
    """
    app.extensions[_KEY] = GrpcWebDoor(trusted_proxies)
    app.register_blueprint(web)
    app.url_map.converters["rest"] = _RestOfPath
    for websocket in (False, True):
        app.url_map.add(Rule(f"{PATH}<rest:name>", endpoint=_ENDPOINT, websocket=websocket))


@web.url_value_preprocessor
def name_operation(endpoint: str | None, values: dict[str, Any] | None) -> None:
    """Tell logs and metrics which method is called, before anything can refuse the call."""
    name = (values or {}).get("name")
    known = name if name in _door().methods else UNKNOWN  # of a closed set, whatever callers send
    request.environ[OPERATION] = f"{_KEY}.{known}"


@web.endpoint(_ENDPOINT)
def call(name: str) -> Response:
    """One call, or the preflight of a browser before it."""
    if request.method == "OPTIONS":
        return preflight(200)
    if request.method != "POST":
        raise GatewayError("calls must be POST requests", reason=Reason.METHOD_NOT_ALLOWED)
    method = _door().methods.get(name)
    if method is None:
        raise GatewayError("unknown method", reason=Reason.PATH_NOT_FOUND)
    encoding = encoding_of(request.headers.get("Content-Type", ""))
    if encoding is None:
        raise UnsupportedFormat(f"send the body with Content-Type: {BINARY} or {TEXT}")
    deadline = Deadline.read(request.headers.get("grpc-timeout"), time.monotonic())
    message = read_message(_body(text=encoding == TEXT), MAX_QUESTION_BYTES)
    deadline.check(time.monotonic())
    settle_what_is_due(current_gateway())
    asked = Call(current_gateway(), message, caller(_door().trusted_proxies))
    answer = method.run(asked)
    deadline.check(time.monotonic())
    return respond(GrpcStatus.OK, message=answer.SerializeToString(), headers=asked.headers)


@web.errorhandler(Exception)
def answer_error(error: Exception) -> Response:
    """Answer any exception, also one from before the call, such as the limiter's."""
    name = (request.view_args or {}).get("name", "")
    return refuse(error, _door().methods.get(name))


def _body(*, text: bool) -> bytes:
    """The frames of the request.

    :raises TooLarge: they are longer than one message can be.
    """
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


def _door() -> GrpcWebDoor:
    door = current_app.extensions[_KEY]
    assert isinstance(door, GrpcWebDoor)  # noqa: S101  narrows the type of an untyped registry
    return door
