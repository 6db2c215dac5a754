"""Events ahead of the clock: nothing follows from them until their time (docs/interface.md#ahead)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, insert
from sqlalchemy.exc import SQLAlchemyError

from app.models.engine import writing
from app.models.events import EventAhead
from app.outages import FAILURES
from app.queries.feed import ahead
from app.runtime.gateway import Gateway
from app.services.feed.affected import fold_around
from app.services.feed.lines import MAX_AHEAD

CHUNK = 500

_log = logging.getLogger(__name__)


def settle(connection: Connection, now: datetime) -> None:
    """Let count what is due, and no longer what turns out to be ahead. The caller is the only writer.

    The latter where a clock that was far ahead was corrected: what came by it is at the end of the log. One
    that was ahead by no more than reporters' clocks may be is let be.
    """
    newest = ahead.newest_receipt(connection)
    if newest is not None and newest > now + MAX_AHEAD:
        _put_ahead(connection, now)
    positions = ahead.due(connection, now)
    for start in range(0, len(positions), CHUNK):
        chunk = positions[start : start + CHUNK]

        def let_count(chunk: Sequence[int] = chunk) -> None:
            connection.execute(delete(EventAhead).where(EventAhead.seq.in_(chunk)))

        fold_around(connection, ahead.events_at(connection, chunk), let_count, now)


def settle_what_is_due(gateway: Gateway) -> None:
    """Let count what is due, for an answer before which nothing was written since.

    To know that nothing is costs a read that all share for a moment. No answer fails because of this: where
    the database does, what the answer itself reads says so.
    """
    try:
        first, _ = gateway.kept_reads.ask(
            ahead.first_ahead, lambda: gateway.public_reads.ask(ahead.first_ahead)
        )
        if first is not None and first <= gateway.clock():
            with writing(gateway.feed) as connection:
                settle(connection, gateway.clock())
    except SQLAlchemyError as error:
        FAILURES.report(_log, logging.WARNING, "what is due could not be counted", error=error)


def _put_ahead(connection: Connection, now: datetime) -> None:
    known = ahead.positions_ahead(connection)
    new = [row for row in ahead.received_later(connection, now) if row.seq not in known]
    for start in range(0, len(new), CHUNK):
        chunk = new[start : start + CHUNK]

        def leave_out(chunk: Sequence[Row[*tuple[Any, ...]]] = chunk) -> None:
            _insert(connection, chunk)

        events = ahead.events_at(connection, [row.seq for row in chunk])
        fold_around(connection, events, leave_out, now)


def _insert(connection: Connection, rows: Sequence[Row[*tuple[Any, ...]]]) -> None:
    if rows:
        connection.execute(insert(EventAhead), [{"seq": row.seq, "at": row.at} for row in rows])
