"""Which sessions of an account are open?"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, func, or_, select

from app.domain.operators import SESSION_IDLE, SESSION_LIFETIME
from app.models.operators import OperatorSession


def session_ended(now: datetime) -> ColumnElement[bool]:
    """The condition that a session was idle for too long, or has reached its greatest age."""
    return or_(
        OperatorSession.seen_at <= now - SESSION_IDLE, OperatorSession.created_at <= now - SESSION_LIFETIME
    )


def session_last_used(
    connection: Connection, operator_id: int, digest: bytes, now: datetime
) -> datetime | None:
    """When the account's open session with this digest was last used; None where there is none."""
    return connection.scalar(
        select(OperatorSession.seen_at).where(
            OperatorSession.digest == digest, OperatorSession.operator_id == operator_id, ~session_ended(now)
        )
    )


def session_proved_at(
    connection: Connection, operator_id: int, digest: bytes, now: datetime
) -> datetime | None:
    """When the owner of the account's open session last proved who they are; None where there is none."""
    proved_at = func.coalesce(OperatorSession.proved_at, OperatorSession.created_at)
    return connection.scalar(
        select(proved_at).where(
            OperatorSession.digest == digest, OperatorSession.operator_id == operator_id, ~session_ended(now)
        )
    )


def open_sessions_of(
    connection: Connection, operator_id: int, now: datetime
) -> Sequence[Row[*tuple[Any, ...]]]:
    """The account's open sessions, the last used first."""
    table = OperatorSession
    query = (
        select(table.id, table.created_at, table.seen_at, table.address, table.browser, table.digest)
        .where(table.operator_id == operator_id, ~session_ended(now))
        .order_by(table.seen_at.desc(), table.id.desc())
    )
    return connection.execute(query).all()
