"""Reporters' tokens: made, listed, revoked, and recognised when they are presented."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, update

from app.db.engine import ask, reading, writing
from app.db.upserts import upsert
from app.domain.amounts import grouped
from app.domain.audit import Actor, AuditedChange
from app.domain.errors import QuotaExceeded, Unauthorized
from app.domain.reporting.quota import Quota
from app.domain.reporting.scope import Scope
from app.domain.reporting.token import (
    IngestToken,
    key_id_of,
)
from app.domain.times import rfc3339
from app.domain.transfer.event_types import EventType
from app.models import ingest_tokens as table
from app.queries.reporters import every_token, last_accepted, tokens_named, usage_of, valid_token
from app.runtime.gateway import Gateway
from app.services.audit.record import as_recorded, record_change

DOCUMENTED = ("name", "types", "chains", "created_at", "revoked_at")
DOCUMENTED_LIMITS = ("expires_at", "quota_events", "quota_seconds")
"""The columns that the audit log keeps; limits only where there are any."""

TYPES = tuple(event_type for event_type in EventType if event_type is not EventType.EVENTS_RETRACTED)
"""Event types that reporters report."""


class TokenRefused(ValueError):
    """Why a token is not made or not revoked, for the operator who asked."""


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """What operators see of a token. Without times it is one of the environment."""

    name: str
    scope: Scope
    key_id: str | None = None
    created_at: datetime | None = None
    revoked_at: datetime | None = None
    expires_at: datetime | None = None
    quota: Quota | None = None
    last_received_at: datetime | None = None


def revoke_token(gateway: Gateway, name: str, *, actor: Actor, key_id: str | None = None) -> datetime:
    """Let a reporter's tokens count no longer; when the last of them was revoked.

    It takes the writers' turn: when this returns, nothing more is accepted from the tokens' bearer
    in any process, not even the rest of an upload that has begun. Revoking again changes nothing.

    :param key_id: the key ID of the one token that is meant; without it all of the reporter's are.
    :raises TokenRefused: there is no such token, or it is one of the environment.
    """
    if name in {token.name for token in gateway.environment_tokens}:
        raise TokenRefused(f"{name} is set in INGEST_TOKENS; remove it there and restart the gateway")
    with writing(gateway.engine) as connection:
        rows = [row for row in tokens_named(connection, name) if key_id in (None, row.key_id)]
        if not rows:
            raise TokenRefused(f"there is no token {name}" + (f" with the key ID {key_id}" if key_id else ""))
        now = gateway.clock()
        for row in rows:
            if row.revoked_at is None:
                _revoke(connection, gateway, actor, row, now)
        return max(row.revoked_at or now for row in rows)


def _revoke(
    connection: Connection, gateway: Gateway, actor: Actor, row: Row[*tuple[Any, ...]], now: datetime
) -> None:
    of_row = table.IngestToken.id == row.id
    connection.execute(update(table.IngestToken).where(of_row).values(revoked_at=now))
    before = dict(row._mapping)
    states = (documented(state) for state in (before, before | {"revoked_at": now}))
    change = AuditedChange(f"ingest token {row.name}", *states)
    record_change(connection, gateway, actor, "ingest_token.revoke", change)


def documented(row: Mapping[str, Any]) -> dict[str, Any]:
    """What the audit log keeps of a token: nothing of its text but the key ID, not even the digest."""
    kept = {column: row.get(column) for column in DOCUMENTED}
    kept |= {column: row[column] for column in DOCUMENTED_LIMITS if row.get(column) is not None}
    return as_recorded(kept)


def list_tokens(gateway: Gateway) -> list[TokenRecord]:
    """Every token there is and was: the environment's first, then the others by name."""
    with reading(gateway.reads) as connection:
        records = [TokenRecord(token.name, token.scope) for token in gateway.environment_tokens]
        for row in every_token(connection):
            scope = _scope(row.types, row.chains)
            quota = _quota(row.quota_events, row.quota_seconds)
            records.append(
                TokenRecord(
                    row.name, scope, row.key_id, row.created_at, row.revoked_at, row.expires_at, quota
                )
            )
        return [
            replace(record, last_received_at=last.received_at)
            if (last := last_accepted(connection, record.name))
            else record
            for record in records
        ]


def _scope(types: list[str] | None, chains: list[int] | None) -> Scope:
    """The scope as it is stored."""
    return Scope(
        None if types is None else frozenset(map(EventType, types)),
        None if chains is None else frozenset(chains),
    )


def _quota(events: int | None, seconds: int | None) -> Quota | None:
    return None if events is None or seconds is None else Quota(events, seconds)


def state_of(row: Row[*tuple[Any, ...]], now: datetime) -> str | None:
    """Why a token does not count; None where it does."""
    if row.revoked_at is not None:
        return "revoked"
    return "expired" if row.expires_at is not None and row.expires_at <= now else None


def authenticate(gateway: Gateway, presented: bytes) -> IngestToken:
    """The valid token that was presented.

    Every token of the environment is compared, whichever it is, and of the database the one whose
    public id was presented: a wrong guess takes the same time however much of it is right.

    :raises Unauthorized: it is none, was revoked, or has expired.
    """
    found = [token for token in gateway.environment_tokens if token.is_(presented)]
    key_id = key_id_of(presented)
    if key_id is not None and not found:
        row = ask(gateway.reads, valid_token, key_id)
        if row is not None:
            scope, quota = _scope(row.types, row.chains), _quota(row.quota_events, row.quota_seconds)
            token = IngestToken(row.name, row.digest, scope, key_id, row.expires_at, quota)
            found = [token] if token.is_(presented) else []
    if not found:
        raise Unauthorized("the token is not valid: it is unknown or revoked")
    _refuse_expired(found[0].expires_at, gateway.clock())
    return found[0]


def _refuse_expired(expires_at: datetime | None, now: datetime) -> None:
    if expires_at is not None and expires_at <= now:
        raise Unauthorized(
            f"the token expired at {rfc3339(expires_at, 'seconds')}: ask the operator for a new one"
        )


def require_valid(connection: Connection, token: IngestToken, now: datetime) -> None:
    """Make sure that the token has not been revoked and has not expired since it was presented.

    :param connection: of the writer, whose turn keeps a revocation waiting.
    :raises Unauthorized: it was, or has.
    """
    if token.key_id is not None and valid_token(connection, token.key_id) is None:
        raise Unauthorized("the token was revoked; events accepted before stay")
    _refuse_expired(token.expires_at, now)


def charge(connection: Connection, token: IngestToken, events: int, now: datetime) -> None:
    """Count new and refused events against the quota that a reporter's tokens share.

    What is only repeated is free, so that sending a portion again comes to an end.

    :param connection: of the writer.
    :raises QuotaExceeded: they are more than are left in this period.
    """
    if token.quota is None or not events:
        return
    period = token.quota.period(now)
    used = usage_of(connection, token.name, period.start)
    if used + events > token.quota.events:
        left = max(0, token.quota.events - used)
        raise QuotaExceeded(
            f"this token may report {token.quota}, and {grouped(left)} are left until "
            f"{rfc3339(period.ends_at, 'seconds')}: earlier batches of this upload are kept; send all of it "
            "again then, repeated events do not count",
            retry_after=token.quota.retry_after(now),
        )
    row = {"reporter": token.name, "period_start": period.start, "events": used + events}
    upsert(connection, table.IngestUsage, [row])
