"""The one table from exceptions to HTTP. Every error of every path is answered here, as JSON."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Final

from flask import Flask, Response, g, request
from werkzeug import exceptions as http

from app.api.answers import PRIVATE_HEADERS, PUBLIC_HEADERS, refusal_body
from app.api.door import answer_shape
from app.api.request_policy import is_public
from app.domain.codes import ErrCode, Reason
from app.domain.errors import (
    BadRequest,
    GatewayError,
    TooLarge,
    Unauthorized,
    Unavailable,
    UnsupportedFormat,
)
from app.runtime.faults import DATABASE_UNAVAILABLE, FAILED, OUT_OF_REACH, RETRY_SECONDS, TOO_OFTEN

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an error is answered; what is None is taken from the error itself."""

    status: int
    reason: Reason | None = None
    msg: str | None = None
    retry_after: int | None = None


_OUT_OF_REACH: Final = Outcome(503, Reason.UNAVAILABLE, OUT_OF_REACH, RETRY_SECONDS)

OUTCOMES: Final[dict[type[BaseException], Outcome]] = {
    # The gateway's own errors, with their own words.
    GatewayError: Outcome(200),
    BadRequest: Outcome(400),
    Unauthorized: Outcome(401),
    TooLarge: Outcome(413),
    UnsupportedFormat: Outcome(415),
    Unavailable: Outcome(503, retry_after=RETRY_SECONDS),
    # The framework's, in ours.
    http.BadRequest: Outcome(400, Reason.BAD_REQUEST, "the request cannot be read"),
    http.NotFound: Outcome(404, Reason.PATH_NOT_FOUND, "there is nothing at this path"),
    http.MethodNotAllowed: Outcome(405, Reason.METHOD_NOT_ALLOWED, "this path does not take this method"),
    http.RequestEntityTooLarge: Outcome(413, Reason.BODY_TOO_LARGE, "the body is larger than 64 KiB"),
    http.UnsupportedMediaType: Outcome(
        415, Reason.UNSUPPORTED_MEDIA_TYPE, "the body must be sent as Content-Type: application/json"
    ),
    http.TooManyRequests: Outcome(429, Reason.RATE_LIMITED, TOO_OFTEN),
    # What went wrong behind the gateway.
    **dict.fromkeys(DATABASE_UNAVAILABLE, _OUT_OF_REACH),
    Exception: Outcome(500, Reason.INTERNAL, FAILED),
}
"""The nearest class in an exception's ancestry counts. Any other is a fault of the gateway, and logged."""


def register(app: Flask) -> None:
    """Answer every error of the application, of the routing too, in the envelope."""
    app.register_error_handler(Exception, refuse)


def refuse(error: Exception) -> Response:
    """The whole shape of the path's answer, all zero but ``err``."""
    outcome = outcome_of(error)
    own = error if isinstance(error, GatewayError) else None
    reason = outcome.reason or (own.reason if own else Reason.INTERNAL)
    if outcome.status >= 500:
        _log(error, outcome.status, reason)
    code = own.code if own else ErrCode.ERROR_CODE_COMMON
    body = refusal_body(answer_shape(request.path), code, outcome.msg or (own.msg if own else str(error)))
    response = Response(body, outcome.status, PUBLIC_HEADERS if is_public(request.path) else PRIVATE_HEADERS)
    response.headers["X-Gateway-Reason"] = reason.value
    _add_hints(response, outcome, error)
    return response


def _log(error: Exception, status: int, reason: Reason) -> None:
    """For the operator: the whole cause of what the caller is only told of."""
    level = logging.ERROR if reason is Reason.INTERNAL else logging.WARNING
    log.log(level, "%s %s answered %d", request.method, request.path, status, exc_info=error)


def outcome_of(error: BaseException) -> Outcome:
    """The line of the table for this error."""
    for ancestor in type(error).__mro__:
        if ancestor in OUTCOMES:
            return OUTCOMES[ancestor]
        if ancestor is http.HTTPException and isinstance(error, http.HTTPException):
            return _of_other_status(error)
    return OUTCOMES[Exception]


def _of_other_status(error: http.HTTPException) -> Outcome:
    """An HTTP error without a line: its class of status decides."""
    code = error.code or 500
    if 400 <= code < 500:
        return Outcome(code, Reason.BAD_REQUEST, OUTCOMES[http.BadRequest].msg)
    return OUTCOMES[Exception]


def _add_hints(response: Response, outcome: Outcome, error: Any) -> None:
    """What the caller may do instead, where HTTP has a header for it."""
    if isinstance(error, http.MethodNotAllowed) and error.valid_methods:
        response.headers["Allow"] = ", ".join(sorted(error.valid_methods))
    if isinstance(error, Unauthorized):
        response.headers["WWW-Authenticate"] = "Bearer"
    retry_after = g.get("retry_after", outcome.retry_after)
    if retry_after:
        response.headers["Retry-After"] = str(retry_after)
