"""The connections of one application to its databases, each for its purpose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Engine

from app.db.cached_reads import HINTS_MAX_AGE_SECONDS, CachedReads
from app.db.engine import READER_OPTIONS, pool_options, prepare
from app.db.postgresql import Answers
from app.db.replica import PublicReads, Replica
from app.db.timeouts import COMMAND, CONSOLE, FEED, PUBLIC, REPLICA, set_timeouts
from app.db.writes import Writes, share_writes, writes_of
from app.values.times import Clock

READ_CONNECTIONS: Final = 8
"""To the primary, and as many to a replica, in each process (docs/scaling.md)."""

REPLICA_MAX_LAG_SECONDS: Final = 5.0
"""A replica that lags by more is not used until it has caught up."""

WRITER_CONNECTIONS: Final = 2
"""Kept open in each process for the feed, and as many for the console and what else writes, in addition to
those for reads. Writers take turns, so more would mostly idle, and a server of 100 connections must do for
eight processes."""

CONSOLE_OVERFLOW: Final = 6
"""Opened beyond them while several pages are read at once."""


class Database(Struct, frozen=True):
    """What a use case reads from and writes to, and the clock that dates it."""

    engine: Engine
    """For the console, commands, and all writes but those of the feed."""
    reads: Engine
    """For single-statement reads of the newest facts; see ``app.db.engine.run_read``."""
    feed: Engine
    """For batches of events: its few connections are all that uploads can keep waiting."""
    public: PublicReads
    """For public answers, which a replica may give."""
    cached: CachedReads
    """For public answers that may be a moment old."""
    hints: CachedReads
    """For hints in public answers, which may be minutes old, and which own writes do not end."""
    answers: Answers
    """When PostgreSQL last answered."""
    clock: Clock

    @property
    def engines(self) -> tuple[Engine, ...]:
        """Every engine that reads or writes, that of a replica included."""
        replica = self.public.replica
        return (self.engine, self.reads, self.feed, *([] if replica is None else [replica.engine]))

    def work_as_command(self) -> None:
        """Give this process's work on the database the time that commands may take.

        To be called before the first connection is opened.
        """
        for engine in (self.engine, self.reads, self.feed):
            set_timeouts(engine, COMMAND)


def engine_settings(url: str, replica_url: str) -> dict[str, Any]:
    """The settings of Flask-SQLAlchemy: the main engine, and those that have a pool of their own.

    So none waits for another. ``reads`` and ``replica`` are for single-statement reads, ``feed`` is for
    batches of events.
    """
    reader = {**pool_options(READ_CONNECTIONS), **READER_OPTIONS}
    feed = {**pool_options(WRITER_CONNECTIONS), "pool_timeout": FEED.lock, "pool_pre_ping": True}
    binds = {"reads": {"url": url, **reader}, "feed": {"url": url, **feed}}
    if replica_url:
        binds["replica"] = {"url": replica_url, **reader}
    return {
        "SQLALCHEMY_DATABASE_URI": url,
        # Before a transaction of many lines one round trip to make sure of the connection is nothing, and
        # a restart of the database costs no upload.
        "SQLALCHEMY_ENGINE_OPTIONS": {
            **pool_options(WRITER_CONNECTIONS, CONSOLE_OVERFLOW),
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
    answers = Answers()
    for each, timeouts in ((engine, CONSOLE), (reads, PUBLIC), (feed, FEED)):
        prepare(each, timeouts, pooled=pooled, answers=answers)
    share_writes(feed, writes_of(engine))
    replica = None
    if "replica" in engines:
        prepare(engines["replica"], REPLICA, pooled=pooled)
        replica = Replica(engines["replica"], reads, REPLICA_MAX_LAG_SECONDS)
    return Database(
        engine=engine,
        reads=reads,
        feed=feed,
        public=PublicReads(engine, reads, replica),
        cached=CachedReads(cached_seconds, writes_of(engine)),
        hints=CachedReads(HINTS_MAX_AGE_SECONDS, Writes()),
        answers=answers,
        clock=clock,
    )
