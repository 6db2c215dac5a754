"""The state of the reading of a chain, for operators."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from msgspec import Struct

from app.values.identifiers import BlockNumber, ChainId

LATE_AFTER: Final = timedelta(seconds=60)
"""A chain whose last step is older than this, and than ``LATE_POLLS``, is not read, even if its lease is
held."""

LATE_POLLS: Final = 5

QUIET_AFTER: Final = timedelta(minutes=15)
"""A chain that is read but has had nothing new for longer than this is quiet."""

UNREAD_AFTER: Final = timedelta(minutes=15)
"""A chain in service that a reporter reads counts as not read when nothing was reported of it for longer than
this: it is not known whether its head moves."""


def is_reported(newest_at: datetime | None, now: datetime) -> bool:
    """Whether reporters that read a chain have been heard lately.

    :param newest_at: when its newest event happened; None where there is none.
    """
    return newest_at is not None and now - newest_at <= UNREAD_AFTER


class WatchState(StrEnum):
    """Whether a chain is read now."""

    READING = "reading"
    """A watcher reads it, and its head moves."""

    STANDING = "standing"
    """A watcher reads it, but its head has not moved for long."""

    NOT_READ = "not_read"
    """No watcher runs for it, or the watcher cannot read."""

    STOPPED = "stopped"
    """An operator has to start it again."""


class WatchedChain(Struct, frozen=True, kw_only=True):
    """A chain that is configured to be watched. Times are None for what has never happened.

    :param from_block: the first block to be read.
    :param rpc: names of the variables that hold the nodes' URLs.
    :param source: the one of them that answered last.
    :param head: the newest block that a node returned, ``head_at`` its time, ``head_moved_at`` when it was
        first seen.
    :param read_to: the last block that live reading has read.
    :param backfilled_to: the last block of the backfill.
    :param live_from: where live reading began; the backfill ends below it.
    :param reread_to: up to here all was reread without a gap, since ``reread_at``; ``proven_to`` likewise.
    :param unmatched: how many blocks were not proven, as their receipts do not match their headers.
    :param matched_to: the highest block whose receipts matched its header.
    :param read_at: of the last step, ``found_at`` of the last that had something new.
    :param differed: how many rereads ever differed.
    :param refused: how many events the feed ever refused.
    :param stopped: why it may not be read; ``stopped_by`` None: the watcher itself stopped.
    """

    chain_id: ChainId
    name: str
    from_block: BlockNumber
    poll_seconds: float
    rpc: tuple[str, ...]
    state: WatchState
    head: BlockNumber | None = None
    head_at: datetime | None = None
    head_moved_at: datetime | None = None
    read_to: BlockNumber | None = None
    live_from: BlockNumber | None = None
    backfilled_to: BlockNumber | None = None
    reread_to: BlockNumber | None = None
    reread_at: datetime | None = None
    proven_to: BlockNumber | None = None
    proven_at: datetime | None = None
    unmatched: int = 0
    matched_to: BlockNumber | None = None
    read_at: datetime | None = None
    found_at: datetime | None = None
    calls_a_minute: int = 0
    source: str = ""
    fault: str | None = None
    fault_source: str = ""
    fault_at: datetime | None = None
    differed: int = 0
    refused: int = 0
    owner: str | None = None
    until: datetime | None = None
    stopped: str | None = None
    stopped_at: datetime | None = None
    stopped_by: str | None = None

    @property
    def is_read(self) -> bool:
        """Whether a watcher reads it now, so that its numbers are current."""
        return self.state in (WatchState.READING, WatchState.STANDING)

    @property
    def lag(self) -> int | None:
        """Blocks of the chain that are not read yet, without those of the backfill."""
        if self.head is None or self.read_to is None:
            return None
        return max(0, self.head - self.read_to)

    @property
    def backfill_left(self) -> int | None:
        """Blocks below the live reading that are not read yet; None before anything was read."""
        if self.live_from is None:
            return None
        done = self.from_block - 1 if self.backfilled_to is None else self.backfilled_to
        return max(0, self.live_from - 1 - done)

    @property
    def unmatched_words(self) -> str:
        """What blocks that are not proven mean; empty where there are none."""
        if not self.unmatched:
            return ""
        if self.matched_to is None:
            return "no receipts of this chain match their headers, so only a second URL can prove its blocks"
        return "their receipts do not match their headers, so transfers in them are only reported"

    def is_quiet(self, now: datetime) -> bool:
        """Whether it is read, its head moves, and it has had no log of ours for long."""
        if self.state is not WatchState.READING:
            return False
        return self.found_at is None or now - self.found_at > QUIET_AFTER


def watch_state(
    *,
    now: datetime,
    stopped: bool,
    held: bool,
    read_at: datetime | None,
    head_moved_at: datetime | None,
    poll_seconds: float,
) -> WatchState:
    """Whether a chain is read.

    :param held: whether somebody has its lease.
    """
    allowed = max(LATE_AFTER, LATE_POLLS * timedelta(seconds=poll_seconds))
    if stopped:
        return WatchState.STOPPED
    if not held or read_at is None or now - read_at > allowed:
        return WatchState.NOT_READ
    if head_moved_at is None or now - head_moved_at > max(allowed, QUIET_AFTER):
        return WatchState.STANDING
    return WatchState.READING
