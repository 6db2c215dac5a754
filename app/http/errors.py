"""Maps any exception to an error of the gateway, and answers every error in JSON, or with a page.

Which exception is which error is decided here for all interfaces without sign-in. Each answers the kinds of
errors in its own protocol. No message reveals internals of the gateway: the log has the cause
(docs/interface/answers.md#errors).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from flask import Flask, Response, current_app, request
from werkzeug import exceptions as framework
from werkzeug.exceptions import BadHost, HTTPException

from app.db.writes import is_unavailable
from app.http.headers import PRIVATE_HEADERS, REASON, meant_headers
from app.http.mounted import below
from app.http.public import DOCS, PUBLIC_HEADERS, answer_shape, is_public, refusal_body
from app.observability.outages import FAILURES
from app.values.codes import Reason
from app.values.error_catalogue import ErrorKind
from app.values.errors import BadRequest, GatewayError

log = logging.getLogger(__name__)

UNREADABLE: Final = "the request cannot be read"

RETRY_SECONDS: Final = 1
"""When clients may try again while the gateway is unavailable."""

FRAMEWORK_ERRORS: Final[dict[type[BaseException], tuple[Reason, str]]] = {
    framework.BadRequest: (Reason.BAD_REQUEST, UNREADABLE),
    framework.NotFound: (Reason.PATH_NOT_FOUND, "this path does not exist"),
    framework.MethodNotAllowed: (Reason.METHOD_NOT_ALLOWED, "this path does not support this method"),
    framework.RequestEntityTooLarge: (Reason.BODY_TOO_LARGE, "the body is larger than 64 KiB"),
    framework.UnsupportedMediaType: (
        Reason.UNSUPPORTED_MEDIA_TYPE,
        "send the body with Content-Type: application/json",
    ),
    framework.TooManyRequests: (Reason.RATE_LIMITED, "too many requests: wait before trying again"),
}
"""Reason and message of the framework's own exceptions; subclasses count as the nearest of these."""


_ANYWHERE: Final = {"HEAD", "OPTIONS"}
"""Methods that paths support in addition to their own."""


def as_gateway_error(error: Exception) -> GatewayError:
    """The error itself if it is the gateway's own; else the gateway's error for it.

    Any unknown exception is a fault of the gateway.
    """
    if isinstance(error, GatewayError):
        return error
    if is_unavailable(error):
        return GatewayError(
            "the gateway cannot reach its database: try again in a moment",
            reason=Reason.UNAVAILABLE,
        )
    if isinstance(error, framework.MethodNotAllowed) and error.valid_methods:
        methods = " or ".join(sorted(set(error.valid_methods) - _ANYWHERE))
        msg = f"this path does not support this method: send the request by {methods}"
        return GatewayError(msg, reason=Reason.METHOD_NOT_ALLOWED)
    for ancestor in type(error).__mro__:
        if ancestor in FRAMEWORK_ERRORS:
            reason, msg = FRAMEWORK_ERRORS[ancestor]
            return GatewayError(msg, reason=reason)
    return GatewayError("internal error of the gateway, not caused by the request", reason=Reason.INTERNAL)


def retry_after(error: GatewayError) -> int | None:
    """Seconds after which to try again: the error's own, else a second while unavailable."""
    if error.retry_after is not None:
        return error.retry_after
    return RETRY_SECONDS if error.kind is ErrorKind.UNAVAILABLE else None


HTTP_STATUS: Final[dict[ErrorKind, int]] = {
    ErrorKind.ANSWERED: 200,
    ErrorKind.BAD_REQUEST: 400,
    ErrorKind.UNAUTHORIZED: 401,
    ErrorKind.FORBIDDEN: 403,
    ErrorKind.NOT_FOUND: 404,
    ErrorKind.METHOD_NOT_ALLOWED: 405,
    ErrorKind.TOO_LARGE: 413,
    ErrorKind.UNSUPPORTED_MEDIA: 415,
    ErrorKind.RATE_LIMITED: 429,
    ErrorKind.INTERNAL: 500,
    ErrorKind.UNAVAILABLE: 503,
}


def register(app: Flask) -> None:
    """Answer every error of the application, also of the routing: in JSON, or with a page."""
    app.register_error_handler(Exception, lambda error: page_of_error(error) or refuse(error))


def refuse(error: Exception) -> Response:
    """The error in the shape of the path's answer, every other field at its zero value."""
    return refusal(error, request.method, request.path)


def refusal(error: Exception, method: str, path: str) -> Response:
    """As :func:`refuse`, in the context of the application only: a request may be over before its answer."""
    status, answered = status_and_error(error)
    expected = answered.reason is Reason.WAIT_BUSY
    if not expected and (status >= 500 or answered.kind is ErrorKind.UNAUTHORIZED):
        _log(error, method, path, status, answered.reason)
    msg = answered.msg
    if answered.reason is Reason.PATH_NOT_FOUND and DOCS in current_app.blueprints:
        msg += f": the operations are described at {below('/docs/')} and in {below('/openapi.json')}"
    body = refusal_body(answer_shape(path), answered.code, msg)
    response = Response(body, status, PUBLIC_HEADERS if is_public(path) else PRIVATE_HEADERS)
    response.headers[REASON] = answered.reason.value
    _add_hints(response, error, answered)
    return response


def status_and_error(error: Exception) -> tuple[int, GatewayError]:
    """The HTTP status of the answer, and the error in it."""
    answered = as_gateway_error(error)
    if answered.kind is ErrorKind.INTERNAL and isinstance(error, framework.HTTPException):
        status = error.code or 500
        if 400 <= status < 500:  # a status without its own reason, such as 408 or 416
            return status, BadRequest(UNREADABLE)
    return HTTP_STATUS[answered.kind], answered


def _log(error: Exception, method: str, path: str, status: int, reason: Reason) -> None:
    """Log the cause, which a 5xx does not show to the caller; also refused tokens, at most one a minute."""
    level = logging.ERROR if reason is Reason.INTERNAL else logging.WARNING
    FAILURES.report(
        log,
        level,
        "%s %s answered %d",
        method,
        path,
        status,
        error=error,
        traced=reason is not Reason.UNAUTHORIZED,
    )


def _add_hints(response: Response, error: Exception, answered: GatewayError) -> None:
    if isinstance(error, framework.MethodNotAllowed) and error.valid_methods:
        response.headers["Allow"] = ", ".join(sorted(error.valid_methods))
    if answered.kind is ErrorKind.UNAUTHORIZED:
        response.headers["WWW-Authenticate"] = "Bearer"
    response.headers.extend(meant_headers(answered.meant, answered.meant_count))
    seconds = retry_after(answered)
    if seconds:
        response.headers["Retry-After"] = str(seconds)


_PAGES: Final = "error_pages"


def answer_errors_by_pages(app: Flask, prefix: str, page_of: Callable[[Exception], Response]) -> None:
    """Answer the errors of one part of the application with pages (:func:`page_of_error`)."""
    app.extensions.setdefault(_PAGES, {})[prefix] = page_of


def page_of_error(error: Exception) -> Response | HTTPException | None:
    """The page for an error in the parts that answer with pages; None elsewhere.

    Without a valid host no page can be built, as it has links.
    """
    for prefix, page_of in current_app.extensions.get(_PAGES, {}).items():
        if request.path.startswith(prefix) and not isinstance(error, BadHost):
            if isinstance(error, HTTPException) and (error.code is None or error.code < 400):
                return error  # a redirect of the routing
            page: Response = page_of(error)
            return page
    return None
