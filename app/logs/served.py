"""Which request is being served: what its log entries have in common."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, Final

OPERATION: Final = "gateway.operation"
"""Where a door writes the name of an operation into a request's environment: endpoints tell most."""

UNKNOWN: Final = "unknown"
"""The operation of a request to a path that nobody serves."""

_FORGOTTEN: Final[Mapping[str, Any]] = MappingProxyType({})


class Served:
    """One request, from its first moment in the application until its answer is handed over."""

    __slots__ = ("_environ", "_operation", "answered", "began", "id", "told", "trace_id")

    def __init__(self, request_id: str, environ: dict[str, Any], told: str | None = None) -> None:
        """
        :param told: the id in the answer, where the log must not have it.
        """
        self.id = request_id
        """In the log."""
        self.told = told or request_id
        """In the answer."""
        self.began = time.perf_counter()
        """By ``time.perf_counter``, in seconds."""
        self.trace_id: str | None = None
        """In hexadecimal digits, where the request is traced."""
        self.answered: dict[str, int] = {}
        """What a trace tells of the answer."""
        self._environ: Mapping[str, Any] = environ
        self._operation: str | None = None

    @property
    def operation(self) -> str:
        """The name of the view, of a closed set: no path, which callers choose."""
        if self._operation is not None:
            return self._operation
        named: str | None = self._environ.get(OPERATION)
        if named is None:
            named = getattr(self._environ.get("werkzeug.request"), "endpoint", None)
        return named or UNKNOWN

    def settle(self) -> None:
        """Keep the operation, and nothing else of the request's environment: thousands may wait."""
        self._operation = self.operation
        self._environ = _FORGOTTEN


SERVED: Final[ContextVar[Served | None]] = ContextVar("served", default=None)
"""That of this thread or greenlet; None where no request is served."""
