"""The connections of one application to its databases, each for its purpose, and the facts cached of them.

Facts for many requests are read once and cached for a moment in the memory of one process
(docs/decisions/0031-cached-facts.md).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import CancelledError, Future
from types import TracebackType
from typing import Any, Final, TypeVar

from msgspec import Struct
from sqlalchemy import Engine

from app.db.engine import READER_OPTIONS, pool_options, prepare
from app.db.replica import PublicReads, Replica
from app.db.servers import OneServer
from app.db.timeouts import COMMAND, CONSOLE, FEED, PUBLIC, REPLICA, Answers, Waiting, set_timeouts
from app.db.writes import Writes, share_writes, writes_of
from app.values.errors import Unavailable
from app.values.times import Clock

T = TypeVar("T")

HINTS_MAX_AGE_SECONDS: Final = 300
"""The age limit of hints that are no facts of an answer, such as how long a route usually takes."""

MOST: Final = 4096
"""How many answers are cached: a kilobyte each, and more than a process reads in a second."""


class _Reading:
    """One answer, or the read that will give it.

    ``read_at``: monotonic seconds, before the query was sent; ``mark``: that of the writes at that moment.
    """

    __slots__ = ("answer", "done", "mark", "outcome", "read_at", "traceback")

    def __init__(self, read_at: float, mark: object) -> None:
        self.read_at = read_at
        self.mark = mark
        self.done = False
        self.answer: Any = None
        self.outcome: Future[None] = Future()
        """Ends when the read does: with its error, or cancelled where its reader was stopped."""
        self.traceback: TracebackType | None = None


class CachedReads:
    """One for each process, shared by its threads or greenlets. It has no thread of its own.

    An answer is used again while it is younger than the allowed age, and while no writing transaction has
    ended in this process since. A caller waits for the answer where another caller is reading the same.
    """

    def __init__(
        self,
        max_age_seconds: float,
        writes: Writes,
        monotonic: Callable[[], float] = time.monotonic,
        most: int = MOST,
    ) -> None:
        """
        :param max_age_seconds: 0 caches nothing: every call reads.
        :param writes: of the engines by which this process writes.
        :param most: how many answers are cached; beyond that the oldest are dropped.
        """
        self._max_age = max_age_seconds
        self._writes = writes
        self._monotonic = monotonic
        self._most = most
        # Held only for look-ups, never while a caller waits.
        self._lock = threading.Lock()
        self._readings: dict[Hashable, _Reading] = {}
        self._oldest_given = 0.0

    def run_read(self, key: Hashable, read: Callable[[], T]) -> tuple[T, float]:
        """The answer of ``read``, new or cached, and its age in seconds.

        It shows all that was committed ``max_age_seconds`` before this call, and all that this process has
        written before it.

        :param key: what is read; the same key must mean the same query.
        :param read: one statement, so that its answer is one snapshot. What it raises is raised to all who
            wait for it, and is not cached.
        """
        now = self._monotonic()
        reading = self._readings.get(key)
        if reading is None or not reading.done or not self._good(reading, now):
            if not self._max_age:
                return read(), self._monotonic() - now
            reading = self._shared(key, read, now)
            now = self._monotonic()
        answer: T = reading.answer
        age = now - reading.read_at
        self._oldest_given = max(self._oldest_given, age)
        return answer, age

    def oldest_given(self) -> float:
        """The age of the oldest answer returned since the last call of this, in seconds; 0 for none."""
        oldest, self._oldest_given = self._oldest_given, 0.0
        return oldest

    def _good(self, reading: _Reading, now: float) -> bool:
        return reading.mark is self._writes.mark and now - reading.read_at < self._max_age

    def _shared(self, key: Hashable, read: Callable[[], Any], called_at: float) -> _Reading:
        """The answer of a read that is valid for a call at that time: by another caller, else our own."""
        while True:
            reading, mine = self._found_or_begun(key, called_at)
            if mine:
                self._read(key, read, reading)
                return reading
            try:
                with Waiting() as seconds:
                    error = reading.outcome.exception(seconds)
            except CancelledError:
                continue  # its reader was stopped, so another one reads
            except TimeoutError:
                raise Unavailable("the database does not answer: try again in a few seconds") from None
            if error is not None:
                # Each raises it with the traceback of the read. Otherwise it would grow with each waiting
                # caller.
                raise error.with_traceback(reading.traceback)
            return reading

    def _found_or_begun(self, key: Hashable, called_at: float) -> tuple[_Reading, bool]:
        """The read that is valid for this call; True where it is a new one, which the caller has to do."""
        with self._lock:
            found = self._readings.get(key)
            if found is not None:
                if self._good(found, called_at):
                    return found, False
                del self._readings[key]  # so that they are in the order of their beginnings
            elif len(self._readings) >= self._most:
                del self._readings[next(iter(self._readings))]
            # Age and mark are taken before the query is sent.
            begun = self._readings[key] = _Reading(self._monotonic(), self._writes.mark)
            return begun, True

    def _read(self, key: Hashable, read: Callable[[], Any], reading: _Reading) -> None:
        try:
            reading.answer = read()
        except Exception as error:
            reading.traceback = error.__traceback__
            self._forget(key, reading)
            reading.outcome.set_exception(error)
            raise
        except BaseException:
            # A greenlet that is killed, or a thread that ends with the process: not an error of the read.
            self._forget(key, reading)
            reading.outcome.cancel()
            raise
        reading.done = True
        reading.outcome.set_result(None)

    def _forget(self, key: Hashable, reading: _Reading) -> None:
        with self._lock:
            if self._readings.get(key) is reading:
                del self._readings[key]


READ_CONNECTIONS: Final = 4
"""For public answers and other single reads: to the primary, and as many to a replica. A read takes the
database a fifth of the time that it takes the process, so more would mostly idle."""

CONSOLE_CONNECTIONS: Final = 3
"""For the console and all writes except those of the feed: a page is read while two writes of counts wait
for the writer's lock."""

