"""Pruning: transfers that finished long ago are removed with all their events. Answers stay the same."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct, field
from sqlalchemy import Connection

from app.audit.keys import AuditKeys
from app.audit.rules.records import Actor
from app.audit.services import record_separately
from app.db.database import Database
from app.db.engine import reading, reading_consistently, writing
from app.feed.queries.chains import OutOfReach, highest_head, who_reports_heads
from app.feed.queries.pruned import (
    START,
    Cursor,
    EventSpan,
    LogPositions,
    capped_epoch_seconds,
    count_prunable,
    count_pruned_transfers,
    event_spans,
    load_positions,
    next_prunable,
    transfers_after,
    transfers_with_open_anomalies,
    transfers_with_retractions,
)
from app.feed.queries.transfers import load_states
from app.feed.services.ingest import Intake
from app.feed.services.log import drop
from app.feed.services.remove import KINDS, Remains, remains_of, remove_entries, remove_transfers
from app.latency.rules.median import WINDOW
from app.network.rules.pools import PoolCounters
from app.transfers.rules.projected import TransferState
from app.transfers.rules.sums import SharedChange
from app.values.codes import FINISHED_STATUSES, TransferHistoryStatus
from app.values.identifiers import PoolKey, TransferId
from app.values.times import Epoch

TURN_SECONDS: Final = 0.1
"""How long the writer's turn of one transaction should take."""

FIRST: Final = 200
FEWEST: Final = 100
MOST: Final = 1_000
"""Transfers in one transaction. Its statements take as long for one transfer as for a hundred."""

READ_AT_ONCE: Final = 1_000
"""Transfers that are read before the writer's turns in which they are removed."""

OTHERS: Final = 500
"""Events about no transfer in one transaction."""

PAUSE_SECONDS: Final = 0.02
"""Between two turns without a read in between, so that waiting reporters get theirs on SQLite, too: it has no
queue."""


class Pruning(Struct):
    """The result of a pruning, or of a dry run.

    :param before: the time in effect: the requested one, or the earlier one since when events are needed.
    :param oldest: the time of the first event of any of them; ``newest``: of the last.
    :param moved: what they moved through the pools, which still counts.
    :param retained: the number of finished and old transfers that are retained, by reason.
    :param others: the number of events about no transfer that decide nothing any more, by kind.
    """

    before: datetime
    transfers: Counter[TransferHistoryStatus] = field(default_factory=Counter)
    events: int = 0
    oldest: datetime | None = None
    newest: datetime | None = None
    moved: dict[PoolKey, PoolCounters] = field(default_factory=dict)
    retained: Counter[str] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)

    def add(
        self, spans: Mapping[TransferId, EventSpan], states: Mapping[TransferId, TransferState]
    ) -> SharedChange:
        """Count transfers in. Returns what they add to sums."""
        change = SharedChange()
        for state in states.values():
            self.transfers[state.status] += 1
            change.add(state)
        for span in spans.values():
            self.events += span.events
            self.oldest = min(span.oldest, self.oldest or span.oldest)
            self.newest = max(span.newest, self.newest or span.newest)
        for key, moved in change.counters.items():
            self.moved[key] = self.moved.get(key, PoolCounters()) + moved
        return change

    def in_words(self) -> str:
        """For the audit log."""
        removed = f"{self.transfers.total()} transfers and their {self.events} events removed"
        return f"{removed}, and {self.others.total()} events about no transfer" if self.others else removed


class _Page(Struct, frozen=True):
    """Finished transfers as one snapshot of the database has them.

    ``spans`` is of those that can be removed, in their order. ``retained`` has the reasons of the old ones
    that cannot, because an operator may still have to check them.
    """

    spans: Mapping[TransferId, EventSpan]
    retained: Mapping[TransferId, str]
    positions: LogPositions

    @classmethod
    def of(cls, connection: Connection, ids: Sequence[bytes], before: datetime) -> _Page:
        old = {i: span for i, span in event_spans(connection, ids).items() if span.newest < before}
        retained = dict.fromkeys(transfers_with_retractions(connection, old), "has retracted events")
        retained |= dict.fromkeys(transfers_with_open_anomalies(connection, old), _HAS_ANOMALY)
        spans = {i: old[i] for i in map(TransferId, ids) if i in old and i not in retained}
        return cls(spans, retained, load_positions(connection))


_HAS_ANOMALY: Final = "has an open anomaly"


def prune(
    database: Database,
    audit_keys: AuditKeys,
    intake: Intake,
    before: datetime,
    *,
    actor: Actor,
    dry_run: bool = False,
    progress: Callable[[int], None] = lambda _transfers: None,
) -> Pruning:
    """Remove transfers that are finished and whose last event happened before a time, with their events.

    Each batch is a transaction of its own, so that the feed and the answers go on in between, and an
    interrupted run can be started again. What the transfers moved through the pools still counts, also in a
    replay. Their ids are known for ever.

    The audit log has a record before anything is removed, and one at the end with what was removed. So an
    interrupted run leaves a record, too.

    :param before: at most the time since when answers need events; see ``needed_since``.
    :param dry_run: change nothing, and report what would be removed.
    :param progress: called after each batch with the number of transfers looked at.
    """
    with reading(database.reads) as connection:
        found = Pruning(min(before, needed_since(connection, database.clock())))
    subject = f"finished transfers before {found.before.isoformat(timespec='seconds')}"
    if not dry_run:
        record_separately(database, audit_keys, actor, "events.prune", subject, detail="started")
    pace = Pace()
    for status in sorted(FINISHED_STATUSES):
        cursor: Cursor | None = START
        while cursor is not None:
            number, cursor = _prune_page(database, found, status, cursor, pace, dry_run=dry_run)
            progress(number)
    found.others.update(_prune_others(database, intake, found.before, dry_run=dry_run))
    if not dry_run:
        record_separately(database, audit_keys, actor, "events.prune", subject, detail=found.in_words())
    return found


