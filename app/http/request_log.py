"""The request log: an entry for each request, or for each that failed by the gateway's own fault.

It names the operation and never the path or the query, which name accounts, and never the caller's address.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import Final, Literal

from flask import Response

from app.domain.codes import Reason
from app.http.answers import REASON
from app.logs.entries import FIELDS
from app.logs.served import Served

_log = logging.getLogger(__name__)
_OWN_FAULTS: Final = frozenset({Reason.INTERNAL.value, Reason.UNAVAILABLE.value})


@dataclass(frozen=True, slots=True)
class RequestLog:
    """Writes entries, by ``ACCESS_LOG``: of ``all`` requests, or of ``errors``."""

    wanted: Literal["errors", "all"]

    def note(self, served: Served, status: int, reason: str | None) -> None:
        """Log an answer that is made.

        :param status: of HTTP; gRPC-Web answers 200 and tells its faults by the reason.
        :param reason: the value of ``X-Gateway-Reason``.
        """
        if not _log.isEnabledFor(logging.INFO):
            return
        if self.wanted == "errors" and status < 500 and reason not in _OWN_FAULTS:
            return
        operation = served.operation
        milliseconds = round((time.perf_counter() - served.began) * 1000, 3)
        fields: dict[str, object] = {
            "request_id": served.id,
            "operation": operation,
            "code": status,
            "duration_ms": milliseconds,
        }
        if reason:
            fields["reason"] = reason
        if served.trace_id:
            fields["trace_id"] = served.trace_id
        # Not by `info`, which would look for who called it: that costs as much as the rest.
        record = logging.LogRecord(
            _log.name,
            logging.INFO,
            "",
            0,
            "%s answered %d in %.1f ms",
            (operation, status, milliseconds),
            None,
        )
        setattr(record, FIELDS, fields)
        _log.handle(record)


def reason_of(response: Response) -> str | None:
    """The reason of the error in an answer, None where there is none."""
    # Not by `get`, which makes the name of every header small: all set this one as it is spelled here.
    return next((value for name, value in response.headers if name == REASON), None)
