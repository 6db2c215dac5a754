"""Signed-in browsers. A cookie names a session by a secret of which only the digest is kept."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import ColumnElement, delete, insert, or_, select, update

from app.domain.audit import Actor
from app.domain.operators import SESSION_IDLE, SESSION_LIFETIME
from app.models.engine import reading, writing
from app.models.operators import Operator, OperatorSession
from app.runtime.gateway import Gateway
from app.services.audit.record import record

_SECRET_BYTES: Final = 32
_SEEN_EVERY: Final = timedelta(minutes=1)
_BROWSER_LENGTH: Final = 255


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A session as its owner sees it."""

    id: int
    created_at: datetime
    seen_at: datetime
    address: str
    browser: str
    ends_at: datetime
    current: bool


def begin_session(gateway: Gateway, operator_id: int, actor: Actor, browser: str, how: str) -> str:
    """Open a session and note the sign-in on the account and in the audit; the secret for its cookie.

    :param how: by what it was: ``password``, ``second factor``, ``new password``.

    Sessions of anybody that have ended are swept out on the way.
    """
    now, secret = gateway.clock(), secrets.token_urlsafe(_SECRET_BYTES)
    row = {
        "operator_id": operator_id,
        "digest": _digest(secret),
        "created_at": now,
        "seen_at": now,
        "address": actor.address or "-",
        "browser": browser[:_BROWSER_LENGTH],
    }
    with writing(gateway.engine) as connection:
        connection.execute(delete(OperatorSession).where(_ended(now)))
        connection.execute(insert(OperatorSession).values(row))
        signed_in = {"signed_in_at": now, "signed_in_from": actor.address}
        connection.execute(update(Operator).where(Operator.id == operator_id).values(signed_in))
        record(
            connection, gateway.audit_keys, actor, "sign_in", f"operator {actor.name}", now=now, detail=how
        )
    return secret


def session_stands(gateway: Gateway, operator_id: int, secret: str) -> bool:
    """Whether the cookie's session is still open; using it keeps it open."""
    now = gateway.clock()
    where = (OperatorSession.digest == _digest(secret), OperatorSession.operator_id == operator_id)
    with reading(gateway.engine) as connection:
        seen_at = connection.scalar(select(OperatorSession.seen_at).where(*where, ~_ended(now)))
    if seen_at is not None and now - seen_at >= _SEEN_EVERY:
        with writing(gateway.engine) as connection:
            # Where it was ended meanwhile, there is no row to keep open.
            connection.execute(update(OperatorSession).where(*where).values(seen_at=now))
    return seen_at is not None


def end_session(gateway: Gateway, operator_id: int, secret: str, actor: Actor) -> None:
    """Sign one browser out. Where its session has ended already, nothing happened."""
    where = (OperatorSession.digest == _digest(secret), OperatorSession.operator_id == operator_id)
    with writing(gateway.engine) as connection:
        if connection.execute(delete(OperatorSession).where(*where)).rowcount:
            subject = f"operator {actor.name}"
            record(connection, gateway.audit_keys, actor, "sign_out", subject, now=gateway.clock())


def open_sessions(gateway: Gateway, operator_id: int, secret: str) -> list[OpenSession]:
    """The account's sessions that stand, the last used first; ``secret`` names the one that asks."""
    now, table = gateway.clock(), OperatorSession
    query = (
        select(table.id, table.created_at, table.seen_at, table.address, table.browser, table.digest)
        .where(table.operator_id == operator_id, ~_ended(now))
        .order_by(table.seen_at.desc(), table.id.desc())
    )
    with reading(gateway.engine) as connection:
        rows = connection.execute(query).all()
    return [
        OpenSession(
            id=row.id,
            created_at=row.created_at,
            seen_at=row.seen_at,
            address=row.address,
            browser=row.browser,
            ends_at=min(row.seen_at + SESSION_IDLE, row.created_at + SESSION_LIFETIME),
            current=bytes(row.digest) == _digest(secret),
        )
        for row in rows
    ]


def _ended(now: datetime) -> ColumnElement[bool]:
    return or_(
        OperatorSession.seen_at <= now - SESSION_IDLE, OperatorSession.created_at <= now - SESSION_LIFETIME
    )


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
