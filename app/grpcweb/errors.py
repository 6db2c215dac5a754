"""The one table from exceptions to gRPC. Every error of every call is answered here."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from flask import Response, g, request
from werkzeug import exceptions as http

from app.domain.codes import Reason
from app.domain.errors import BadRequest, GatewayError, TooLarge, Unavailable, UnsupportedFormat
from app.grpcweb.deadlines import DeadlineExceeded
from app.grpcweb.frames import TOO_LARGE, CompressedMessage
from app.grpcweb.responses import GrpcStatus, respond
from app.grpcweb.service import Method
from app.runtime.faults import DATABASE_UNAVAILABLE, FAILED, OUT_OF_REACH, RETRY_SECONDS, TOO_OFTEN

log = logging.getLogger(__name__)


class UnknownMethod(Exception):
    """The service does not answer this method (yet)."""


class NotAPost(Exception):
    """Calls are POST requests."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an error is answered; what is None is taken from the error itself."""

    status: GrpcStatus
    reason: Reason | None = None
    text: str | None = None
    retry_after: int | None = None


_Is = GrpcStatus
_OUT_OF_REACH: Final = Outcome(_Is.UNAVAILABLE, Reason.UNAVAILABLE, OUT_OF_REACH, RETRY_SECONDS)

OUTCOMES: Final[dict[type[BaseException], Outcome]] = {
    # The gateway's own errors: the first in ``err`` of the answer, the others with their own words.
    GatewayError: Outcome(_Is.OK),
    BadRequest: Outcome(_Is.INVALID_ARGUMENT),
    TooLarge: Outcome(_Is.RESOURCE_EXHAUSTED),
    UnsupportedFormat: Outcome(_Is.INVALID_ARGUMENT),
    Unavailable: Outcome(_Is.UNAVAILABLE, retry_after=RETRY_SECONDS),
    # What is wrong with the call.
    UnknownMethod: Outcome(_Is.UNIMPLEMENTED, Reason.PATH_NOT_FOUND, "this method is not implemented"),
    NotAPost: Outcome(_Is.UNIMPLEMENTED, Reason.METHOD_NOT_ALLOWED, "calls are POST requests"),
    CompressedMessage: Outcome(
        _Is.UNIMPLEMENTED, Reason.UNSUPPORTED_MEDIA_TYPE, "compressed messages are not implemented"
    ),
    DeadlineExceeded: Outcome(_Is.DEADLINE_EXCEEDED, text="the time of grpc-timeout is over"),
    # The framework's, in ours.
    http.BadRequest: Outcome(_Is.INVALID_ARGUMENT, Reason.BAD_REQUEST, "the request cannot be read"),
    http.RequestEntityTooLarge: Outcome(_Is.RESOURCE_EXHAUSTED, Reason.BODY_TOO_LARGE, TOO_LARGE),
    http.TooManyRequests: Outcome(_Is.RESOURCE_EXHAUSTED, Reason.RATE_LIMITED, TOO_OFTEN),
    # What went wrong behind the gateway.
    **dict.fromkeys(DATABASE_UNAVAILABLE, _OUT_OF_REACH),
    Exception: Outcome(_Is.INTERNAL, Reason.INTERNAL, FAILED),
}
"""The nearest class in an exception's ancestry counts. Any other is a fault of the gateway, and logged."""


def refuse(error: Exception, method: Method | None) -> Response:
    """The answer of a call that raised ``error``.

    :param method: which was called, None where that is unknown.
    """
    outcome = outcome_of(error)
    own = error if isinstance(error, GatewayError) else None
    reason = outcome.reason or (own.reason if own else None)
    if outcome.status in (GrpcStatus.INTERNAL, GrpcStatus.UNAVAILABLE):
        _log(error, outcome.status)
    if own and method and outcome.status is GrpcStatus.OK:
        message = method.error(own.code, own.msg).SerializeToString()
        return respond(GrpcStatus.OK, message=message, reason=reason)
    text = outcome.text or (own.msg if own else "")
    return respond(
        outcome.status, text=text, reason=reason, retry_after=g.get("retry_after", outcome.retry_after)
    )


def outcome_of(error: BaseException) -> Outcome:
    """The line of the table for this error."""
    for ancestor in type(error).__mro__:
        if ancestor in OUTCOMES:
            return OUTCOMES[ancestor]
    return OUTCOMES[Exception]


def _log(error: Exception, status: GrpcStatus) -> None:
    """For the operator: the whole cause of what the caller is only told of."""
    level = logging.ERROR if status is GrpcStatus.INTERNAL else logging.WARNING
    log.log(level, "%s %s answered %s", request.method, request.path, status.name, exc_info=error)
