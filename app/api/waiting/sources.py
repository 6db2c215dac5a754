"""Where the answers of those who wait come from, once their requests are over."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Final

from flask import Response

from app.api.answers import ANY_ORIGIN, AS_IT_IS, EXPOSED, NO_STORE, status_response
from app.api.door import ApiDoor
from app.api.waiting import stream
from app.domain.following.position import Position
from app.http.later import Beginning, Pause, Step, with_own
from app.outages import FAILURES
from app.runtime.gateway import Gateway
from app.services.transfers.follow import Follower, nothing_until, told_after
from app.services.transfers.wait import StatusWaiter, status_at_last

HEARTBEAT_SECONDS: Final = 15.0
"""How long a stream is silent at most: proxies close what is silent for longer."""

STREAM_HEADERS: Final = (
    ("Content-Type", "text/event-stream; charset=utf-8"),
    NO_STORE,
    ("X-Accel-Buffering", "no"),  # nginx would keep events until it has a page of them
    *AS_IT_IS,
    ANY_ORIGIN,
    EXPOSED,
)


Refuse = Callable[[Exception], Response]
"""From an error to its answer."""

_log = logging.getLogger(__name__)


class LastAnswer:
    """The answer that was made last: thousands who wait for one transfer are told the same row at once."""

    def __init__(self) -> None:
        self._told: object = None
        self._answer: Beginning | None = None

    def of(self, waiter: StatusWaiter, make: Callable[[], Beginning]) -> Beginning:
        """The answer to somebody whose wait is over, made anew unless the last was told the very same row."""
        if waiter.row is None or waiter.row is not self._told or self._answer is None:
            self._told, self._answer = waiter.row, make()
        return self._answer


class StatusSource:
    """The answer to one who waits for another status."""

    __slots__ = ("_door", "_gateway", "_last", "_refuse", "_waiter")

    def __init__(
        self, gateway: Gateway, door: ApiDoor, waiter: StatusWaiter, refuse: Refuse, last: LastAnswer
    ) -> None:
        self._gateway = gateway
        self._last = last
        self._door = door
        self._waiter = waiter
        self._refuse = refuse

    def steps(self, own: list[tuple[str, str]]) -> Iterator[Step]:
        """See ``Source.steps``."""
        while not self._waiter.over:
            yield Pause()
        made = self._last.of(self._waiter, self._answer)
        yield Beginning(made.status, with_own(made.headers, own), made.body)

    def _answer(self) -> Beginning:
        try:
            made = status_response(self._door.status_answer, status_at_last(self._gateway, self._waiter))
        except Exception as error:
            made = self._refuse(error)
        return Beginning(made.status, made.headers.to_wsgi_list(), made.get_data())

    def on_wake(self, wake: Callable[[], None]) -> None:
        """See ``Source.on_wake``."""
        self._waiter.wake = wake

    def close(self) -> None:
        """Wait no more."""
        self._gateway.waiting.remove(self._waiter)


class StreamSource:
    """The stream of one who follows a transfer or an account."""

    __slots__ = ("_complete", "_follower", "_gateway", "_position")

    def __init__(self, gateway: Gateway, follower: Follower, after: Position) -> None:
        """
        :param after: behind the last event that the client heard of.
        """
        self._gateway = gateway
        self._follower = follower
        self._position = after
        self._complete = False

    def steps(self, own: list[tuple[str, str]]) -> Iterator[Step]:
        """See ``Source.steps``. A stream that cannot go on ends: its client comes again with its last id."""
        yield Beginning("200 OK", with_own(list(STREAM_HEADERS), own), None)
        yield stream.opening(self._position)
        while not self._follower.stopped:
            if self._follower.behind:
                try:
                    news = self._news()
                except Exception as error:
                    FAILURES.report(_log, logging.WARNING, "a stream of events was ended", error=error)
                    return
                if news:
                    yield news
                continue
            yield Pause(HEARTBEAT_SECONDS)
            if not (self._follower.behind or self._follower.stopped):
                if self._complete:
                    self._position = max(self._position, nothing_until(self._gateway, self._follower))
                yield stream.heartbeat(self._position)

    def _news(self) -> bytes:
        self._follower.behind = False
        told = told_after(self._gateway, self._follower.key, self._position)
        self._complete = not self._follower.is_older(told.heads)
        if not self._complete:
            self._gateway.waiting.again(self._follower)
        self._position = told.until
        return stream.reset(told.until) if told.changes is None else stream.told(told.changes)

    def on_wake(self, wake: Callable[[], None]) -> None:
        """See ``Source.on_wake``."""
        self._follower.wake = wake

    def close(self) -> None:
        """Follow no more."""
        self._gateway.waiting.remove(self._follower)
