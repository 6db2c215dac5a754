"""Writing the event log out, so that `events ingest` can take it again."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from app.models.engine import reading_consistently
from app.queries.feed.log_pages import log_page
from app.runtime.gateway import Gateway

PAGE = 500
"""Acceptances read at a time."""


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
