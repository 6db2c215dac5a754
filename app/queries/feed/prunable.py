"""Which transfers are finished and old enough to be pruned, and which of them must be kept?"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, func, literal, select, tuple_

from app.domain.codes import TransferHistoryStatus
from app.domain.keys import TransferId
from app.models.anomalies import Anomaly
from app.models.choice import is_one_of
from app.models.events import Event, RetractedEvent
from app.models.network import Pool
from app.models.transfers import Transfer
from app.models.types import Hash32, UtcTime
from app.queries.feed.pools import LIQUIDITY

Cursor = tuple[datetime, bytes]
"""The end of a page of transfers in one status: ``status_since`` and id of the last one."""

START: Final[Cursor] = (datetime.min.replace(tzinfo=UTC), bytes(32))


class EventSpan(NamedTuple):
    """How many events a transfer has, and the times of the first and the last of them."""

    events: int
    oldest: datetime
    newest: datetime


def next_prunable(
    connection: Connection, status: TransferHistoryStatus, cursor: Cursor, before: datetime, limit: int
) -> tuple[list[bytes], Cursor | None]:
    """The next page of transfers in a status since before a time, and its cursor; None at the end.

    A status holds since one of its transfer's events, so the last event is no earlier: a transfer that
    these pages leave out is not old enough.
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
    """How many transfers those pages have in all."""
    counts = (select(func.count()).select_from(Transfer).where(*_old(s, before)) for s in statuses)
    return sum(connection.scalar(count) or 0 for count in counts)


def _old(status: TransferHistoryStatus, before: datetime) -> tuple[ColumnElement[bool], ...]:
    return Transfer.status == int(status), Transfer.status_since < before


def event_spans(connection: Connection, transfer_ids: Collection[bytes]) -> dict[bytes, EventSpan]:
    """Number and times of the events of each of the transfers that has any."""
    rows = connection.execute(
        select(Event.transfer_id, func.count(), func.min(Event.at), func.max(Event.at))
        .where(Event.transfer_id.in_(transfer_ids))
        .group_by(Event.transfer_id)
    )
    return {row[0]: EventSpan(row[1], row[2], row[3]) for row in rows if row[0] is not None}


def transfers_with_retractions(connection: Connection, transfer_ids: Collection[bytes]) -> set[TransferId]:
    """Those of the transfers of which an event was retracted."""
    found = connection.scalars(
        select(RetractedEvent.transfer_id).where(RetractedEvent.transfer_id.in_(transfer_ids))
    )
    return {transfer_id for transfer_id in found if transfer_id is not None}


def transfers_with_open_anomalies(connection: Connection, transfer_ids: Collection[bytes]) -> set[TransferId]:
    """Those of the transfers of which an anomaly waits to be acknowledged."""
    found = connection.scalars(
        select(Anomaly.transfer_id).where(
            Anomaly.transfer_id.in_(transfer_ids), Anomaly.acknowledged_at.is_(None)
        )
    )
    return {transfer_id for transfer_id in found if transfer_id is not None}


def capped_epoch_seconds(connection: Connection) -> Sequence[int]:
    """The lengths of the epochs in which a pool's volume is capped, in seconds."""
    return connection.scalars(select(Pool.epoch_seconds).where(Pool.epoch_cap.is_not(None)).distinct()).all()


def liquidity_before(connection: Connection, before: datetime) -> Sequence[int]:
    """Positions in the log of deposits and withdrawals of liquidity providers from before a time."""
    types = [each.value for each in LIQUIDITY]
    of_liquidity = (Event.chain_id.is_not(None), Event.type.in_(types), Event.at < before)
    return connection.scalars(select(Event.seq).where(*of_liquidity)).all()


def entries_at(connection: Connection, positions: Collection[int]) -> Sequence[Row[*tuple[Any, ...]]]:
    """Every column of the entries at these positions that are still there, in the order of the log."""
    query = select(Event.__table__).where(is_one_of(connection, Event.seq, positions))
    return connection.execute(query.order_by(Event.seq)).all()


def events_of_transfers(
    connection: Connection, transfer_ids: Collection[bytes]
) -> Sequence[Row[*tuple[Any, ...]]]:
    """Every column of every event of the transfers, in the order of the log."""
    return connection.execute(
        select(Event.__table__).where(Event.transfer_id.in_(transfer_ids)).order_by(Event.seq)
    ).all()
