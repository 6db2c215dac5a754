"""Errors that name a reason. Its row in the table of errors has the code and the kind."""

from __future__ import annotations

from collections.abc import Mapping

from app.values.codes import ErrCode, Reason
from app.values.error_catalogue import ErrorKind, row_of
from app.values.identifiers import TransferId


class GatewayError(Exception):
    """An answer that is an error.

    :param msg: shown to people; says what is wrong and what would succeed.
    :param reason: for machines. It decides the code and how an interface answers.
    :param retry_after: seconds after which it is worth trying again, where that is known.
    :param meant: the intended transfer, where the request named it otherwise than by its id.
    :param meant_count: how many transfers the request names; ``meant`` is the first of them.
    """

    def __init__(
        self,
        msg: str,
        *,
        reason: Reason,
        retry_after: int | None = None,
        meant: TransferId | None = None,
        meant_count: int = 1,
    ) -> None:
        super().__init__(msg)
        self.msg = msg
        self.reason = reason
        self.retry_after = retry_after
        self.meant = meant
        self.meant_count = meant_count

    @property
    def code(self) -> ErrCode:
        return row_of(self.reason).code

    @property
    def kind(self) -> ErrorKind:
        return row_of(self.reason).kind


class BadRequest(GatewayError):
    """The request cannot be read."""

    def __init__(self, msg: str) -> None:
        super().__init__(msg, reason=Reason.BAD_REQUEST)

    @classmethod
    def naming(cls, faults: Mapping[str, str]) -> BadRequest:
        """The error that names each field: ``amt: is missing; usr_addr: …``."""
        return cls("; ".join(f"{name}: {fault}" for name, fault in faults.items()))


class Unavailable(GatewayError):
    """The gateway cannot answer at the moment."""

    def __init__(self, msg: str) -> None:
        super().__init__(msg, reason=Reason.UNAVAILABLE)


class Unauthorized(GatewayError):
    """No valid token was presented."""

    def __init__(self, msg: str) -> None:
        super().__init__(msg, reason=Reason.UNAUTHORIZED)


class Forbidden(GatewayError):
    """The key is valid, but not for this."""

    def __init__(self, msg: str) -> None:
        super().__init__(msg, reason=Reason.INSUFFICIENT_SCOPE)


class QuotaExceeded(GatewayError):
    """A reporter has reported as much as it may in this period."""

    def __init__(self, msg: str, *, retry_after: int) -> None:
        super().__init__(msg, reason=Reason.RATE_LIMITED, retry_after=retry_after)


class TooLarge(GatewayError):
    """The body, the message or a line is larger than the gateway reads."""

    def __init__(self, msg: str, *, reason: Reason = Reason.BODY_TOO_LARGE) -> None:
        super().__init__(msg, reason=reason)


class UnsupportedFormat(GatewayError):
    """The body has a format or an encoding that is not read here."""

    def __init__(self, msg: str) -> None:
        super().__init__(msg, reason=Reason.UNSUPPORTED_MEDIA_TYPE)
