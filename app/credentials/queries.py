"""Selects keys and tokens, their use, and what was last accepted from a reporter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, func, select

from app.credentials.models import ApiKey, ApiKeyUse, Credential, IngestToken, IngestUsage
from app.transfers.models import Event, PrunedReporter

_VALID_KEYS = select(
    ApiKey.id, ApiKey.key_id, ApiKey.name, ApiKey.digest, ApiKey.scopes, ApiKey.rate_limit
).where(ApiKey.revoked_at.is_(None))
_VALID_TOKEN = select(
    IngestToken.name,
    IngestToken.digest,
    IngestToken.types,
    IngestToken.chains,
    IngestToken.expires_at,
    IngestToken.quota_events,
    IngestToken.quota_seconds,
).where(IngestToken.key_id == bindparam("key_id"), IngestToken.revoked_at.is_(None))
_LAST_ACCEPTED = (
    select(Event.event_id, Event.type, Event.at, Event.received_at, Event.seq)
    .where(Event.reporter == bindparam("reporter"))
    .order_by(Event.seq.desc())
    .limit(1)
)

_LAST_PRUNED = select(
    PrunedReporter.event_id,
    PrunedReporter.type,
    PrunedReporter.at,
    PrunedReporter.received_at,
    PrunedReporter.seq,
).where(PrunedReporter.reporter == bindparam("reporter"))


def valid_keys(connection: Connection) -> Sequence[Row[*tuple[Any, ...]]]:
    return connection.execute(_VALID_KEYS).all()


def valid_token(connection: Connection, key_id: str) -> Row[*tuple[Any, ...]] | None:
    """The token with this public id, expired or not; None where there is none or it was revoked."""
    return connection.execute(_VALID_TOKEN, {"key_id": key_id}).one_or_none()


def count_valid_keys(connection: Connection) -> int:
    return connection.scalar(select(func.count()).where(ApiKey.revoked_at.is_(None))) or 0


def _shown(table: type[Credential]) -> Select[*tuple[Any, ...]]:
    """All columns but the digest."""
    return select(*(column for column in table.__table__.columns if column.key != "digest"))


def every_credential(connection: Connection, table: type[Credential]) -> Sequence[Row[*tuple[Any, ...]]]:
    """All keys or tokens by name, revoked ones too; all columns but the digest."""
    return connection.execute(_shown(table).order_by(table.name, table.id)).all()


def credentials_named(
    connection: Connection, table: type[Credential], name: str
) -> Sequence[Row[*tuple[Any, ...]]]:
    """The keys or tokens that have or had the name, revoked ones too, the oldest first; all columns but the
    digest.
    """
    return connection.execute(_shown(table).where(table.name == name).order_by(table.id)).all()


def credential_by_id(
    connection: Connection, table: type[Credential], row_id: int
) -> Row[*tuple[Any, ...]] | None:
    """The key or token in this row, revoked or not, all columns but the digest; None where there is none."""
    return connection.execute(_shown(table).where(table.id == row_id)).one_or_none()


def uses_of(connection: Connection, api_key_id: int, first_day: int) -> Sequence[Row[*tuple[Any, ...]]]:
    """The uses of a key by day (Unix time // 86400), the newest first; days without any are left out."""
    found = select(ApiKeyUse.day, ApiKeyUse.requests, ApiKeyUse.limited).where(
        ApiKeyUse.api_key_id == api_key_id, ApiKeyUse.day >= first_day
    )
    return connection.execute(found.order_by(ApiKeyUse.day.desc())).all()


def last_days(connection: Connection) -> Mapping[int, int]:
    """The last day (Unix time // 86400) on which each key was used, by the id of the key's row."""
    found = select(ApiKeyUse.api_key_id, func.max(ApiKeyUse.day).label("day")).group_by(ApiKeyUse.api_key_id)
    return {row.api_key_id: row.day for row in connection.execute(found)}


def usage_of(connection: Connection, reporter: str, period_start: int) -> int:
    """How many events count against the reporter's quota in the period that began then."""
    found = select(IngestUsage.events).where(
        IngestUsage.reporter == reporter, IngestUsage.period_start == period_start
    )
    return connection.scalar(found) or 0


def last_accepted(connection: Connection, reporter: str) -> Row[*tuple[Any, ...]] | None:
    """The last event accepted from this reporter, pruned or not; None for none."""
    found = (
        connection.execute(query, {"reporter": reporter}).one_or_none()
        for query in (_LAST_ACCEPTED, _LAST_PRUNED)
    )
    return max((row for row in found if row is not None), key=lambda row: row.seq, default=None)