class Pace:
    """How many transfers one turn takes, by how long the turns before took."""

    def __init__(self) -> None:
        self.transfers = FIRST

    def after(self, transfers: int, seconds: float) -> None:
        """Note a turn. From one to the next the number changes by at most half of it."""
        wanted = transfers * TURN_SECONDS / max(seconds, 0.001)
        within = max(self.transfers // 2, min(self.transfers * 3 // 2, int(wanted)))
        self.transfers = max(FEWEST, min(MOST, within))


def _prune_page(
    database: Database,
    found: Pruning,
    status: TransferHistoryStatus,
    cursor: Cursor,
    pace: Pace,
    *,
    dry_run: bool,
) -> tuple[int, Cursor | None]:
    """Remove the next transfers at a status, and count them in ``found``. Returns how many were checked, and
    the cursor.
    """
    with reading_consistently(database.engine) as connection:
        ids, further = next_prunable(connection, status, cursor, found.before, READ_AT_ONCE)
        page = _Page.of(connection, ids, found.before)
        if dry_run:
            found.add(page.spans, load_states(connection, page.spans))
        remains = {} if dry_run else remains_of(connection, page.spans)
    left = [] if dry_run else list(page.spans)
    while left:
        some = left[: pace.transfers]
        with writing(database.engine) as connection:
            began = time.monotonic()
            if load_positions(connection).last_reversal != page.positions.last_reversal:
                return len(page.spans) - len(left), cursor  # other events may count by now
            _remove(connection, found, page, some, remains, database.clock())
        pace.after(len(some), time.monotonic() - began)
        del left[: len(some)]
        if left and database.engine.dialect.name == "sqlite":
            time.sleep(PAUSE_SECONDS)
    found.retained.update(page.retained.values())
    return len(ids), further


def _remove(
    connection: Connection,
    found: Pruning,
    page: _Page,
    ids: Sequence[TransferId],
    remains: Mapping[bytes, Remains],
    now: datetime,
) -> None:
    """Remove some transfers of a page, except those that changed since it was read, and count them.

    Rows of events are never updated, so a transfer without a later one has the same. The configuration may
    have changed, too: an epoch that is longer needs more.
    """
    before = min(found.before, needed_since(connection, now))
    reported = transfers_after(connection, page.positions.last_seq)
    same = {i: page.spans[i] for i in ids if i not in reported and page.spans[i].newest < before}
    for transfer_id in transfers_with_open_anomalies(connection, same):
        del same[transfer_id]
        found.retained[_HAS_ANOMALY] += 1
    states = {
        i: state for i, state in load_states(connection, same).items() if state.status in FINISHED_STATUSES
    }
    if states:
        spans = {i: same[i] for i in states}
        moved = found.add(spans, states)
        remove_transfers(connection, states, spans, remains, moved, now)


def _prune_others(database: Database, intake: Intake, before: datetime, *, dry_run: bool) -> Counter[str]:
    """Remove fees, liquidity and heads that decide nothing any more, a batch in each transaction."""
    turn = reading_consistently if dry_run else writing
    found: Counter[str] = Counter()
    for kind in KINDS:
        with reading(database.reads) as connection:
            positions = kind.candidates(connection, before)
        for start in range(0, len(positions), OTHERS):
            with turn(database.engine) as connection:
                rows = kind.decided(connection, positions[start : start + OTHERS])
                if rows and not dry_run:
                    remove_entries(connection, rows)
            found[kind.name] += len(rows)
            if not dry_run:
                time.sleep(PAUSE_SECONDS)
    found["heads"] = _prune_heads(database, intake, dry_run=dry_run)
    return +found


def _prune_heads(database: Database, intake: Intake, *, dry_run: bool) -> int:
    """Remove heads that are out of reach of reorganisations: what an earlier release left."""
    turn = reading_consistently if dry_run else writing
    count = 0
    with reading(database.reads) as connection:
        pairs = who_reports_heads(connection)
    for reporter, chain_id in pairs:
        gone = OTHERS
        while gone == OTHERS:
            with turn(database.engine) as connection:
                if (newest := highest_head(connection, reporter, chain_id)) is None:
                    break
                these = OutOfReach(reporter, chain_id, newest, intake.max_reorg_blocks)
                gone = -these.count(connection) if dry_run else drop(connection, these, OTHERS)
            count += abs(gone)
            if gone > 0:
                time.sleep(PAUSE_SECONDS)
    return count


def needed_since(connection: Connection, now: datetime) -> datetime:
    """Since when answers need transfers: seven days of latencies, the current epochs of capped pools."""
    needed = now - WINDOW
    for seconds in capped_epoch_seconds(connection):
        needed = min(needed, Epoch.at(now, seconds).starts_at)
    return needed


def count_candidates(database: Database, before: datetime) -> int:
    """How many transfers a pruning will look at, about."""
    with reading(database.reads) as connection:
        return count_prunable(connection, FINISHED_STATUSES, before)


def count_pruned(database: Database) -> int:
    with reading(database.reads) as connection:
        return count_pruned_transfers(connection)
