"""The connections of one application to its databases, each for its purpose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Engine

from app.db.cached_reads import HINTS_MAX_AGE_SECONDS, CachedReads
from app.db.engine import READER_OPTIONS, pool_options, prepare
from app.db.replica import PublicReads, Replica
from app.db.servers import OneServer
from app.db.timeouts import COMMAND, CONSOLE, FEED, PUBLIC, REPLICA, Answers, set_timeouts
from app.db.writes import Writes, share_writes, writes_of
from app.values.times import Clock

READ_CONNECTIONS: Final = 8
"""To the primary, and as many to a replica, in each process (docs/scaling.md)."""

REPLICA_MAX_LAG_SECONDS: Final = 5.0
"""A replica that lags by more is not used until it has caught up."""

WRITER_CONNECTIONS: Final = 2
"""Open in each process for the feed, and as many for the console and all other writes, in addition to those
for reads. Writers take turns, so more would mostly idle, and a server of 100 connections has to serve eight
processes."""

CONSOLE_OVERFLOW: Final = 6
"""Opened beyond them while several pages are read at once."""


class Database(Struct, frozen=True):
    """What a use case reads from and writes to, and the clock that dates it."""

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
        """Of the database, in a form that may be printed: a query can contain a password, too."""
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
    feed = {**pool_options(WRITER_CONNECTIONS), "pool_timeout": FEED.lock, "pool_pre_ping": True}
    binds = {"reads": {"url": url, **reader}, "feed": {"url": url, **feed}}
    if replica_url:
        binds["replica"] = {"url": replica_url, **reader}
    return {
        "SQLALCHEMY_DATABASE_URI": url,
        # Testing the connection takes one round trip, little compared with a transaction of many lines. So a
        # restart of the database fails no upload.
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
    answers, primary = Answers(), OneServer()
    for each, timeouts in ((engine, CONSOLE), (reads, PUBLIC), (feed, FEED)):
        prepare(each, timeouts, pooled=pooled, answers=answers, server=primary)
    share_writes(feed, writes_of(engine))
    replica = None
    if "replica" in engines:
        standby = OneServer()
        prepare(engines["replica"], REPLICA, pooled=pooled, server=standby)
        replica = Replica(engines["replica"], reads, REPLICA_MAX_LAG_SECONDS, server=standby)
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
