"""Spans by hand: an operation, the queries and folds within it.

Where tracing is off, and within a request that is not traced, each costs a look at a variable.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar, Token
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Protocol

_TRACEPARENT: Final = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII)
_SAMPLED: Final = 1

ASKED_A_SECOND: Final = 5.0
"""How many requests a second of each process are traced because their callers want it."""

NOTHING: Final[AbstractContextManager[None]] = nullcontext()
"""In place of a span that is not recorded."""


@dataclass(frozen=True, slots=True)
class Parent:
    """The span of a caller, as its ``traceparent`` tells it."""

    trace_id: int
    span_id: int
    sampled: bool


class Recorded(Protocol):
    """A span as the library has it."""

    def set_attribute(self, key: str, value: Any) -> None:
        """Add one fact."""

    def update_name(self, name: str) -> None:
        """Call it something else."""

    def end(self) -> None:
        """It is over."""


class Recorder(Protocol):
    """What makes spans and hands them to a collector."""

    def root(self, name: str, parent: Parent | None, *, serves: bool) -> Recorded:
        """A span that is within none of this process."""

    def child(self, name: str, within: Recorded, facts: Mapping[str, Any]) -> Recorded:
        """A span within another one."""

    def trace_id(self, span: Recorded) -> str:
        """In hexadecimal digits."""

    def stop(self) -> None:
        """Hand over what is left, for a bounded time."""


_ACTIVE: Final[ContextVar[Recorded | None]] = ContextVar("active span", default=None)


class Span:
    """A span that is recorded, for the time of a block."""

    __slots__ = ("_recorded", "_token", "trace_id")

    def __init__(self, recorded: Recorded, trace_id: str = "") -> None:
        self._recorded = recorded
        self._token: Token[Recorded | None] | None = None
        self.trace_id = trace_id

    def tell(self, name: str, facts: Mapping[str, Any]) -> None:
        """Call it by a name that is known by now, and add facts: words and numbers that no caller chose."""
        self._recorded.update_name(name)
        for key, value in facts.items():
            self._recorded.set_attribute(key, value)

    def __enter__(self) -> Span:
        self._token = _ACTIVE.set(self._recorded)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        if self._token is not None:
            _ACTIVE.reset(self._token)
        if kind is not None:
            # Not the message: it may name accounts.
            self._recorded.set_attribute("error.type", kind.__name__)
        self._recorded.end()


class Tracing:
    """Decides which requests are traced. One for each process."""

    def __init__(
        self,
        recorder: Recorder,
        share: float,
        *,
        chance: Callable[[], float] = random.random,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        :param share: of the requests, from 0 to 1.
        """
        self.recorder = recorder
        self._share = share
        self._chance = chance
        self._monotonic = monotonic
        self._left = ASKED_A_SECOND
        self._counted_at = monotonic()

    def operation(self, traceparent: str | None) -> Span | None:
        """The span of a request, None where it is not traced.

        Who sends a ``traceparent`` decides, within bounds: strangers must not fill the collector.
        """
        if traceparent is None:
            return self._root("request", None, serves=True) if self._chance() < self._share else None
        parent = read_traceparent(traceparent)
        if parent is None:
            return self.operation(None)
        if not (parent.sampled and self._may_ask()):
            return None
        return self._root("request", parent, serves=True)

    def work(self, name: str, facts: Mapping[str, Any]) -> Span | None:
        """The span of work that no request asked for."""
        if self._chance() >= self._share:
            return None
        span = self._root(name, None, serves=False)
        span.tell(name, facts)
        return span

    def _root(self, name: str, parent: Parent | None, *, serves: bool) -> Span:
        recorded = self.recorder.root(name, parent, serves=serves)
        return Span(recorded, self.recorder.trace_id(recorded))

    def _may_ask(self) -> bool:
        now = self._monotonic()
        self._left = min(ASKED_A_SECOND, self._left + (now - self._counted_at) * ASKED_A_SECOND)
        self._counted_at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


_STARTED: list[Tracing] = []


def use(tracing: Tracing | None) -> None:
    """Have the spans of this process, and of those forked from it, recorded by this; None: no more."""
    _STARTED[:] = [] if tracing is None else [tracing]


def started() -> Tracing | None:
    """What records the spans of this process."""
    return _STARTED[0] if _STARTED else None


def span(name: str, **facts: Any) -> AbstractContextManager[object]:
    """A span within the one that is being recorded; nothing where none is.

    :param facts: words and numbers that tell no secret, no account and no address.
    """
    within = _ACTIVE.get()
    if within is None:
        return NOTHING
    return Span(_STARTED[0].recorder.child(name, within, facts))


def query(question: Callable[..., object]) -> AbstractContextManager[object]:
    """The span of asking the database a question, which is called as the function is."""
    if _ACTIVE.get() is None:
        return NOTHING
    return span(f"query {getattr(question, '__name__', '')}".rstrip())


def work(name: str, **facts: Any) -> AbstractContextManager[object]:
    """As :func:`span`; by itself where no request asked for the work, as in the watcher."""
    if not _STARTED:
        return NOTHING
    if _ACTIVE.get() is not None:
        return span(name, **facts)
    return _STARTED[0].work(name, facts) or NOTHING


def read_traceparent(text: str) -> Parent | None:
    """What a header ``traceparent`` says (W3C Trace Context, level 1), None where it says nothing."""
    match = _TRACEPARENT.fullmatch(text)
    if match is None or match[1] == "ff" or (match[1] == "00" and match[5]):
        return None
    trace_id, span_id = int(match[2], 16), int(match[3], 16)
    if not (trace_id and span_id):
        return None
    return Parent(trace_id, span_id, sampled=bool(int(match[4], 16) & _SAMPLED))
