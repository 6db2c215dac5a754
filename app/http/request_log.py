"""The request log: an entry for each request, or for each that failed by the gateway's own fault.

It names the operation and never the path or the query, which name accounts, and never the caller's address.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from functools import partial
from typing import Final, Literal, NamedTuple

from flask import Response

from app.domain.codes import Reason
from app.http.answers import REASON
from app.http.later import LaterResponse
from app.logs.batch import Batch
from app.logs.served import Served
from app.logs.told import Several, Told

_log = logging.getLogger(__name__)
_OWN_FAULTS: Final = frozenset({Reason.INTERNAL.value, Reason.UNAVAILABLE.value})


class _Answer(NamedTuple):
    """What an entry is made of, once it is written: until then a request has little to do for it."""

    request_id: str
    operation: str
    status: int
    reason: str | None
    trace_id: str | None
    began: float
    at: float
    """By ``time.perf_counter``, as ``began`` is."""


class RequestLog:
    """Writes entries, by ``ACCESS_LOG``: of ``all`` requests, or of ``errors``.

    They are written some at a time. Those of failures are written at once, with all before them.
    """

    def __init__(self, wanted: Literal["errors", "all"]) -> None:
        self._all = wanted == "all"
        self._batch = Batch(_write)

    def answered(self, served: Served, response: Response) -> None:
        """Log an answer: now if it is there, or when it is out."""
        if isinstance(response, LaterResponse):
            response.log_end(partial(self.note, served))
            return
        reason = None
        # Not by `get`, which makes the name of every header small: all set this one as it is spelled here.
        for name, value in response.headers:
            if name == REASON:
                reason = value
        self.note(served, response.status_code, reason)

    def note(self, served: Served, status: int, reason: str | None) -> None:
        """Log an answer that is made.

        :param status: of HTTP; gRPC-Web answers 200 and tells its faults by the reason.
        :param reason: the value of ``X-Gateway-Reason``.
        """
        failed = status >= 500 or reason in _OWN_FAULTS
        if failed or self._all:
            at = time.perf_counter()
            self._batch.add(
                _Answer(served.id, served.operation, status, reason, served.trace_id, served.began, at)
            )
            if failed:
                self._batch.flush()

    def flush(self) -> None:
        """Write the entries that wait."""
        self._batch.flush()


def _write(answers: Sequence[_Answer]) -> None:
    """Hand some entries to whatever is set up for the log."""
    if not _log.isEnabledFor(logging.INFO):
        return
    # Not by `info`, which would look for who called it: that costs as much as the rest.
    record = logging.LogRecord(_log.name, logging.INFO, "", 0, "", None, None)
    past = record.created - time.perf_counter()
    record.msg = Several([_told(answer, past) for answer in answers])
    _log.handle(record)


def _told(answer: _Answer, past: float) -> Told:
    """The entry of an answer.

    :param past: what to add to a time of ``time.perf_counter``, to have that since the epoch.
    """
    request_id, operation, status, reason, trace_id, began, at = answer
    took = (at - began) * 1000
    fields: dict[str, object] = {
        "request_id": request_id,
        "operation": operation,
        "code": status,
        "duration_ms": round(took, 3),
    }
    if reason:
        fields["reason"] = reason
    if trace_id:
        fields["trace_id"] = trace_id
    return Told(past + at, f"{operation} answered {status} in {took:.1f} ms", fields)
