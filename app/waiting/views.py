"""The operations that wait. Each view parses, registers a waiter, and returns an answer that comes later."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import orjson
from flask import Response, current_app, request

from app.db.database import Database
from app.http.application import current
from app.http.errors import refusal
from app.http.headers import AS_IT_IS, NO_STORE
from app.http.later import Beginning, LaterResponse, Pause, Step, with_own
from app.http.public import ANY_ORIGIN, EXPOSED, PUBLIC_HEADERS, PublicInterface, answer
from app.http.requests import caller, read_query
from app.network.snapshot import SnapshotSource
from app.observability.outages import FAILURES
from app.transfers.rules.published_changes import BEGINNING, STATUS_EVENT, Position, parse_position
from app.transfers.schemas.status_answers import StatusAnswer, progress_headers, status_answer
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
    end_of_shorter_log,
    follow,
    key_of,
    nothing_until,
    present_position,
    published_after,
    status_at_last,
    wait_for_status,
)

RETRY_MILLISECONDS: Final = 2_000  # until a client whose connection broke reconnects

RESET_EVENT: Final = "reset"


def opening(position: Position) -> bytes:
    """The first lines of a stream: when to reconnect, and with which id."""
    return f"retry: {RETRY_MILLISECONDS}\nid: {position}\n\n".encode()


def heartbeat(position: Position) -> bytes:
    """A comment that shows that the connection is alive, and the position up to which all was sent."""
    return f": nothing new\nid: {position}\n\n".encode()


def reset(position: Position) -> bytes:
    """The event after too many changes: the client reads the statuses again, and gets what follows."""
    return _event(position, RESET_EVENT, {"type": RESET_EVENT, "data": {"seq": position.seq}})


def status_events(changes: Iterable[PlacedChange]) -> bytes:
    return b"".join(_event(each.position, STATUS_EVENT, each.change.event(each.at)) for each in changes)


def _event(position: Position, name: str, document: dict[str, Any]) -> bytes:
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (
        str(position).encode(),
        name.encode(),
        orjson.dumps(document),
    )


HEARTBEAT_SECONDS: Final = 15.0
"""How long a stream is silent at most. Proxies close connections that are silent for longer."""

STREAM_HEADERS: Final = (
    ("Content-Type", "text/event-stream; charset=utf-8"),
    NO_STORE,
    ("X-Accel-Buffering", "no"),  # nginx would hold events back until it has a page of them
    *AS_IT_IS,
    ANY_ORIGIN,
    EXPOSED,
)


Refuse = Callable[[Exception], Response]

_log = logging.getLogger(__name__)


class LastAnswer:
    """Caches the last answer: thousands of clients that wait for one transfer get the same row at once."""

    def __init__(self) -> None:
        self._row: object = None
        self._answer: Beginning | None = None

    def of(self, waiter: StatusWaiter, make: Callable[[], Beginning]) -> Beginning:
        """The answer to a client whose wait is over, made again unless the last one had the same row."""
        if waiter.row is None or waiter.row is not self._row or self._answer is None:
            self._row, self._answer = waiter.row, make()
        return self._answer


class StatusSource:
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
        self._waiter.wake = wake

    def close(self) -> None:
        self._waiting.remove(self._waiter)


class StreamSource:
    """The stream of a client that follows a transfer or an account.

    :param after: the position after the last event that the client got.
    :param resets: the client has to read the statuses again.
    """

    __slots__ = ("_complete", "_database", "_follower", "_position", "_resets", "_waiting")

    def __init__(
        self, database: Database, waiting: Waiting, follower: Follower, after: Position, *, resets: bool
    ) -> None:
        self._resets = resets
        self._database = database
        self._waiting = waiting
        self._follower = follower
        self._position = after
        self._complete = False

    def steps(self, own: list[tuple[str, str]]) -> Iterator[Step]:
        """After an error the stream ends. Its client reconnects with its last id."""
        yield Beginning("200 OK", with_own(list(STREAM_HEADERS), own), None)
        yield opening(self._position)
        if self._resets:
            yield reset(self._position)
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
            # Read first: what the thread publishes after it is not sent yet.
            until = nothing_until(self._waiting, self._follower)
            if not (self._follower.behind or self._follower.stopped):
                if self._complete:
                    self._position = max(self._position, until)
                yield heartbeat(self._position)

    def _news(self) -> bytes:
        self._follower.behind = False
        past = published_after(self._database, self._follower.key, self._position)
        self._complete = not self._follower.is_older(past.heads)
        if not self._complete:
            self._waiting.again(self._follower)
        self._position = past.until
        return reset(past.until) if past.changes is None else status_events(past.changes)

    def on_wake(self, wake: Callable[[], None]) -> None:
        self._follower.wake = wake

    def close(self) -> None:
        self._waiting.remove(self._follower)


_LAST: Final = "last_awaited_answer"
_WAIT_QUERY: Final = WaitQuery()
_EVENTS_QUERY: Final = EventsQuery()


def wait_transfer_status() -> Response:
    shape = status_answer(current(PublicInterface).compat_clients)
    parts = current(Database), current(SnapshotSource), current(Waiting)
    query = read_query(_WAIT_QUERY)
    seconds = min(query.get("timeout", LONGEST_SECONDS), LONGEST_SECONDS)
    after = query.get("after_status") if request.method == "GET" else None
    found = wait_for_status(*parts, query["transfer_id"], after, seconds, _network())
    if not isinstance(found, StatusWaiter):
        return answer(shape, found, progress_headers(found))
    last = current_app.extensions.setdefault(_LAST, LastAnswer())
    source = StatusSource(*parts, shape, found, _refuse_later(current_app.app_context, request.path), last)
    return LaterResponse(source, PUBLIC_HEADERS)


def transfer_events() -> Response:
    database = current(Database)
    waiting = current(Waiting)
    query = read_query(_EVENTS_QUERY)
    account = account_key(query["account"]) if "account" in query else None
    key = key_of(query.get("transfer_id"), account)
    if key is None:
        raise BadRequest("transfer_id: send either it or account")
    after = _position(request.headers.get("Last-Event-ID") or query.get("last_event_id"))
    if request.method == "HEAD":
        return Response(headers=STREAM_HEADERS)
    follower = follow(waiting, key, _network())
    try:
        shorter = None if after is None else end_of_shorter_log(database, after)
        if after is None:
            after = BEGINNING if account is None else present_position(database)
    except BaseException:
        waiting.remove(follower)
        raise
    source = StreamSource(database, waiting, follower, shorter or after, resets=shorter is not None)
    return LaterResponse(source, STREAM_HEADERS)


def _network() -> str | None:
    """The network that the caller is counted under while it waits."""
    address = caller()
    return None if address is None else counted_network(address)


def _position(text: str | None) -> Position | None:
    try:
        return parse_position(text) if text else None
    except ValueError as error:
        raise BadRequest.naming({"Last-Event-ID": str(error)}) from None


def _refuse_later(context: Callable[[], Any], path: str) -> Refuse:
    """A function that makes an error's answer after the request is over."""

    def refuse(error: Exception) -> Response:
        with context():
            return refusal(error, "GET", path)

    return refuse
