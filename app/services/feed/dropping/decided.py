"""Pruning fees and liquidity that decide no answer any more: outranked, or taken back long ago.

Nothing is kept of them: what is sent again is taken again, and comes to what it came to before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Row, delete

from app.domain.keys import ChainId
from app.domain.transfer.events import ChainEvent
from app.domain.transfer.standing import Logged
from app.domain.transfer.subjects import EventKey
from app.models.events import Event
from app.queries.feed.chains import standing_of_chain
from app.queries.feed.log import latest_acceptances
from app.queries.feed.pools import old_fees, outranked_fees
from app.queries.feed.pruned import entries_at, liquidity_before
from app.services.feed.remove import keep_reporters

Rows = Sequence[Row[*tuple[Any, ...]]]


@dataclass(frozen=True, slots=True)
class Kind:
    """What of one kind can go.

    ``candidates`` are positions in the log of what happened before a time; ``decided`` are of some of them
    the entries that decide nothing any more.
    """

    name: str
    candidates: Callable[[Connection, datetime], Sequence[int]]
    decided: Callable[[Connection, Sequence[int]], Rows]


def _taken_back(connection: Connection, positions: Sequence[int]) -> Rows:
    """Every entry at these positions of an event about a chain that does not stand."""
    rows = entries_at(connection, positions)
    latest = latest_acceptances(connection, {EventKey(row.subject, row.event_id) for row in rows})
    of_chain: dict[ChainId, list[Logged[ChainEvent]]] = defaultdict(list)
    for acceptance in latest.values():
        if isinstance(event := acceptance.event, ChainEvent):
            of_chain[event.chain_id].append(Logged(acceptance.seq, event))
    standing = {
        logged.event.key
        for chain_id, entries in of_chain.items()
        for logged in standing_of_chain(connection, chain_id, entries)
    }
    return [row for row in rows if EventKey(row.subject, row.event_id) not in standing]


KINDS: Final = (Kind("fees", old_fees, outranked_fees), Kind("liquidity", liquidity_before, _taken_back))


def remove_entries(connection: Connection, rows: Rows) -> None:
    """Remove entries of the log. The caller is the only writer."""
    keep_reporters(connection, rows)
    connection.execute(delete(Event).where(Event.seq.in_([row.seq for row in rows])))
