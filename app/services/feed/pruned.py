"""Knowing again what was pruned, and going on from its sums."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b

from sqlalchemy import Connection, exists, func, insert, select

from app.domain.transfer.events import Event, TransferEvent
from app.domain.transfer.state import ChainReading
from app.models import pruned as table
from app.models.pools import PoolCounter

CHUNK = 5_000
"""Ids looked for in one statement."""


def id_digest(event_id: str) -> bytes:
    """What is kept of a pruned event's id: 16 bytes, too many for two ids to meet by chance."""
    return blake2b(event_id.encode(), digest_size=16).digest()


def content_digest(event_type: str, body: str) -> bytes:
    """What is kept of its content: enough to tell another content of the same id."""
    return blake2b(f"{event_type} {body}".encode(), digest_size=8).digest()


@dataclass(frozen=True, slots=True)
class Pruned:
    """Of some events and their transfers those that were pruned."""

    contents: Mapping[bytes, bytes] = field(default_factory=dict)
    """Digest of the id to that of the content."""
    transfers: Set[bytes] = frozenset()

    def has_event(self, event: Event) -> bool:
        """Whether an event with this id was accepted and then pruned."""
        return bool(self.contents) and id_digest(event.id) in self.contents

    def has_other_content(self, event: Event, body: str) -> bool:
        """Whether the pruned event said something else. Only where ``has_event``."""
        return self.contents[id_digest(event.id)] != content_digest(event.type.value, body)

    def has_transfer_of(self, event: Event) -> bool:
        """Whether the event is about a transfer that was pruned."""
        return isinstance(event, TransferEvent) and event.transfer_id in self.transfers


def find_pruned(connection: Connection, events: Iterable[Event]) -> Pruned:
    """What of these was pruned. One short read where nothing ever was."""
    if not connection.scalar(select(exists(select(table.PrunedTransfer.transfer_id)))):
        return Pruned()
    events = list(events)
    ids = {event.transfer_id for event in events if isinstance(event, TransferEvent)}
    transfers = connection.scalars(
        select(table.PrunedTransfer.transfer_id).where(table.PrunedTransfer.transfer_id.in_(ids))
    )
    return Pruned(_contents(connection, (event.id for event in events)), frozenset(transfers))


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


def last_pruned_seq(connection: Connection) -> int:
    """The highest place in the log that a pruned acceptance had; 0 where nothing was pruned."""
    return connection.scalar(select(func.max(table.PrunedReporter.seq))) or 0


def last_pruned_of(connection: Connection, reporter: str) -> datetime | None:
    """When the newest of a reporter's pruned events was received."""
    of_reporter = table.PrunedReporter.reporter == reporter
    return connection.scalar(select(table.PrunedReporter.received_at).where(of_reporter))


def pruned_up_to(connection: Connection, chain_id: int) -> int | None:
    """The highest block of a chain in which a pruned event stands."""
    return connection.scalar(
        select(table.PrunedChain.highest_block).where(table.PrunedChain.chain_id == chain_id)
    )


def pruned_readings(connection: Connection) -> dict[int, ChainReading]:
    """How far pruned events showed each chain to be read; the block is left to be measured."""
    rows = connection.execute(select(table.PrunedChain.chain_id, table.PrunedChain.newest_at))
    return {row.chain_id: ChainReading(None, row.newest_at) for row in rows if row.newest_at is not None}


def count_from_pruned(connection: Connection) -> None:
    """Start the pools' counters, which must be empty, from what pruned transfers moved."""
    rows = connection.execute(select(table.PrunedPool.__table__)).mappings().all()
    if rows:
        connection.execute(insert(PoolCounter), [{**row, "added": 0, "withdrawn": 0} for row in rows])
