"""What is kept of pruned transfers and their events?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, func, select

from app.domain.keys import ChainId
from app.domain.transfer.pruned import id_digest, subject_digest
from app.domain.transfer.standing import ChainReading
from app.domain.transfer.subjects import EventKey
from app.models import pruned as table
from app.models.choice import is_one_of

CHUNK = 5_000
"""Ids looked for in one statement."""


def pruned_transfers(connection: Connection, transfer_ids: Collection[bytes]) -> frozenset[bytes]:
    """Those of the transfers that were pruned."""
    transfer_id = table.PrunedTransfer.transfer_id
    return frozenset(
        connection.scalars(select(transfer_id).where(is_one_of(connection, transfer_id, transfer_ids)))
    )


def pruned_contents(connection: Connection, keys: Iterable[EventKey]) -> dict[EventKey, bytes]:
    """Of the keys of events those that were pruned, and the digests of their contents."""
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
    """Those of the ids that belong to a pruned event.

    :param targets: subjects and ids; without a subject, whatever the id belongs to counts.
    """
    wanted: dict[bytes, list[tuple[str | None, str]]] = defaultdict(list)
    for subject, event_id in targets:
        wanted[id_digest(event_id)].append((subject, event_id))
    digests, event = list(wanted), table.PrunedEvent
    found: set[str] = set()
    for start in range(0, len(digests), CHUNK):
        asked = is_one_of(connection, event.id_digest, digests[start : start + CHUNK])
        for row in connection.execute(select(event.id_digest, event.subject_digest).where(asked)):
            for subject, event_id in wanted[row.id_digest]:
                if subject is None or row.subject_digest in (b"", subject_digest(subject)):
                    found.add(event_id)
    return frozenset(found)


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
