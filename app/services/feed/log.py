"""The event log: appending to it, and writing it out so that `events ingest` can take it again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

import orjson
from sqlalchemy import Connection, insert

from app.domain.transfer.events import ChainReorged, Event
from app.domain.transfer.judge import LogEntry
from app.models import events as log
from app.models.engine import reading_consistently
from app.queries.feed.codec import encode_event
from app.queries.feed.log_pages import log_page
from app.runtime.gateway import Gateway

PAGE = 500
"""Acceptances read at a time."""


def append(connection: Connection, entries: Iterable[LogEntry], reporter: str, received_at: datetime) -> None:
    """Write acceptances to the end of the log."""
    rows = [
        {
            "seq": entry.seq,
            "event_id": entry.event.id,
            "subject": entry.event.subject,
            "occurrence": entry.occurrence,
            "type": entry.event.type.value,
            "at": entry.event.at,
            "received_at": received_at,
            "reporter": reporter,
            "transfer_id": getattr(entry.event, "transfer_id", None),
            "chain_id": getattr(entry.event, "chain_id", None),
            "block": _block(entry.event),
            "body": encode_event(entry.event),
        }
        for entry in entries
    ]
    if rows:
        connection.execute(insert(log.Event), rows)


def _block(event: Event) -> int | None:
    if isinstance(event, ChainReorged):
        return event.from_block
    return getattr(event, "block", None)


def export_log(gateway: Gateway) -> Iterator[bytes]:
    """The log as lines of JSON in its order, each with its ``seq``, ``reporter`` and ``received_at``.

    ``events ingest`` takes the lines again: into an empty database with the same network it gives
    the same answers.
    """
    with reading_consistently(gateway.engine) as connection:
        last = 0
        while rows := log_page(connection, last, PAGE):
            for row in rows:
                receipt = {
                    "seq": row.seq,
                    "id": row.event_id,
                    "type": row.type,
                    "reporter": row.reporter,
                    "received_at": row.received_at.isoformat(),
                }
                yield orjson.dumps(receipt | orjson.loads(row.body), option=orjson.OPT_APPEND_NEWLINE)
            last = rows[-1].seq
