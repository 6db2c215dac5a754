"""Any exception as an error of the gateway, for the doors that are open to everybody.

Which exception is which error is decided here; each door answers the kinds of errors in its own protocol.
No message tells anything about the inside of the gateway: the log has the cause (docs/interface.md#errors).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from werkzeug import exceptions as framework

from app.values.codes import Reason
from app.values.error_catalogue import ErrorKind
from app.values.errors import GatewayError

UNREADABLE: Final = "the request cannot be read"

RETRY_SECONDS: Final = 1
"""When to ask again while the gateway is unavailable."""

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
"""Methods that paths support besides those that they are for."""


def as_gateway_error(error: Exception, is_unavailable: Callable[[Exception], bool]) -> GatewayError:
    """The error itself where it is the gateway's own; else the one that says what it means.

    :param is_unavailable: says of an exception whether it means that trying again may succeed. Whatever else
        is not known here is a fault of the gateway.
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
    """Seconds after which to ask again: the error's own, else a second while unavailable."""
    if error.retry_after is not None:
        return error.retry_after
    return RETRY_SECONDS if error.kind is ErrorKind.UNAVAILABLE else None
