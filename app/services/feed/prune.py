"""Removing transfers that finished long ago, with all their events. Answers stay as they are."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from sqlalchemy import ColumnElement, Connection, func, literal, select, tuple_

from app.domain.audit import Actor
from app.domain.codes import FINISHED_STATUSES, TransferHistoryStatus
from app.domain.keys import PoolKey, TransferId
from app.domain.pools import PoolCounters
from app.domain.times import Epoch
from app.domain.transfer.effects import SharedChange
from app.domain.transfer.latency import WINDOW
from app.models.anomalies import Anomaly
from app.models.engine import reading, reading_consistently, writing
from app.models.events import Event, RetractedEvent
from app.models.network import Pool
from app.models.pruned import PrunedTransfer
from app.models.transfers import Transfer
from app.models.types import Hash32, UtcTime
from app.runtime.gateway import Gateway
from app.services.audit.record import record_alone
from app.services.feed.projection import load_states
from app.services.feed.removal import remove_transfers

BATCH: Final = 100
"""Transfers in one transaction: some hundred events, about a tenth of a second of the writers' turn."""

PAUSE_SECONDS: Final = 0.02
"""Between two turns, so that reporters who wait for theirs get it on SQLite too, where nobody queues."""

Cursor = tuple[datetime, bytes]
"""Where a walk over the transfers of a status has come: ``status_since`` and id of the last one."""

_START: Final[Cursor] = (datetime.min.replace(tzinfo=UTC), bytes(32))


@dataclass(slots=True)
class Pruning:
    """What is removed, or would be."""

    before: datetime
    """The time in effect: the one asked for, or the earlier one from which on events are needed."""
    transfers: Counter[TransferHistoryStatus] = field(default_factory=Counter)
    events: int = 0
    oldest: datetime | None = None
    newest: datetime | None = None
    """Times of the first and the last event of any of them."""
    moved: dict[PoolKey, PoolCounters] = field(default_factory=dict)
    """What they moved through the pools, which goes on to count."""
    kept: Counter[str] = field(default_factory=Counter)
    """Finished and old, and kept all the same: how many for which reason."""

    def add(self, batch: _Batch) -> None:
        """Count a batch in."""
        self.kept.update(batch.kept.values())
        for state in batch.states.values():
            self.transfers[state.status] += 1
        for events, oldest, newest in batch.spans.values():
            self.events += events
            self.oldest = min(oldest, self.oldest or oldest)
            self.newest = max(newest, self.newest or newest)
        for key, change in batch.change.counters.items():
            self.moved[key] = self.moved.get(key, PoolCounters()) + change


class _Batch:
    """Some finished transfers, judged within one transaction."""

    def __init__(self, connection: Connection, ids: list[bytes], before: datetime) -> None:
        rows = connection.execute(
            select(
                Event.transfer_id,
                func.count().label("events"),
                func.min(Event.at).label("oldest"),
                func.max(Event.at).label("newest"),
            )
            .where(Event.transfer_id.in_(ids))
            .group_by(Event.transfer_id)
        )
        old = {row.transfer_id: (row.events, row.oldest, row.newest) for row in rows if row.newest < before}
        self.kept = _kept(connection, list(old))
        self.spans = {i: span for i, span in old.items() if i not in self.kept}
        self.states = load_states(connection, self.spans)
        self.change = SharedChange()
        for state in self.states.values():
            self.change.add(state)


def _kept(connection: Connection, ids: list[bytes]) -> dict[TransferId, str]:
    """Of old and finished transfers those that somebody may still have to look at."""
    retracted = connection.scalars(
        select(RetractedEvent.transfer_id).where(RetractedEvent.transfer_id.in_(ids))
    )
    kept = dict.fromkeys((i for i in retracted if i), "events of it were retracted")
    of_open = (Anomaly.transfer_id.in_(ids), Anomaly.acknowledged_at.is_(None))
    for transfer_id in connection.scalars(select(Anomaly.transfer_id).where(*of_open)):
        if transfer_id:
            kept[transfer_id] = "an anomaly of it is open"
    return kept


