"""A guarded change by one person, from the server's own command line, with the reason on record."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import Connection

from app.domain.audit import Actor
from app.runtime.gateway import Gateway
from app.services.audit.record import record
from app.services.proposals.results import SecondPersonNeeded
from app.services.proposals.store import stated


def require_leave(
    connection: Connection,
    gateway: Gateway,
    actor: Actor,
    sections: Collection[str],
    *,
    subject: str,
    break_glass: str | None,
) -> None:
    """Let one person change these guarded sections only for a reason, which is recorded before the change.

    :param sections: those that ``TWO_PERSONS`` names; with none of them nothing is asked.
    :param break_glass: the reason, None where none is given.
    :raises SecondPersonNeeded: it is not given. The caller's transaction must then not commit.
    :raises ReasonMissing: it is empty or too long.
    """
    if not sections:
        return
    if break_glass is None:
        raise SecondPersonNeeded(sections)
    now: datetime = gateway.clock()
    detail = f"one person changed {', '.join(sections)}; reason: {stated(break_glass)}"
    record(connection, gateway.audit_keys, actor, "two_persons.break_glass", subject, now=now, detail=detail)
