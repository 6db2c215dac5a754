"""How recently each chain and the feed reported anything, and whether the chain is read at all."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final

from msgspec import Struct

from app.console.shell.formats import Look, look_of_age
from app.console.transfers.components import ChainName, chain_name
from app.db.database import Database
from app.db.engine import reading
from app.network.snapshot import SnapshotSource
from app.transfers.queries.trends import chain_progress, last_event
from app.values.times import age_in_words
from app.watcher.rules.watched import UNREAD_AFTER, WatchedChain, WatchState, is_reported
from app.watcher.services.chains import watched_chains


class Reading(StrEnum):
    """Whether what the gateway says about a chain can be current."""

    FRESH = "fresh"
    QUIET = "quiet"
    """It is read and its head moves, but it had no event of the bridge for long."""
    NOT_READ = "not read"
    STOPPED = "stopped"
    """Its transfers are stopped, so nothing is expected of it."""


LOOKS: Final[Mapping[Reading, Look]] = {
    Reading.FRESH: Look.GOOD,
    Reading.QUIET: Look.PLAIN,
    Reading.NOT_READ: Look.UNKNOWN,
    Reading.STOPPED: Look.BAD,
}


class ChainFreshness(Struct, frozen=True):
    """How far a chain has been read, and how old its newest event is.

    ``read_at`` is when it was last read: by its watcher, or else by the reporter of its newest event.
    """

    chain: ChainName
    highest_block: int | None
    age: str
    reading: Reading
    read_at: datetime | None

    @property
    def look(self) -> Look:
        """Nothing current is known of a chain that is not read."""
        return LOOKS[self.reading]


class FeedFreshness(Struct, frozen=True):
    """The newest of all accepted events; None while there is none."""

    received_at: datetime | None
    age: str
    reporter: str
    look: Look


class Freshness(Struct, frozen=True):
    """The chains, those that are not read first, and the feed."""

    chains: tuple[ChainFreshness, ...]
    feed: FeedFreshness


def freshness(database: Database, snapshots: SnapshotSource) -> Freshness:
    """How old the newest event of each chain and of the whole feed is.

    :raises Unavailable: the configuration cannot be read.
    """
    terms, now = snapshots.current().terms, database.clock()
    watched = {chain.chain_id: chain for chain in watched_chains(database, snapshots)}
    with reading(database.reads) as connection:
        progress = {row.chain_id: row for row in chain_progress(connection)}
        newest = last_event(connection)
    lines = []
    for chain_id in sorted(terms.chain_infos.keys() | progress.keys()):
        row, configured = progress.get(chain_id), terms.chains.get(chain_id)
        watching = watched.get(chain_id)
        newest_at = row.newest_at if row else None
        chain = chain_name(terms.chain_infos, chain_id)
        stopped = configured is not None and configured.disabled
        lines.append(
            ChainFreshness(
                chain=chain,
                highest_block=row.highest_block if row else None,
                age=age_in_words(now - newest_at) if newest_at else "Never",
                reading=Reading.STOPPED if stopped else _reading(watching, newest_at, now),
                read_at=watching.read_at if watching else newest_at,
            )
        )
    lines.sort(key=lambda line: line.reading is not Reading.NOT_READ)
    if newest is None:
        feed = FeedFreshness(None, "Never", "", Look.UNKNOWN)
    else:
        age, look = age_in_words(now - newest.received_at), look_of_age(newest.received_at, now, UNREAD_AFTER)
        feed = FeedFreshness(newest.received_at, age, newest.reporter, look)
    return Freshness(tuple(lines), feed)


def _reading(watched: WatchedChain | None, newest_at: datetime | None, now: datetime) -> Reading:
    """For a watched chain the watcher's own state counts, for any other the last reported event."""
    if watched is None:
        return Reading.FRESH if is_reported(newest_at, now) else Reading.NOT_READ
    if watched.state is not WatchState.READING:
        return Reading.NOT_READ
    return Reading.QUIET if watched.is_quiet(now) else Reading.FRESH
