"""The operations of those who wait. Each view parses, registers who waits, and leaves the answer to come."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import orjson
from flask import Response, current_app, request

from app.db.database import Database
from app.http.errors import refusal
from app.http.headers import AS_IT_IS, NO_STORE
from app.http.interface import PublicInterface
from app.http.later import Beginning, LaterResponse, Pause, Step, with_own
from app.http.public import ANY_ORIGIN, EXPOSED, PUBLIC_HEADERS, answer
from app.http.requests import caller, read_query
from app.network.snapshot import SnapshotSource
from app.observability.outages import FAILURES
from app.parts import current
from app.transfers.schemas.status_answers import StatusAnswer, progress_headers, status_answer
from app.transfers.status_changes import BEGINNING, STATUS_EVENT, Position, parse_position
from app.values.errors import BadRequest
from app.values.identifiers import account_key
from app.values.ip_addresses import counted_network
from app.waiting.register import Waiting
from app.waiting.schemas import EventsQuery, WaitQuery
from app.waiting.services import (
    LONGEST_SECONDS,
    Follower,
    PlacedChange,
    StatusWaiter,
    follow,
    key_of,
    nothing_until,
    present_position,
    published_after,
    status_at_last,
    wait_for_status,
)

RETRY_MILLISECONDS: Final = 2_000
"""When a client whose connection broke comes again."""

RESET_EVENT: Final = "reset"


def opening(position: Position) -> bytes:
    """The first lines: when to come again, and with which id."""
    return f"retry: {RETRY_MILLISECONDS}\nid: {position}\n\n".encode()


def heartbeat(position: Position) -> bytes:
    """A comment, which shows that the connection lives, and how far everything was told."""
    return f": nothing new\nid: {position}\n\n".encode()


def reset(position: Position) -> bytes:
    """Too much came since the client's last event: it reads the statuses anew, and hears what follows."""
    return _event(position, RESET_EVENT, {"type": RESET_EVENT, "data": {"seq": position.seq}})


def told(changes: Iterable[PlacedChange]) -> bytes:
    """Changes of statuses, each an event with its id."""
    return b"".join(_event(each.position, STATUS_EVENT, each.change.event(each.at)) for each in changes)


def _event(position: Position, name: str, document: dict[str, Any]) -> bytes:
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (
        str(position).encode(),
        name.encode(),
        orjson.dumps(document),
    )


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

    __slots__ = ("_database", "_last", "_refuse", "_shape", "_snapshots", "_waiter", "_waiting")

    def __init__(
        self,
        database: Database,
        snapshots: SnapshotSource,
        waiting: Waiting,
        shape: StatusAnswer,
        waiter: StatusWaiter,
        refuse: Refuse,
        last: LastAnswer,
    ) -> None:
        self._database = database
        self._snapshots = snapshots
        self._waiting = waiting
        self._last = last
        self._shape = shape
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
            status = status_at_last(self._database, self._snapshots, self._waiter)
            made = answer(self._shape, status, progress_headers(status))
        except Exception as error:
            made = self._refuse(error)
        return Beginning(made.status, made.headers.to_wsgi_list(), made.get_data())

    def on_wake(self, wake: Callable[[], None]) -> None:
        """See ``Source.on_wake``."""
        self._waiter.wake = wake

    def close(self) -> None:
        """Wait no more."""
        self._waiting.remove(self._waiter)


class StreamSource:
    """The stream of one who follows a transfer or an account."""

    __slots__ = ("_complete", "_database", "_follower", "_position", "_waiting")

    def __init__(self, database: Database, waiting: Waiting, follower: Follower, after: Position) -> None:
        """
        :param after: behind the last event that the client heard of.
        """
        self._database = database
        self._waiting = waiting
        self._follower = follower
        self._position = after
        self._complete = False

    def steps(self, own: list[tuple[str, str]]) -> Iterator[Step]:
        """See ``Source.steps``. A stream that cannot go on ends: its client comes again with its last id."""
        yield Beginning("200 OK", with_own(list(STREAM_HEADERS), own), None)
        yield opening(self._position)
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
                    self._position = max(self._position, nothing_until(self._waiting, self._follower))
                yield heartbeat(self._position)

    def _news(self) -> bytes:
        self._follower.behind = False
        past = published_after(self._database, self._follower.key, self._position)
        self._complete = not self._follower.is_older(past.heads)
        if not self._complete:
            self._waiting.again(self._follower)
        self._position = past.until
        return reset(past.until) if past.changes is None else told(past.changes)

    def on_wake(self, wake: Callable[[], None]) -> None:
        """See ``Source.on_wake``."""
        self._follower.wake = wake

    def close(self) -> None:
        """Follow no more."""
        self._waiting.remove(self._follower)


_LAST: Final = "last_awaited_answer"
_WAIT_QUERY: Final = WaitQuery()
_EVENTS_QUERY: Final = EventsQuery()


def wait_transfer_status() -> Response:
    """Is this transfer at another status by now?"""
    shape = status_answer(current(PublicInterface).compat_clients)
    parts = current(Database), current(SnapshotSource), current(Waiting)
    asked = read_query(_WAIT_QUERY)
    seconds = min(asked.get("timeout", LONGEST_SECONDS), LONGEST_SECONDS)
    after = asked.get("after_status") if request.method == "GET" else None
    found = wait_for_status(*parts, asked["transfer_id"], after, seconds, _network())
    if not isinstance(found, StatusWaiter):
        return answer(shape, found, progress_headers(found))
    last = current_app.extensions.setdefault(_LAST, LastAnswer())
    source = StatusSource(*parts, shape, found, _refuse_later(current_app.app_context, request.path), last)
    return LaterResponse(source, PUBLIC_HEADERS)


def transfer_events() -> Response:
    """What happens to this transfer, or to those of this account?"""
    database = current(Database)
    waiting = current(Waiting)
    asked = read_query(_EVENTS_QUERY)
    account = account_key(asked["account"]) if "account" in asked else None
    key = key_of(asked.get("transfer_id"), account)
    if key is None:
        raise BadRequest("transfer_id: send either it or account")
    after = _position(request.headers.get("Last-Event-ID") or asked.get("last_event_id"))
    if request.method == "HEAD":
        return Response(headers=STREAM_HEADERS)
    follower = follow(waiting, key, _network())
    try:
        if after is None:
            after = BEGINNING if account is None else present_position(database)
    except BaseException:
        waiting.remove(follower)
        raise
    return LaterResponse(StreamSource(database, waiting, follower, after), STREAM_HEADERS)


def _network() -> str | None:
    """What the caller is counted by among those who wait."""
    address = caller()
    return None if address is None else counted_network(address)


def _position(text: str | None) -> Position | None:
    try:
        return parse_position(text) if text else None
    except ValueError as error:
        raise BadRequest.naming({"Last-Event-ID": str(error)}) from None


def _refuse_later(context: Callable[[], Any], path: str) -> Refuse:
    """What makes an answer of an error when the request is over."""

    def refuse(error: Exception) -> Response:
        with context():
            return refusal(error, "GET", path)

    return refuse
