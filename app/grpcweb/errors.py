"""Every error of every call as a gRPC answer (docs/interface.md#grpc-web)."""

from __future__ import annotations

import logging
from typing import Final

from flask import Response, request

from app.db.writes import is_unavailable
from app.domain.codes import Reason
from app.domain.error_catalogue import ErrorKind
from app.grpcweb.calls import Method
from app.grpcweb.deadlines import DeadlineExceeded
from app.grpcweb.frames import CompressedMessage
from app.grpcweb.responses import GrpcStatus, respond
from app.http.errors import as_gateway_error, retry_after
from app.http.progress import meant_header
from app.outages import FAILURES

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

    :param method: which was called, None where that is unknown.
    """
    if isinstance(error, CompressedMessage):
        text = "compressed messages are not supported: send the message uncompressed"
        return respond(GrpcStatus.UNIMPLEMENTED, text=text, reason=Reason.UNSUPPORTED_MEDIA_TYPE)
    if isinstance(error, DeadlineExceeded):
        return respond(GrpcStatus.DEADLINE_EXCEEDED, text="the deadline of grpc-timeout has passed")
    answered = as_gateway_error(error, is_unavailable)
    status, reason = GRPC_STATUS[answered.kind], answered.reason
    if status in (GrpcStatus.INTERNAL, GrpcStatus.UNAVAILABLE):
        _log(error, status)
    if method and status is GrpcStatus.OK:
        message = method.error(answered.code, answered.msg).SerializeToString()
        return respond(status, message=message, reason=reason, headers=meant_header(answered.meant))
    return respond(status, text=answered.msg, reason=reason, retry_after=retry_after(answered))


def _log(error: Exception, status: GrpcStatus) -> None:
    """Log the cause, which the caller does not learn."""
    level = logging.ERROR if status is GrpcStatus.INTERNAL else logging.WARNING
    FAILURES.report(log, level, "%s %s answered %s", request.method, request.path, status.name, error=error)
