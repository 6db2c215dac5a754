"""The request log: an entry for each request, or for each that failed by the gateway's own fault.

It names the operation, but neither the path nor the query, which name accounts, nor the caller's address.
"""

from __future__ import annotations

import logging
import time
from functools import partial
from typing import Final, Literal

from flask import Response

from app.http.headers import REASON
from app.http.later import LaterResponse
from app.observability.logs import Served
from app.values.codes import Reason

_log = logging.getLogger(__name__)
_OWN_FAULTS: Final = frozenset({Reason.INTERNAL.value, Reason.UNAVAILABLE.value})


class RequestLog:
    """Writes entries, by ``ACCESS_LOG``: of ``all`` requests, or of ``errors``."""

    def __init__(self, wanted: Literal["errors", "all"]) -> None:
        self._all = wanted == "all"

    def answered(self, served: Served, response: Response) -> None:
        """Log an answer: now if it is complete, else when it is sent."""
        if isinstance(response, LaterResponse):
            response.log_end(partial(self.note, served))
        else:
            self.note(served, response.status_code, response.headers.get(REASON))

    def note(self, served: Served, status: int, reason: str | None) -> None:
        """Log a complete answer.

        :param status: of HTTP; gRPC-Web answers 200 and gives its faults in the reason.
        :param reason: the value of ``X-Gateway-Reason``.
        """
        if not self._all and status < 500 and reason not in _OWN_FAULTS:
            return
        took = (time.perf_counter() - served.began) * 1000
        fields = served.fields() | {"code": status, "duration_ms": round(took, 3)}
        if reason:
            fields["reason"] = reason
        text = "%s answered %s in %.1f ms"
        _log.info(text, served.operation, status, took, extra={"fields": fields})
