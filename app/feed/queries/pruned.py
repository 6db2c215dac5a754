"""Reads which transfers can be pruned, what is retained of pruned ones, and how far the log reaches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, Row, exists, func, literal, select, tuple_

from app.db.types import Hash32, RowsOf, UtcTime, is_one_of
from app.feed import models as table
from app.feed.queries.pools import LIQUIDITY
from app.network.models import Pool
from app.transfers import models as log
from app.transfers.models import Anomaly, Event, PrunedReporter, PrunedTransfer, RetractedEvent, Transfer
from app.transfers.queries.logged import IS_REORG, with_keys
from app.transfers.rules.events.canonical import ChainReading
from app.transfers.rules.events.keys import EventKey
from app.transfers.rules.events.merging import id_digest, subject_digest
from app.values.codes import TransferHistoryStatus
from app.values.identifiers import ChainId, TransferId

Cursor = tuple[datetime, bytes]
"""The end of a page of transfers in one status: ``status_since`` and id of the last one."""

START: Final[Cursor] = (datetime.min.replace(tzinfo=UTC), bytes(32))


class EventSpan(NamedTuple):
    """How many events a transfer has, the times of the first and the last of them, and where each reporter's
    last one is in the log."""

    events: int
    oldest: datetime
    newest: datetime
    last: dict[str, int]


_SPANS: Final = RowsOf(
    select(
        Event.transfer_id,
        Event.reporter,
        func.count().label("events"),
        func.min(Event.at).label("oldest"),
        func.max(Event.at).label("newest"),
        func.max(Event.seq).label("last"),
    ).group_by(Event.transfer_id, Event.reporter),
    transfer_ids=Event.transfer_id,
)


def next_prunable(
    connection: Connection, status: TransferHistoryStatus, cursor: Cursor, before: datetime, limit: int
) -> tuple[list[bytes], Cursor | None]:
    """The next page of transfers in a status since before a time, and its cursor; None at the end.

    A status holds since one of its transfer's events, so the last event is no earlier. A transfer that is not
    in these pages is not old enough.
    """
    position = tuple_(Transfer.status_since, Transfer.transfer_id)
    rows = connection.execute(
        select(Transfer.status_since, Transfer.transfer_id)
        .where(
            *_old(status, before),
            position > tuple_(literal(cursor[0], UtcTime()), literal(cursor[1], Hash32())),
        )
        .order_by(Transfer.status_since, Transfer.transfer_id)
        .limit(limit)
    ).all()
    ids = [row.transfer_id for row in rows]
    return ids, (rows[-1].status_since, rows[-1].transfer_id) if len(rows) == limit else None


def count_prunable(
    connection: Connection, statuses: Collection[TransferHistoryStatus], before: datetime
) -> int:
    counts = (select(func.count()).select_from(Transfer).where(*_old(s, before)) for s in statuses)
    return sum(connection.scalar(count) or 0 for count in counts)


def _old(status: TransferHistoryStatus, before: datetime) -> tuple[ColumnElement[bool], ...]:
    return Transfer.status == int(status), Transfer.status_since < before


def event_spans(connection: Connection, transfer_ids: Collection[bytes]) -> dict[TransferId, EventSpan]:
    """Number, times and last positions of the events of each of the transfers that has any."""
    found: dict[TransferId, EventSpan] = {}
    for row in _SPANS(connection, transfer_ids=transfer_ids):
        span = found.get(row.transfer_id)
        if span is None:
            found[row.transfer_id] = EventSpan(row.events, row.oldest, row.newest, {row.reporter: row.last})
        else:
            times = min(span.oldest, row.oldest), max(span.newest, row.newest)
            found[row.transfer_id] = EventSpan(
                span.events + row.events, *times, span.last | {row.reporter: row.last}
            )
    return found


def transfers_after(connection: Connection, seq: int) -> set[TransferId]:
    later = select(Event.transfer_id).where(Event.seq > seq, Event.transfer_id.is_not(None))
    return {each for each in connection.scalars(later) if each is not None}


def transfers_with_retractions(connection: Connection, transfer_ids: Collection[bytes]) -> set[TransferId]:
    found = connection.scalars(
        select(RetractedEvent.transfer_id).where(
            is_one_of(connection, RetractedEvent.transfer_id, transfer_ids)
        )
    )
    return {transfer_id for transfer_id in found if transfer_id is not None}


def transfers_with_open_anomalies(connection: Connection, transfer_ids: Collection[bytes]) -> set[TransferId]:
    found = connection.scalars(
        select(Anomaly.transfer_id).where(
            is_one_of(connection, Anomaly.transfer_id, transfer_ids), Anomaly.acknowledged_at.is_(None)
        )
    )
    return {transfer_id for transfer_id in found if transfer_id is not None}


def capped_epoch_seconds(connection: Connection) -> Sequence[int]:
    """The lengths of the epochs in which a pool's volume is capped, in seconds."""
    return connection.scalars(select(Pool.epoch_seconds).where(Pool.epoch_cap.is_not(None)).distinct()).all()


def liquidity_before(connection: Connection, before: datetime) -> Sequence[int]:
    """Positions in the log of deposits and withdrawals of liquidity providers from before a time."""
    of_liquidity = (Event.chain_id.is_not(None), Event.type.in_(LIQUIDITY), Event.at < before)
    return connection.scalars(select(Event.seq).where(*of_liquidity)).all()


