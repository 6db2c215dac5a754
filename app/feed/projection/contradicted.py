"""Stores reports of logs that are not in the blocks they name, and their anomalies."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, and_, delete, select

from app.db.types import is_one_of
from app.db.upserts import upsert
from app.feed.projection.anomalies import Subject, sync_anomalies
from app.transfers.models import ContradictedReport
from app.transfers.rules.anomalies import Anomaly, AnomalyKind
from app.transfers.rules.events.event_types import Event
from app.transfers.rules.events.keys import transfer_of_subject
from app.values.identifiers import BlockNumber, ChainId

_table = ContradictedReport


def note_contradicted(
    connection: Connection,
    chain_id: ChainId,
    event: Event,
    block: BlockNumber,
    reporter: str,
    now: datetime,
    *,
    outranked: bool,
) -> None:
    """Store that a block does not hold what was reported of it, with an anomaly that names the reporter.

    :param outranked: the block is proven: the event is retracted in the same transaction.
    """
    row = {
        "event_id": event.id,
        "subject": event.subject,
        "transfer_id": transfer_of_subject(event.subject),
        "chain_id": chain_id,
        "block": block,
        "reporter": reporter,
        "at": now,
        "tries": 0,
        "outranked": outranked,
    }
    upsert(connection, _table, [row])
    words = f"{reporter} reported what block {block} of chain {chain_id} does not hold; " + (
        "the block is proven, so it was retracted"
        if outranked
        else "it counts, as the block is not proven by two providers"
    )
    anomaly = Anomaly(AnomalyKind.REPORT_CONTRADICTS_BLOCK, words, (event.id,), event.at, event.at)
    sync_anomalies(connection, {_subject(event.subject, event.id, chain_id): [anomaly]})


def _subject(subject: str, event_id: str, chain_id: ChainId) -> Subject:
    return Subject(f"report:{subject}:{event_id}", transfer_of_subject(subject), chain_id)


def forget_contradicted(connection: Connection, chain_id: ChainId, blocks: Collection[BlockNumber]) -> None:
    """Remove what is stored of reports of blocks that hold them after all, unless they are retracted."""
    if blocks:
        of_blocks = is_one_of(connection, _table.block, blocks)
        _forget(connection, chain_id, and_(of_blocks, _table.outranked.is_(False)))


def forget_contradicted_from(connection: Connection, chain_id: ChainId, block: int) -> None:
    """Remove what is stored of reports from this block on: a reorganisation ended what was proven."""
    _forget(connection, chain_id, _table.block >= block)


def _forget(connection: Connection, chain_id: ChainId, condition: ColumnElement[bool]) -> None:
    of_chain = _table.chain_id == chain_id
    rows = connection.execute(select(_table.subject, _table.event_id).where(of_chain, condition)).all()
    if rows:
        connection.execute(delete(_table).where(of_chain, condition))
        sync_anomalies(connection, {_subject(row.subject, row.event_id, chain_id): [] for row in rows})
