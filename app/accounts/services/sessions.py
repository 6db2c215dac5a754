"""Sessions of signed-in browsers, and when their owner last proved their identity."""

from __future__ import annotations

import hashlib
import secrets
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, delete, insert, update
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.accounts.models import Operator, OperatorSession
from app.accounts.queries import (
    find_open_session,
    open_sessions_of,
    session_by_digest,
    session_ended,
    session_forgotten,
)
from app.accounts.rules.sessions import SESSION_IDLE, SESSION_LIFETIME, STEP_UP_AFTER, SessionEnd
from app.audit.keys import AuditKeys
from app.audit.rules.records import Actor
from app.audit.services import record
from app.db.database import Database
from app.db.engine import reading, writing


def proved_lately(database: Database, operator_id: int, secret: str) -> bool:
    """Whether the last proof of the cookie's session is recent enough for a sensitive change."""
    now = database.clock()
    with reading(database.engine) as connection:
        known = find_open_session(connection, operator_id, session_digest(secret), now)
    return known is not None and now - known.proved_at <= STEP_UP_AFTER


def note_proof(database: Database, operator_id: int, secret: str) -> None:
    """Note that the session's owner has just given password, code or passkey again."""
    with writing(database.engine) as connection:
        # A session that was ended meanwhile does not match, and stays ended.
        connection.execute(
            update(OperatorSession).where(*_own(operator_id, secret)).values(proved_at=database.clock())
        )


_SECRET_BYTES: Final = 32
_SEEN_EVERY: Final = timedelta(minutes=1)
_BROWSER_LENGTH: Final = 255


class OpenSession(Struct, frozen=True):
    """A session as its owner sees it."""

    id: int
    created_at: datetime
    seen_at: datetime
    address: str
    browser: str
    current: bool

    @property
    def ends_at(self) -> datetime:
        """When it ends by itself, if it is not used again."""
        return min(self.seen_at + SESSION_IDLE, self.created_at + SESSION_LIFETIME)


def begin_session(
    database: Database, audit_keys: AuditKeys, operator_id: int, actor: Actor, browser: str, how: str
) -> str:
    """Begin a session, note the sign-in on the account and in the audit log, and return the cookie's secret.

    Also deletes every session, of any account, whose cookie no browser can have any more.

    :param how: what the sign-in was made with: ``password``, ``second factor``, ``passkey``,
        ``new password``.
    """
    now, secret = database.clock(), secrets.token_urlsafe(_SECRET_BYTES)
    row = {
        "operator_id": operator_id,
        "digest": session_digest(secret),
        "created_at": now,
        "seen_at": now,
        "address": actor.address or "-",
        "browser": browser[:_BROWSER_LENGTH],
    }
    with writing(database.engine) as connection:
        connection.execute(delete(OperatorSession).where(session_forgotten(now)))
        connection.execute(insert(OperatorSession).values(row))
        signed_in = {"signed_in_at": now, "signed_in_from": actor.address}
        connection.execute(update(Operator).where(Operator.id == operator_id).values(signed_in))
        record(connection, audit_keys, actor, "sign_in", f"operator {actor.name}", now=now, detail=how)
    return secret


def session_is_open(database: Database, operator_id: int, secret: str, *, counts_as_use: bool = True) -> bool:
    """Whether the cookie's session is still open. Each use extends it."""
    now = database.clock()
    with reading(database.engine) as connection:
        known = find_open_session(connection, operator_id, session_digest(secret), now)
    if counts_as_use and known is not None and now - known.seen_at >= _SEEN_EVERY:
        # While others hold the lock, the use is noted next time, so that reading a page does not fail.
        with suppress(OperationalError, PoolTimeout), writing(database.engine) as connection:
            # A session that was ended meanwhile stays ended.
            connection.execute(update(OperatorSession).where(*_own(operator_id, secret)).values(seen_at=now))
    return known is not None


def sign_out(database: Database, audit_keys: AuditKeys, operator_id: int, secret: str, actor: Actor) -> None:
    """Delete the row of one session: this browser needs no reason. Nothing is recorded where it has ended
    already.
    """
    now, own = database.clock(), _own(operator_id, secret)
    with writing(database.engine) as connection:
        if connection.execute(delete(OperatorSession).where(*own, ~session_ended(now))).rowcount:
            subject = f"operator {actor.name}"
            record(connection, audit_keys, actor, "sign_out", subject, now=now)


def end_sessions(connection: Connection, now: datetime, why: SessionEnd, *which: ColumnElement[bool]) -> int:
    """End the open sessions that meet the conditions, in a writing transaction of the caller. Returns how
    many.
    """
    ended = update(OperatorSession).where(~session_ended(now), *which)
    return connection.execute(ended.values(ended_at=now, ended_why=why.value)).rowcount


def end_own_session(
    database: Database, audit_keys: AuditKeys, operator_id: int, session_id: int, actor: Actor
) -> bool:
    """End one open session of an account by its id. Returns whether there was one."""
    now = database.clock()
    which = (OperatorSession.id == session_id, OperatorSession.operator_id == operator_id)
    with writing(database.engine) as connection:
        ended = end_sessions(connection, now, SessionEnd.ELSEWHERE, *which)
        if ended:
            subject, detail = f"operator {actor.name}", "one session, from another browser"
            record(connection, audit_keys, actor, "sign_out", subject, now=now, detail=detail)
    return bool(ended)


class EndedSession(Struct, frozen=True):
    """A session that has ended: its owner, and the reason; None where its time was over."""

    email: str
    why: SessionEnd | None


def ended_session(database: Database, secret: str) -> EndedSession | None:
    """The session of a cookie that no longer counts; None where it is not stored any more."""
    with reading(database.engine) as connection:
        row = session_by_digest(connection, session_digest(secret))
    return (
        None if row is None else EndedSession(row.email, SessionEnd(row.ended_why) if row.ended_why else None)
    )


def open_sessions(database: Database, operator_id: int, secret: str) -> list[OpenSession]:
    """The account's open sessions, the last used first. ``secret`` marks the current one."""
    with reading(database.engine) as connection:
        rows = open_sessions_of(connection, operator_id, session_digest(secret), database.clock())
    return [OpenSession(**row) for row in rows]


def _own(operator_id: int, secret: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """The conditions that a session is that of the cookie, and of the account."""
    return OperatorSession.digest == session_digest(secret), OperatorSession.operator_id == operator_id


def session_digest(secret: str) -> bytes:
    """The digest of a cookie's secret, which is all that the database has of it."""
    return hashlib.sha256(secret.encode()).digest()