def entries_at(connection: Connection, positions: Collection[int]) -> Sequence[Row[*tuple[Any, ...]]]:
    """Every column of the entries at these positions that are still there, in the order of the log."""
    query = select(Event.__table__).where(is_one_of(connection, Event.seq, positions))
    return connection.execute(query.order_by(Event.seq)).all()


def entries_of(connection: Connection, keys: Iterable[EventKey]) -> Sequence[Row[*tuple[Any, ...]]]:
    """Every column of all entries of these events, in the order of the log."""
    rows = [
        row
        for of_keys in with_keys(connection, Event.event_id, Event.subject, keys)
        for row in connection.execute(select(Event.__table__).where(of_keys))
    ]
    return sorted(rows, key=lambda row: row.seq)


CHUNK = 5_000  # ids looked for in one statement


def pruned_transfers(connection: Connection, transfer_ids: Collection[bytes]) -> frozenset[bytes]:
    transfer_id = log.PrunedTransfer.transfer_id
    return frozenset(
        connection.scalars(select(transfer_id).where(is_one_of(connection, transfer_id, transfer_ids)))
    )


def pruned_contents(connection: Connection, keys: Iterable[EventKey]) -> dict[EventKey, bytes]:
    """The keys among these that were pruned, each with the digest of its content."""
    of_subject: dict[str, dict[bytes, EventKey]] = defaultdict(dict)
    for key in keys:
        of_subject[key.subject][id_digest(key.id)] = key
    event = table.PrunedEvent
    found: dict[EventKey, bytes] = {}
    for subject, digests in of_subject.items():
        rows = connection.execute(
            select(event.id_digest, event.content_digest).where(
                is_one_of(connection, event.id_digest, digests),
                event.subject_digest.in_([b"", subject_digest(subject)]),
            )
        )
        found |= {digests[row.id_digest]: row.content_digest for row in rows}
    return found


def pruned_targets(connection: Connection, targets: Iterable[tuple[str | None, str]]) -> frozenset[str]:
    """The ids among these that belong to a pruned event.

    :param targets: subjects and ids; without a subject, an id of any subject counts.
    """
    wanted: dict[bytes, list[tuple[str | None, str]]] = defaultdict(list)
    for subject, event_id in targets:
        wanted[id_digest(event_id)].append((subject, event_id))
    digests, event = list(wanted), table.PrunedEvent
    found: set[str] = set()
    for start in range(0, len(digests), CHUNK):
        named = is_one_of(connection, event.id_digest, digests[start : start + CHUNK])
        for row in connection.execute(select(event.id_digest, event.subject_digest).where(named)):
            for subject, event_id in wanted[row.id_digest]:
                if subject is None or row.subject_digest in (b"", subject_digest(subject)):
                    found.add(event_id)
    return frozenset(found)


def last_pruned_of(connection: Connection, reporter: str) -> datetime | None:
    of_reporter = log.PrunedReporter.reporter == reporter
    return connection.scalar(select(log.PrunedReporter.received_at).where(of_reporter))


def pruned_up_to(connection: Connection, chain_id: ChainId) -> int | None:
    """The highest block of a chain that has a canonical pruned event."""
    return connection.scalar(
        select(table.PrunedChain.highest_block).where(table.PrunedChain.chain_id == chain_id)
    )


def pruned_readings(connection: Connection) -> dict[ChainId, ChainReading]:
    """The newest time of pruned events of each chain, without a block."""
    rows = connection.execute(select(table.PrunedChain.chain_id, table.PrunedChain.newest_at))
    return {
        ChainId(row.chain_id): ChainReading(None, row.newest_at) for row in rows if row.newest_at is not None
    }


def pruned_chains(connection: Connection) -> Sequence[Row[*tuple[Any, ...]]]:
    return connection.execute(select(table.PrunedChain.__table__)).all()


def pruned_pools(connection: Connection) -> dict[tuple[int, str], tuple[int, int]]:
    """The amounts of pruned transfers sent into each pool and relayed from it, by chain and symbol."""
    rows = connection.execute(select(log.PrunedPool.__table__))
    return {(row.chain_id, row.symbol): (row.sent, row.relayed) for row in rows}


def last_pruned_seqs(connection: Connection) -> dict[str, int]:
    """The highest position in the log of each reporter's pruned events."""
    rows = connection.execute(select(log.PrunedReporter.reporter, log.PrunedReporter.seq))
    return {row.reporter: row.seq for row in rows}


def count_pruned_transfers(connection: Connection) -> int:
    return connection.scalar(select(func.count()).select_from(log.PrunedTransfer)) or 0


class LogPositions(Struct, frozen=True):
    """Positions in the log; 0 where there is nothing of the kind.

    :param last_seq: of the newest acceptance, including pruned ones.
    :param last_reversal: of the newest reorg or retraction. All that was accepted later is canonical.
    :param any_pruned: whether any transfer was ever pruned.
    """

    last_seq: int
    last_reversal: int
    any_pruned: bool


_POSITIONS: Final = select(
    select(func.max(log.Event.seq)).scalar_subquery(),
    select(func.max(PrunedReporter.seq)).scalar_subquery(),
    select(func.max(log.Event.seq)).where(IS_REORG).scalar_subquery(),
    select(func.max(RetractedEvent.seq)).scalar_subquery(),
    exists(select(PrunedTransfer.transfer_id)),
)


def load_positions(connection: Connection) -> LogPositions:
    """The :class:`LogPositions`, in one statement."""
    newest, pruned, reorg, retraction, any_pruned = connection.execute(_POSITIONS).one()
    return LogPositions(max(newest or 0, pruned or 0), max(reorg or 0, retraction or 0), bool(any_pruned))
