"""What readiness depends on: the last verdict of a process, the clocks, and the age of every chain's feed.

Times of the feed, windows of latency, sessions and leases are compared with the clock of the process. With
two clocks that differ, a transfer is late for one process and not for the next.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct, field
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from app.db.database import Database
from app.db.engine import run_read
from app.db.pooler import pooler_complaint
from app.db.schema import database_time, schema_complaint_of, unreachable, writing_complaint
from app.db.timeouts import Answers, is_late, within
from app.feed.queries.chains import load_progress
from app.network.rules.terms import NetworkTerms
from app.network.snapshot import SnapshotSource
from app.values.errors import Unavailable
from app.values.identifiers import ChainId
from app.values.times import span_in_words
from app.watcher.services.chains import watched_chains

READY_SECONDS: Final = 1.5
"""How long the database may be silent before the gateway is not ready. Probes give up after a few seconds."""


NOT_LOOKED: Final = "the database has not answered in time since this process began"


class Verdict(Struct, frozen=True):
    """Whether the gateway can serve: what prevents it, or the content of its answer."""

    complaint: str | None = None
    answer: Mapping[str, Any] = field(default_factory=dict)


class Readiness:
    """The readiness of one process."""

    def __init__(self, answers: Answers, look: Callable[[], Verdict]) -> None:
        """
        :param answers: of the primary, to any request of this process.
        :param look: checks whether the gateway can serve.
        """
        self._answers = answers
        self._look = look
        self._last = Verdict(NOT_LOOKED)

    def verdict(self) -> Verdict:
        """The result of a check, after ``READY_SECONDS`` at most.

        A database that answers requests is not down, however long it takes under load: then the last verdict
        stays valid. Otherwise all gateways would be taken out of service together under the highest load.
        Before the first verdict the process is not ready, as it is unknown whether this code can use the
        database.
        """
        try:
            with within(READY_SECONDS):
                self._last = self._look()
        except SQLAlchemyError as error:
            if not (is_late(error) and self._answers.came_within(READY_SECONDS)):
                self._last = Verdict(unreachable(error))
        return self._last


MOST_SECONDS: Final = 5.0
"""The allowed difference of two clocks. Clocks under NTP differ by thousandths of it."""

EVERY_SECONDS: Final = 3.0
"""How long a measurement is used, so that frequent requests for readiness do not each run a statement."""


class ClockSkew:
    """The difference between two clocks by the last measurement of one process; shared by its threads."""

    def __init__(
        self, engine: Engine, clock: Callable[[], datetime], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """
        :param engine: of the primary, for single-statement reads.
        :param clock: this machine's own, which no test and no replay replaces.
        """
        self._engine = engine
        self._clock = clock
        self._monotonic = monotonic
        self._measured: tuple[float, float] | None = None
        """The time of the measurement and its result."""

    def complaint(self) -> str | None:
        """The complaint about the clocks, in words for the operator; None if they agree.

        :raises SQLAlchemyError: the database cannot be read.
        """
        skew = self.seconds()
        if abs(skew) <= MOST_SECONDS:
            return None
        where = "ahead of" if skew > 0 else "behind"
        return f"clocks: the database's is {abs(skew):.0f} s {where} this machine's; check NTP on both"

    def seconds(self) -> float:
        """By how many seconds the database's clock is ahead at least; negative where it is behind.

        :raises SQLAlchemyError: the database cannot be read.
        """
        now = self._monotonic()
        if self._measured is None or now - self._measured[0] > EVERY_SECONDS:
            # SQLite uses the clock of this process.
            skew = 0.0 if self._engine.dialect.name == "sqlite" else run_read(self._engine, self._measure)
            self._measured = now, skew
        return self._measured[1]

    def _measure(self, connection: Connection) -> float:
        """The server read its clock at some time between these two. So half of the round trip is subtracted
        from the difference to their middle, and a slow answer never looks like a wrong clock.
        """
        before = self._clock()
        at_server = database_time(connection)
        after = self._clock()
        if at_server > after:
            return (at_server - after).total_seconds()
        return min(0.0, (at_server - before).total_seconds())


OTHERS: Final = 0
"""The key for the chains without their own limit; no chain has this id."""

_log = logging.getLogger(__name__)


class StaleFeed(Struct, frozen=True):
    """A chain that has had no new event for too long.

    :param newest_at: the time of its newest accepted event; None where there was never one.
    :param max_age_seconds: its limit.
    """

    chain_id: ChainId
    newest_at: datetime | None
    max_age_seconds: int

    def words(self, now: datetime) -> str:
        """The fault in words, for the operator's log."""
        if self.newest_at is None:
            return f"no event of chain {self.chain_id} was reported yet"
        age = span_in_words(now - self.newest_at)
        limit = f"FEED_MAX_AGE_SECONDS allows {self.max_age_seconds} s"
        return f"the newest event of chain {self.chain_id} is {age} old, {limit}"