def prune(
    gateway: Gateway,
    before: datetime,
    *,
    actor: Actor,
    dry_run: bool = False,
    progress: Callable[[int], None] = lambda _transfers: None,
) -> Pruning:
    """Remove transfers that are finished and whose last event happened before a time, with their events.

    Each batch is a transaction of its own, so that the feed and the answers go on in between, and a run
    that was ended in any way is simply started again. What the transfers moved through the pools goes on
    to count, also in a replay; their ids are known for ever.

    The audit says that it began before anything goes, and at the end what went: a run that was ended in
    between leaves its trace, too.

    :param before: anything later than what answers still need is cut to that; see ``needed_since``.
    :param dry_run: change nothing, and tell what would be.
    :param progress: told after each batch how many transfers were looked at.
    """
    with reading(gateway.reads) as connection:
        found = Pruning(min(before, needed_since(connection, gateway.clock())))
    turn = reading_consistently if dry_run else writing
    subject = f"finished transfers before {found.before.isoformat(timespec='seconds')}"
    if not dry_run:
        record_alone(gateway, actor, "events.prune", subject, detail="begun")
    for status in sorted(FINISHED_STATUSES):
        cursor: Cursor | None = _START
        while cursor is not None:
            with turn(gateway.engine) as connection:
                # The configuration may have changed since: an epoch that is longer needs more.
                bound = min(found.before, needed_since(connection, gateway.clock()))
                ids, cursor = _next(connection, status, cursor, bound)
                batch = _Batch(connection, ids, bound)
                if batch.spans and not dry_run:
                    remove_transfers(connection, batch.states, batch.change, gateway.clock())
            found.add(batch)
            progress(len(ids))
            if not dry_run and cursor is not None:
                time.sleep(PAUSE_SECONDS)
    if not dry_run:
        removed = f"{found.transfers.total()} transfers and their {found.events} events removed"
        record_alone(gateway, actor, "events.prune", subject, detail=removed)
    return found


def needed_since(connection: Connection, now: datetime) -> datetime:
    """Since when answers need transfers: seven days of latencies, the current epochs of capped pools."""
    needed = now - WINDOW
    lengths = connection.scalars(select(Pool.epoch_seconds).where(Pool.epoch_cap.is_not(None)).distinct())
    for seconds in lengths:
        needed = min(needed, Epoch.at(now, seconds).starts_at)
    return needed


def count_candidates(gateway: Gateway, before: datetime) -> int:
    """How many transfers a pruning will look at, about."""
    with reading(gateway.reads) as connection:
        counts = (
            select(func.count()).select_from(Transfer).where(*_old(s, before)) for s in FINISHED_STATUSES
        )
        return sum(connection.scalar(count) or 0 for count in counts)


def _old(status: TransferHistoryStatus, before: datetime) -> tuple[ColumnElement[bool], ...]:
    return Transfer.status == int(status), Transfer.status_since < before


def _next(
    connection: Connection, status: TransferHistoryStatus, cursor: Cursor, before: datetime
) -> tuple[list[bytes], Cursor | None]:
    """The next transfers of the walk, and where it has come; None at its end.

    A status holds since one of its transfer's events, so the last event is no earlier: what this walk
    does not meet is not old enough.
    """
    here = tuple_(Transfer.status_since, Transfer.transfer_id)
    rows = connection.execute(
        select(Transfer.status_since, Transfer.transfer_id)
        .where(
            *_old(status, before), here > tuple_(literal(cursor[0], UtcTime()), literal(cursor[1], Hash32()))
        )
        .order_by(Transfer.status_since, Transfer.transfer_id)
        .limit(BATCH)
    ).all()
    ids = [row.transfer_id for row in rows]
    return ids, (rows[-1].status_since, rows[-1].transfer_id) if len(rows) == BATCH else None


def count_pruned(gateway: Gateway) -> int:
    """How many transfers were ever pruned."""
    with reading(gateway.reads) as connection:
        return connection.scalar(select(func.count()).select_from(PrunedTransfer)) or 0
