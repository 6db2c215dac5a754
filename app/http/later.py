"""Answers that come later.

A view returns a :class:`LaterResponse`. The server waits for it, in a greenlet or a thread.
"""

from __future__ import annotations

import errno
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from threading import Event
from time import monotonic
from typing import Any, Final, Protocol

from flask import Response
from msgspec import Struct
from werkzeug.datastructures import Headers

from app.http.headers import REASON, REQUEST_ID

_FRAMING: Final = frozenset({"content-length", "content-type"})
_SOCKET: Final = "gunicorn.socket"
_REQUEST: Final = "werkzeug.request"

LOOK_SECONDS: Final = 3.0
"""How often to check whether a waiting client is still there, where the server can find out."""

LEFT: Final = 499
"""The logged status of requests whose client left before the answer, as in some proxies."""

HasLeft = Callable[[], bool]
"""Whether the client has closed the connection."""


def left_check(environ: Mapping[str, Any]) -> HasLeft | None:
    """The check whether the client of a request has left; None where the server cannot find out."""
    check: HasLeft | None = getattr(environ.get(_SOCKET), "has_left", None)
    return check


LogEnd = Callable[[int, str | None], None]
"""Called with the status of an answer, and its reason where it is an error."""


class Beginning(Struct, frozen=True):
    """Status and headers of an answer; ``body`` is the whole of it, None where pieces follow to the end."""

    status: str
    headers: list[tuple[str, str]]
    body: bytes | None


class Pause(Struct, frozen=True):
    """Nothing to send until the waiter is woken, or so many seconds have passed; None for ever."""

    seconds: float | None = None


Step = Beginning | bytes | Pause


class ClientGone(OSError):
    """The waiting client has closed the connection."""


class Source(Protocol):
    """The source of an answer."""

    def steps(self, own: list[tuple[str, str]]) -> Iterator[Step]:
        """What to do, step by step: first a ``Beginning``, with pauses before and after it.

        :param own: headers that the application has given to the answer before it began.
        """

    def on_wake(self, wake: Callable[[], None]) -> None:
        """Register a callback for whenever there may be something to do."""

    def close(self) -> None:
        """The answer is sent, or not wanted any more."""


class LaterResponse(Response):
    """The response of a view whose answer comes later."""

    def __init__(self, source: Source, headers: Iterable[tuple[str, str]]) -> None:
        super().__init__(headers=list(headers))
        self._source = source
        self._begun: Callable[[int], None] | None = None
        self._log_end: LogEnd | None = None

    def when_begun(self, begun: Callable[[int], None]) -> None:
        """Call this with the answer's HTTP status, as soon as it is known."""
        self._begun = begun

    def log_end(self, log: LogEnd) -> None:
        """Log status and reason of the answer when it is sent, or not wanted any more."""
        self._log_end = log

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        later = Later(self._source, self.headers, self._begun, self._log_end)
        has_left = left_check(environ)
        # The request and its environment refer to each other: they would stay in memory during the wait.
        environ.pop(_REQUEST, None)
        return _Awaited(later, start_response, has_left)


@lru_cache(maxsize=256)
def _shared(header: tuple[str, str]) -> tuple[str, str]:
    """The same header as one object: thousands of waiting clients have equal ones."""
    return header


class Later:
    """An answer to come, independent of its request."""

    __slots__ = ("_begun", "_source", "steps")

    def __init__(
        self,
        source: Source,
        headers: Headers,
        begun: Callable[[int], None] | None = None,
        log: LogEnd | None = None,
    ) -> None:
        own = [
            header if header[0] == REQUEST_ID else _shared(header)
            for header in headers.to_wsgi_list()
            if header[0].lower() not in _FRAMING
        ]
        self._source = source
        self._begun = begun
        self.steps = source.steps(own) if log is None else _logged(source.steps(own), log)

    def begun(self, status: str) -> None:
        """Called by the server when the answer begins.

        :param status: of its first line, such as ``200 OK``.
        """
        if self._begun is not None:
            self._begun(int(status[:3]))

    def on_wake(self, wake: Callable[[], None]) -> None:
        self._source.on_wake(wake)

    def close(self) -> None:
        self.steps.close()  # type: ignore[attr-defined]
        self._source.close()


def _logged(steps: Iterator[Step], log: LogEnd) -> Iterator[Step]:
    """The same steps; at their end, or when they are closed, the answer is logged."""
    status, reason = LEFT, None
    try:
        for step in steps:
            if isinstance(step, Beginning):
                status, reason = int(step.status[:3]), dict(step.headers).get(REASON)
            yield step
    finally:
        log(status, reason)


def with_own(headers: list[tuple[str, str]], own: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The headers of an answer, and those of ``own`` that it does not have."""
    names = {name for name, _ in headers}
    return [*headers, *(header for header in own if header[0] not in names)]


class _Awaited:
    """The pieces of the answer. Iterating waits for them; the request and its context have ended by then."""

    def __init__(self, later: Later, start_response: Any, has_left: HasLeft | None) -> None:
        self._later = later
        self._pieces = _pieces(later, start_response, has_left)

    def __iter__(self) -> Iterator[bytes]:
        return self._pieces

    def close(self) -> None:
        """Called by the server, also after the client has gone."""
        self._later.close()


def _pieces(later: Later, start_response: Any, has_left: HasLeft | None) -> Iterator[bytes]:
    woken = Event()
    later.on_wake(woken.set)
    for step in later.steps:
        if isinstance(step, Pause):
            _wait(woken, step.seconds, has_left)
        elif isinstance(step, bytes):
            yield step
        else:
            later.begun(step.status)
            start_response(step.status, step.headers)
            if step.body is not None:
                yield step.body


def _wait(woken: Event, seconds: float | None, has_left: HasLeft | None) -> None:
    """
    :raises ClientGone: the client closed the connection meanwhile.
    """
    until = math.inf if seconds is None else monotonic() + seconds
    while not woken.wait(min(LOOK_SECONDS, max(0.0, until - monotonic()))) and monotonic() < until:
        if has_left is not None and has_left():
            raise ClientGone(errno.EPIPE, "the client has left")
    woken.clear()
