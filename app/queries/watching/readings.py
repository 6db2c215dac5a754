"""What is kept of the reading of one chain?"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, or_, select

from app.domain.keys import BlockNumber, ChainId
from app.domain.watching.blocks import Header
from app.domain.watching.steps import Span, SpanState, Waiting, WaitingKind
from app.models.watching.readings import WatchHeader, WatchMiss, WatchSpan, WatchWaiting
from app.models.watching.watches import ChainWatch


def watch_row(connection: Connection, chain_id: ChainId) -> Row[*tuple[Any, ...]] | None:
    """The row of a chain; None where nobody has ever read it."""
    found = select(ChainWatch.__table__).where(ChainWatch.chain_id == chain_id)
    return connection.execute(found).one_or_none()


def kept_headers(connection: Connection, chain_id: ChainId) -> Sequence[Header]:
    """The headers that are kept, ascending."""
    rows = connection.execute(
        select(WatchHeader.__table__).where(WatchHeader.chain_id == chain_id).order_by(WatchHeader.number)
    )
    return [
        Header(
            BlockNumber(row.number),
            row.hash,
            row.parent_hash,
            row.at,
            None if row.bloom is None else bytes(row.bloom),
            None if row.receipts_root is None else bytes(row.receipts_root),
        )
        for row in rows
    ]


def kept_hash(connection: Connection, chain_id: ChainId, number: BlockNumber) -> str | None:
    """The hash of a block whose header is kept."""
    return connection.scalar(
        select(WatchHeader.hash).where(WatchHeader.chain_id == chain_id, WatchHeader.number == number)
    )


def unproven_spans(connection: Connection, chain_id: ChainId) -> Sequence[Span]:
    """The spans that are not proven yet, ascending."""
    return _spans(connection, chain_id, WatchSpan.state != SpanState.PROVEN.value)


def spans_between(
    connection: Connection, chain_id: ChainId, first: BlockNumber, last: BlockNumber | None
) -> Sequence[Span]:
    """The spans that have a block of a range or lie beside it, ascending.

    :param last: None for a range without an end.
    """
    below = () if last is None else (WatchSpan.first <= last + 1,)
    return _spans(connection, chain_id, WatchSpan.last >= first - 1, *below)


def reread_spans(connection: Connection, chain_id: ChainId, first: BlockNumber) -> Sequence[Span]:
    """The spans from a block on that were reread or proven, ascending; few, for neighbours are joined."""
    return _spans(connection, chain_id, WatchSpan.last >= first, WatchSpan.state != SpanState.READ.value)


def _spans(connection: Connection, chain_id: ChainId, *conditions: Any) -> Sequence[Span]:
    rows = connection.execute(
        select(WatchSpan.__table__)
        .where(WatchSpan.chain_id == chain_id, *conditions)
        .order_by(WatchSpan.first)
    )
    return [
        Span(
            BlockNumber(row.first),
            BlockNumber(row.last),
            row._mapping["count"],  # a tuple has a method of that name
            bytes(row.digest),
            row.source,
            SpanState(row.state),
        )
        for row in rows
    ]


def waiting_facts(connection: Connection, chain_id: ChainId) -> Sequence[Waiting]:
    """Everything of the chain that waits, by block."""
    rows = connection.execute(
        select(WatchWaiting.__table__)
        .where(WatchWaiting.chain_id == chain_id)
        .order_by(WatchWaiting.block, WatchWaiting.kind, WatchWaiting.key)
    )
    return [
        Waiting(
            WaitingKind(row.kind),
            row.key,
            BlockNumber(row.block),
            None if row.due is None else BlockNumber(row.due),
            row.facts,
        )
        for row in rows
    ]


def newest_misses(connection: Connection, chain_id: ChainId, limit: int) -> Sequence[Row[*tuple[Any, ...]]]:
    """The newest rereads that differed, the newest first."""
    return connection.execute(
        select(WatchMiss.__table__)
        .where(WatchMiss.chain_id == chain_id)
        .order_by(WatchMiss.id.desc())
        .limit(limit)
    ).all()


def may_be_taken(connection: Connection, chain_id: ChainId, now: datetime, latest: datetime) -> bool:
    """Whether nobody has the lease of the chain, or has it no longer, and its reading is not stopped.

    :param latest: until when a lease may be held; one for longer counts as over.
    """
    in_time = (ChainWatch.until > now) & (ChainWatch.until <= latest)
    held = select(ChainWatch.chain_id).where(
        ChainWatch.chain_id == chain_id,
        or_(ChainWatch.stopped.is_not(None), ChainWatch.owner.is_not(None) & in_time),
    )
    return connection.execute(held).first() is None
