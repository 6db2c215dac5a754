"""Errors that name a code and what the caller can do. They know no HTTP."""

from __future__ import annotations

from collections.abc import Mapping

from app.domain.codes import ErrCode, Reason


class GatewayError(Exception):
    """An answer that is an error: ``code`` and ``msg`` go into ``err``.

    ``msg`` is shown to people and says what would succeed; ``reason`` is for machines.
    """

    def __init__(self, msg: str, *, reason: Reason, code: ErrCode = ErrCode.ERROR_CODE_COMMON) -> None:
        super().__init__(msg)
        self.msg = msg
        self.reason = reason
        self.code = code


class BadRequest(GatewayError):
    """The request cannot be read: HTTP 400, gRPC INVALID_ARGUMENT."""

    def __init__(self, msg: str, *, reason: Reason = Reason.BAD_REQUEST) -> None:
        super().__init__(msg, reason=reason)

    @classmethod
    def naming(cls, faults: Mapping[str, str]) -> BadRequest:
        """What is wrong with each of the fields: ``amt: is missing; usr_addr: …``."""
        return cls("; ".join(f"{name}: {fault}" for name, fault in faults.items()))


class Unavailable(GatewayError):
    """The gateway itself cannot answer right now: HTTP 503, gRPC UNAVAILABLE."""

    def __init__(self, msg: str) -> None:
        super().__init__(msg, reason=Reason.UNAVAILABLE)


class Unauthorized(GatewayError):
    """No valid token was presented: HTTP 401."""

    def __init__(self, msg: str) -> None:
        super().__init__(msg, reason=Reason.UNAUTHORIZED)


class TooLarge(GatewayError):
    """More was sent than is taken at once: HTTP 413."""

    def __init__(self, msg: str, *, reason: Reason = Reason.BODY_TOO_LARGE) -> None:
        super().__init__(msg, reason=reason)


class UnsupportedFormat(GatewayError):
    """What was sent is in a format or an encoding that is not read here: HTTP 415."""

    def __init__(self, msg: str) -> None:
        super().__init__(msg, reason=Reason.UNSUPPORTED_MEDIA_TYPE)
