"""A database that `sandbox grow` filled for measurements has no log: work on the log is refused there."""

from __future__ import annotations

from sqlalchemy import Connection

from app.db.engine import reading
from app.domain.amounts import grouped
from app.queries.feed.log import grown_transfers
from app.runtime.gateway import Gateway

_COMPLAINT = (
    "this database was filled by `sandbox grow` for measurements: its {} transfers have no events; use "
    "another database (DATABASE_URL)"
)


class NoEventLog(RuntimeError):
    """Work on the log was asked of a database without one; the message says what to do."""


def refuse_grown(connection: Connection) -> None:
    """Refuse a database whose transfers have no events.

    :raises NoEventLog: it is one.
    """
    transfers = grown_transfers(connection)
    if transfers is not None:
        raise NoEventLog(_COMPLAINT.format(grouped(transfers)))


def grown_complaint(gateway: Gateway) -> str | None:
    """Why commands about the log cannot be used, for the operator; None where they can."""
    try:
        with reading(gateway.reads) as connection:
            refuse_grown(connection)
    except NoEventLog as complaint:
        return str(complaint)
    return None
