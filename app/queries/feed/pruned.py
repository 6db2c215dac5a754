"""What is kept of pruned transfers and their events?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, func, select

from app.domain.keys import ChainId
from app.domain.transfer.pruned import Pruned, id_digest
from app.domain.transfer.state import ChainReading
from app.models import pruned as table

CHUNK = 5_000
"""Ids looked for in one statement."""


def load_pruned(connection: Connection, event_ids: Iterable[str], transfer_ids: Collection[bytes]) -> Pruned:
    """What of these was pruned."""
    transfers = connection.scalars(
        select(table.PrunedTransfer.transfer_id).where(table.PrunedTransfer.transfer_id.in_(transfer_ids))
    )
    return Pruned(_contents(connection, event_ids), frozenset(transfers))


def any_pruned(connection: Connection, event_ids: Iterable[str]) -> str | None:
    """One of the ids that belongs to a pruned event, if there is any."""
    known = {id_digest(event_id): event_id for event_id in event_ids}
    found = next(iter(_contents(connection, known.values())), None)
    return None if found is None else known[found]


def _contents(connection: Connection, event_ids: Iterable[str]) -> dict[bytes, bytes]:
    digests, event = [id_digest(event_id) for event_id in event_ids], table.PrunedEvent
    found: dict[bytes, bytes] = {}
    for start in range(0, len(digests), CHUNK):
        asked = digests[start : start + CHUNK]
        rows = connection.execute(
            select(event.id_digest, event.content_digest).where(event.id_digest.in_(asked))
        )
        found |= {bytes(row.id_digest): bytes(row.content_digest) for row in rows}
    return found


def last_pruned_of(connection: Connection, reporter: str) -> datetime | None:
    """When the newest of a reporter's pruned events was received."""
    of_reporter = table.PrunedReporter.reporter == reporter
    return connection.scalar(select(table.PrunedReporter.received_at).where(of_reporter))


def pruned_up_to(connection: Connection, chain_id: ChainId) -> int | None:
    """The highest block of a chain in which a pruned event stands."""
    return connection.scalar(
        select(table.PrunedChain.highest_block).where(table.PrunedChain.chain_id == chain_id)
    )


def pruned_readings(connection: Connection) -> dict[ChainId, ChainReading]:
    """The newest time of each chain that pruned events showed, without a block."""
    rows = connection.execute(select(table.PrunedChain.chain_id, table.PrunedChain.newest_at))
    return {
        ChainId(row.chain_id): ChainReading(None, row.newest_at) for row in rows if row.newest_at is not None
    }


def pruned_chains(connection: Connection) -> Sequence[Row[*tuple[Any, ...]]]:
    """Highest block and newest time of every chain that pruned events had."""
    return connection.execute(select(table.PrunedChain.__table__)).all()


def pruned_pools(connection: Connection) -> dict[tuple[int, str], tuple[int, int]]:
    """What pruned transfers sent into and were relayed from each pool, by chain and symbol."""
    rows = connection.execute(select(table.PrunedPool.__table__))
    return {(row.chain_id, row.symbol): (row.sent, row.relayed) for row in rows}


def last_pruned_seqs(connection: Connection) -> dict[str, int]:
    """The highest position in the log of each reporter's pruned events."""
    rows = connection.execute(select(table.PrunedReporter.reporter, table.PrunedReporter.seq))
    return {row.reporter: row.seq for row in rows}


def count_pruned_transfers(connection: Connection) -> int:
    """How many transfers were ever pruned."""
    return connection.scalar(select(func.count()).select_from(table.PrunedTransfer)) or 0
