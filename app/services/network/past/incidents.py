"""Which chains are stopped now: since when, by whom, and why."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from app.db.engine import reading
from app.queries.audit import maker_of_row_at
from app.queries.network import StoppedRow, stopped_chains
from app.runtime.gateway import Gateway


@dataclass(frozen=True, slots=True)
class StoppedChain:
    """A stopped chain. ``at``, ``by`` and ``record_id`` are None where the audit log does not tell."""

    chain_id: int
    name: str
    reason: str
    at: datetime | None
    by: str | None
    record_id: int | None


def chains_stopped_now(gateway: Gateway) -> list[StoppedChain]:
    """Every stopped chain, the one that was stopped last at the top."""
    with reading(gateway.reads) as connection:
        found = [
            StoppedChain(row.chain_id, row.name, row.reason, row.at, *_stopped_by(connection, row))
            for row in stopped_chains(connection)
        ]
    return sorted(found, key=lambda chain: chain.record_id or 0, reverse=True)


def _stopped_by(connection: Connection, row: StoppedRow) -> tuple[str, int] | tuple[None, None]:
    """Who stopped the chain, and the record of it: that of the same time, which was written with the row."""
    made = None if row.at is None else maker_of_row_at(connection, f"chain {row.chain_id}", row.at)
    return made or (None, None)
