"""Which sessions of an account are open?"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, func, or_, select

from app.domain.operators import SESSION_IDLE, SESSION_LIFETIME
from app.models.operators import Operator, OperatorSession


def session_ended(now: datetime) -> ColumnElement[bool]:
    """The condition that a session was ended, was idle for too long, or has reached its greatest age."""
    return or_(
        OperatorSession.ended_at.is_not(None),
        OperatorSession.seen_at <= now - SESSION_IDLE,
        OperatorSession.created_at <= now - SESSION_LIFETIME,
    )


def session_forgotten(now: datetime) -> ColumnElement[bool]:
    """The condition that no browser has a session's cookie any more.

    A cookie lives for ``SESSION_LIFETIME`` after its last use, which is at most that long after its sign-in.
    """
    return OperatorSession.created_at <= now - 2 * SESSION_LIFETIME


def session_with(connection: Connection, digest: bytes) -> Row[*tuple[Any, ...]] | None:
    """The session with this digest, open or ended: ``email`` of its account and ``ended_why``."""
    query = (
        select(Operator.email, OperatorSession.ended_why)
        .join(Operator, Operator.id == OperatorSession.operator_id)
        .where(OperatorSession.digest == digest)
    )
    return connection.execute(query).one_or_none()


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