class FeedAges:
    """The limits, and the feeds that were over them at the last check of one process."""

    def __init__(self, reads: Engine, limits: Iterable[tuple[int, int]], *, fails: bool) -> None:
        """
        :param reads: of the primary, for single-statement reads.
        :param limits: seconds by chain, 0 for none; those of ``OTHERS`` for all that are not named.
        :param fails: whether a gateway with a stale feed gets no requests.
        """
        self.fails = fails
        self._reads = reads
        self._limits = dict(limits)
        self._reported: frozenset[ChainId] = frozenset()

    def stale(self, terms: NetworkTerms, now: datetime) -> Sequence[StaleFeed]:
        """The chains in service whose feed is too old, by their ids. Changes are logged.

        A chain that operators stopped needs no events.

        :raises SQLAlchemyError: the database cannot be read.
        """
        chains = [chain_id for chain_id, chain in terms.chains.items() if not chain.disabled]
        limits = {chain_id: limit for chain_id in chains if (limit := self._limit(chain_id))}
        if not limits:
            return []
        read = run_read(self._reads, load_progress, limits.keys())
        found = []
        for chain_id, limit in sorted(limits.items()):
            newest_at = read[chain_id].newest_at if chain_id in read else None
            if newest_at is None or (now - newest_at).total_seconds() > limit:
                found.append(StaleFeed(chain_id, newest_at, limit))
        self._log_changes(found, now)
        return found

    def _limit(self, chain_id: ChainId) -> int:
        return self._limits.get(chain_id, self._limits.get(OTHERS, 0))

    def _log_changes(self, found: Sequence[StaleFeed], now: datetime) -> None:
        stale = frozenset(feed.chain_id for feed in found)
        for feed in found:
            if feed.chain_id not in self._reported:
                _log.warning("feed: %s", feed.words(now))
        for chain_id in sorted(self._reported - stale):
            _log.info("feed: chain %d has new events again", chain_id)
        self._reported = stale


def feed_complaint(stale: Sequence[StaleFeed], now: datetime) -> str | None:
    """The complaint about stale feeds in one line; None without any."""
    if not stale:
        return None
    more = f" ({len(stale) - 1} more like it)" if len(stale) > 1 else ""
    return f"feed: {stale[0].words(now)}{more}"


def look(
    database: Database, snapshots: SnapshotSource, clock_skew: ClockSkew, feed_ages: FeedAges
) -> Verdict:
    """Whether the gateway can serve; if so, how far chains are read and which feeds are stale."""
    if complaint := what_is_wrong(database, snapshots, clock_skew, feed_ages):
        return Verdict(complaint)
    return Verdict(
        answer={
            "watching": watched_chains(database, snapshots),
            "stale_feeds": stale_feeds(database, snapshots, feed_ages),
        }
    )


def what_is_wrong(
    database: Database, snapshots: SnapshotSource, clock_skew: ClockSkew, feed_ages: FeedAges
) -> str | None:
    """What prevents the gateway from serving, in words for its operator; None when it can serve.

    Only the first fault is returned, as the others follow from it.

    :raises SQLAlchemyError: the database cannot be reached.
    """
    if complaint := schema_complaint_of(database):
        return complaint
    if complaint := pooler_complaint(database):
        return complaint
    if complaint := clock_skew.complaint():
        return complaint
    if complaint := writing_complaint(database):
        return complaint
    try:
        snapshots.current()
    except Unavailable as error:
        return error.msg
    if feed_ages.fails:
        return feed_complaint(stale_feeds(database, snapshots, feed_ages), database.clock())
    return None


def stale_feeds(database: Database, snapshots: SnapshotSource, feed_ages: FeedAges) -> Sequence[StaleFeed]:
    """The chains in service whose feed is older than the settings allow.

    :raises Unavailable: the configuration cannot be read.
    """
    return feed_ages.stale(snapshots.current().terms, database.clock())
