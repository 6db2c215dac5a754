"""Appending to the event log."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import Connection, insert

from app.domain.transfer.events import ChainReorged, Event
from app.domain.transfer.judge import LogEntry
from app.models import events as log


def append(connection: Connection, entries: Iterable[LogEntry], reporter: str, received_at: datetime) -> None:
    """Write acceptances to the end of the log."""
    rows = [
        {
            "seq": entry.seq,
            "event_id": entry.event.id,
            "occurrence": entry.occurrence,
            "type": entry.event.type.value,
            "at": entry.event.at,
            "received_at": received_at,
            "reporter": reporter,
            "transfer_id": getattr(entry.event, "transfer_id", None),
            "chain_id": getattr(entry.event, "chain_id", None),
            "block": _block(entry.event),
            "body": entry.body,
        }
        for entry in entries
    ]
    if rows:
        connection.execute(insert(log.Event), rows)


def _block(event: Event) -> int | None:
    if isinstance(event, ChainReorged):
        return event.from_block
    return getattr(event, "block", None)
