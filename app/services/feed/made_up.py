"""A database whose transfers were made up for measurements has no log to go back to."""

from __future__ import annotations

from sqlalchemy import Connection, select

from app.models.engine import reading
from app.models.pruned import GrownDatabase
from app.runtime.gateway import Gateway

_COMPLAINT = (
    "this database was filled by `sandbox grow` for measurements: its {:,} transfers have no events, "
    "so there is no log to work on; use another database (DATABASE_URL)"
)


class MadeUpDatabase(RuntimeError):
    """Work on the log was asked of a database without one; the message says what to do."""


def refuse_made_up(connection: Connection) -> None:
    """:raises MadeUpDatabase: where transfers were made up."""
    transfers = connection.scalar(select(GrownDatabase.transfers))
    if transfers is not None:
        raise MadeUpDatabase(_COMPLAINT.format(transfers))


def made_up_complaint(gateway: Gateway) -> str | None:
    """Why commands about the log cannot be used, in words for the operator; None where they can."""
    try:
        with reading(gateway.reads) as connection:
            refuse_made_up(connection)
    except MadeUpDatabase as complaint:
        return str(complaint)
    return None
