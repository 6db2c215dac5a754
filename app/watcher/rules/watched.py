"""The state of the reading of a chain, for operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from msgspec import Struct

from app.values.identifiers import BlockNumber, ChainId
from app.watcher.rules.evidence import Entry, Word
from app.watcher.rules.steps import Doubt

LATE_AFTER: Final = timedelta(seconds=60)
LATE_POLLS: Final = 5
"""A chain whose last step is older than both is not read, even if its lease is held."""

QUIET_AFTER: Final = timedelta(minutes=15)
"""A chain that is read but has had nothing new for longer than this is quiet."""

UNREAD_AFTER: Final = timedelta(minutes=15)
"""A chain in service that a reporter reads counts as not read when nothing was reported of it for longer than
this: it is not known whether its head moves."""


def is_reported(newest_at: datetime | None, now: datetime) -> bool:
    """Whether reporters that read a chain have reported lately.

    :param newest_at: when its newest event happened; None where there is none.
    """
    return newest_at is not None and now - newest_at <= UNREAD_AFTER


class DisputedLog(Struct, frozen=True):
    """A log that only one URL returned and that something contradicts, with nothing to decide it.

    :param since: when a log of its block was first returned.
    :param what: its number among the logs of the block, in words.
    :param says: what the URLs say of it, by the name of the first URL of each provider.
    :param is_denied: a URL denies it. If not, only the header's filter or another branch contradicts it.
    """

    block: BlockNumber
    since: datetime
    what: str
    tx: str
    says: Mapping[str, str]
    is_denied: bool

    @property
    def opinions(self) -> Sequence[tuple[str, str]]:
        """Each URL and what it says."""
        if self.is_denied:
            return list(self.says.items())
        return [*self.says.items(), ("no URL", "denies it: the header's filter or another branch does")]

    @property
    def words(self) -> str:
        said = "; ".join(f"{who} {what}" for who, what in self.opinions)
        at = self.since.isoformat(timespec="seconds")
        log = f"{self.what} of transaction {self.tx}"
        return f"block {self.block}, first read at {at}, is disputed: of {log}, {said}"


LOGS_SHOWN: Final = 3  # of one block


def disputed_logs(doubt: Doubt) -> Sequence[DisputedLog]:
    """The first logs of a disputed block that fewer than two providers returned: those that are denied, if
    any.
    """
    words = doubt.words
    entries = frozenset[Entry]().union(*(word.claims | word.denies for word in words.values()))
    unsure = [entry for entry in entries if sum(entry in word.claims for word in words.values()) < 2]
    denied = [entry for entry in unsure if any(entry in word.denies for word in words.values())]
    return [
        DisputedLog(
            doubt.block,
            doubt.since,
            _what(doubt, entry),
            entry.tx,
            {voice: _said(word, entry) for voice, word in words.items()},
            bool(denied),
        )
        for entry in sorted(denied or unsure, key=lambda entry: (doubt.logs.get(entry, (-1, -1)), entry))
    ][:LOGS_SHOWN]


def _what(doubt: Doubt, entry: Entry) -> str:
    index, _ = doubt.logs.get(entry, (None, None))
    return "what was reported" if index is None else f"log {index}"


def _said(word: Word, entry: Entry) -> str:
    if entry in word.claims:
        return "returned it"
    if entry in word.denies:
        return "denies it"
    return "has not answered" if word.logs is None else "neither returned nor denied it"


class WatchState(StrEnum):
    """Whether a chain is read now."""

    READING = "reading"
    STANDING = "standing"  # its head has not moved for long
    NOT_READ = "not_read"  # no watcher runs for it, or the watcher cannot read
    STOPPED = "stopped"  # an operator has to start it again


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
    :param unmatched: how many blocks are in doubt: something of them is not agreed or proven. Of ``disputed``
        ones a URL denies what only one returned.
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
    disputed: int = 0
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
    def doubt_words(self) -> str:
        return "not agreed by two URLs and not proven, so transfers in them are only reported"

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
    """:param held: whether a watcher has the lease."""
    allowed = max(LATE_AFTER, LATE_POLLS * timedelta(seconds=poll_seconds))
    if stopped:
        return WatchState.STOPPED
    if not held or read_at is None or now - read_at > allowed:
        return WatchState.NOT_READ
    if head_moved_at is None or now - head_moved_at > max(allowed, QUIET_AFTER):
        return WatchState.STANDING
    return WatchState.READING
