"""Which chains are stopped now: since when, by whom, and why."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from app.domain.audit import read_changes
from app.models.engine import reading
from app.queries.audit.rows import records_of_row
from app.queries.network.stopped import stopped_chains
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
            StoppedChain(row.chain_id, row.name, row.reason, *_stopped_by(connection, row.chain_id))
            for row in stopped_chains(connection)
        ]
    return sorted(found, key=lambda chain: chain.record_id or 0, reverse=True)


def _stopped_by(connection: Connection, chain_id: int) -> tuple[datetime, str, int] | tuple[None, None, None]:
    """The record that stopped the chain: the newest after which it was, and before which it was not."""
    subject, before = f"chain {chain_id}", None
    while records := records_of_row(connection, subject, before=before, limit=_PAGE):
        for record in records:
            for change in read_changes(record.changes):
                was, will = ((row or {}).get("disabled", False) for row in (change.before, change.after))
                if change.subject == subject and will and not was:
                    return record.at, record.actor, record.id
        before = records[-1].id
    return None, None, None


_PAGE = 20