FEED_CONNECTIONS: Final = 1
"""For batches of events: only one writer works at a time, so a second one would only wait for the first."""

PROCESS_CONNECTIONS: Final = READ_CONNECTIONS + CONSOLE_CONNECTIONS + FEED_CONNECTIONS
"""What a process opens at most to the primary: each worker, ``watch`` and ``deliver``
(docs/scaling.md#connections). Who needs one when all are in use waits."""

REPLICA_MAX_LAG_SECONDS: Final = 5.0
"""A replica that lags by more is not used until it has caught up."""


class Database(Struct, frozen=True):
    """The connections with which a use case reads and writes, and its clock."""

    engine: Engine
    """For the console, commands, and all writes except those of the feed."""
    reads: Engine
    """For single-statement reads of the newest facts; see ``app.db.engine.run_read``."""
    feed: Engine
    """For batches of events: uploads can block only its few connections."""
    public: PublicReads
    """For public answers, which may come from a replica."""
    cached: CachedReads
    """For public answers that may be a moment old."""
    hints: CachedReads
    """For hints in public answers, which may be minutes old; writes of this process do not invalidate them.
    """
    answers: Answers
    """When PostgreSQL last answered."""
    clock: Clock

    @property
    def engines(self) -> tuple[Engine, ...]:
        """Every engine that reads or writes, that of a replica included."""
        replica = self.public.replica
        return (self.engine, self.reads, self.feed, *([] if replica is None else [replica.engine]))

    @property
    def address(self) -> str:
        """The database's URL in a form that may be printed: a query can contain a password, too."""
        return self.engine.url.set(query={}).render_as_string(hide_password=True)

    def work_as_command(self) -> None:
        """Give this process the database timeouts of commands.

        To be called before the first connection is opened.
        """
        for engine in (self.engine, self.reads, self.feed):
            set_timeouts(engine, COMMAND)


def engine_settings(url: str, replica_url: str) -> dict[str, Any]:
    """The settings of Flask-SQLAlchemy: the main engine, and those with their own pool.

    So none waits for another. ``reads`` and ``replica`` are for single-statement reads, ``feed`` is for
    batches of events.
    """
    reader = {**pool_options(READ_CONNECTIONS), **READER_OPTIONS}
    feed = {**pool_options(FEED_CONNECTIONS), "pool_timeout": FEED.lock, "pool_pre_ping": True}
    binds = {"reads": {"url": url, **reader}, "feed": {"url": url, **feed}}
    if replica_url:
        binds["replica"] = {"url": replica_url, **reader}
    return {
        "SQLALCHEMY_DATABASE_URI": url,
        # Testing the connection takes one round trip, little compared with a transaction of many lines. So a
        # restart of the database fails no upload.
        "SQLALCHEMY_ENGINE_OPTIONS": {
            **pool_options(CONSOLE_CONNECTIONS),
            "pool_pre_ping": True,
        },
        "SQLALCHEMY_BINDS": binds,
    }


def open_database(
    engines: Mapping[str | None, Engine], clock: Clock, *, pooled: bool, cached_seconds: float
) -> Database:
    """Prepare the engines of :func:`engine_settings`; no connection is opened yet.

    :param pooled: whether a pooler shares PostgreSQL's connections between transactions.
    :param cached_seconds: how old a cached read may be.
    """
    engine, reads, feed = engines[None], engines["reads"], engines["feed"]
    answers, primary = Answers(), OneServer()
    for each, timeouts in ((engine, CONSOLE), (reads, PUBLIC), (feed, FEED)):
        prepare(each, timeouts, pooled=pooled, answers=answers, server=primary)
    share_writes(feed, writes_of(engine))
    replica, standby = None, OneServer()
    if "replica" in engines:
        prepare(engines["replica"], REPLICA, pooled=pooled, server=standby)
        replica = Replica(engines["replica"], reads, REPLICA_MAX_LAG_SECONDS, server=standby)
    return Database(
        engine=engine,
        reads=reads,
        feed=feed,
        # Connections for single-statement reads can open a transaction, but those to SQLite.
        public=PublicReads(engine if engine.dialect.name == "sqlite" else reads, reads, replica),
        cached=CachedReads(cached_seconds, writes_of(engine)),
        hints=CachedReads(HINTS_MAX_AGE_SECONDS, Writes()),
        answers=answers,
        clock=clock,
    )
