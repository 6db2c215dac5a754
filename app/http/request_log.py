"""The request log: an entry for each request, or for each that failed by the gateway's own fault.

It names the operation and never the path or the query, which name accounts, and never the caller's address.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

from flask import Response

from app.domain.codes import Reason
from app.http.answers import REASON
from app.logs.batch import Batch
from app.logs.served import Served
from app.logs.told import Several, Told

_log = logging.getLogger(__name__)
_OWN_FAULTS: Final = frozenset({Reason.INTERNAL.value, Reason.UNAVAILABLE.value})


class _Answer(NamedTuple):
    """What an entry tells, and when it was, by ``time.perf_counter``."""

    fields: dict[str, object]
    at: float


class RequestLog:
    """Writes entries, by ``ACCESS_LOG``: of ``all`` requests, or of ``errors``.

    They are written some at a time. Those of failures are written at once, with all before them.
    """

    def __init__(self, wanted: Literal["errors", "all"]) -> None:
        self._wanted = wanted
        self._batch = Batch(_write)

    def note(self, served: Served, status: int, reason: str | None) -> None:
        """Log an answer that is made.

        :param status: of HTTP; gRPC-Web answers 200 and tells its faults by the reason.
        :param reason: the value of ``X-Gateway-Reason``.
        """
        if not _log.isEnabledFor(logging.INFO):
            return
        failed = status >= 500 or reason in _OWN_FAULTS
        if self._wanted == "errors" and not failed:
            return
        now = time.perf_counter()
        fields: dict[str, object] = {
            "request_id": served.id,
            "operation": served.operation,
            "code": status,
            "duration_ms": round((now - served.began) * 1000, 3),
        }
        if reason:
            fields["reason"] = reason
        if served.trace_id:
            fields["trace_id"] = served.trace_id
        self._batch.add(_Answer(fields, now))
        if failed:
            self._batch.flush()

    def flush(self) -> None:
        """Write the entries that wait."""
        self._batch.flush()


def _write(answers: Sequence[_Answer]) -> None:
    """Hand some entries to whatever is set up for the log."""
    # Not by `info`, which would look for who called it: that costs as much as the rest.
    record = logging.LogRecord(_log.name, logging.INFO, "", 0, "", None, None)
    past = record.created - time.perf_counter()
    record.msg = Several(Told(past + each.at, _message(each.fields), each.fields) for each in answers)
    _log.handle(record)


def _message(fields: Mapping[str, object]) -> str:
    return f"{fields['operation']} answered {fields['code']} in {fields['duration_ms']:.1f} ms"


def reason_of(response: Response) -> str | None:
    """The reason of the error in an answer, None where there is none."""
    # Not by `get`, which makes the name of every header small: all set this one as it is spelled here.
    return next((value for name, value in response.headers if name == REASON), None)
