"""Which keys and tokens are there, how much was each used, and what was last accepted from a reporter?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, RowMapping, bindparam, func, select

from app.credentials.models import ApiKey, ApiKeyUse, IngestToken, IngestUsage
from app.transfers.models import Event, PrunedReporter

_VALID = select(ApiKey.id, ApiKey.key_id, ApiKey.name, ApiKey.digest, ApiKey.scopes, ApiKey.rate_limit).where(
    ApiKey.revoked_at.is_(None)
)
_COUNT = select(func.count()).where(ApiKey.revoked_at.is_(None))
_NAMED = select(ApiKey.id).where(ApiKey.name == bindparam("name"))
_SHOWN = select(*(column for column in ApiKey.__table__.columns if column.key != "digest"))
_BY_ID = _SHOWN.where(ApiKey.id == bindparam("id"))
_ALL = _SHOWN.order_by(ApiKey.name)


def valid_keys(connection: Connection) -> Sequence[Row[*tuple[Any, ...]]]:
    """Every key that was not revoked."""
    return connection.execute(_VALID).all()


def all_keys(connection: Connection) -> Sequence[RowMapping]:
    """Every key, also the revoked ones, all columns but the digest, by name."""
    return connection.execute(_ALL).mappings().all()


def count_valid(connection: Connection) -> int:
    """How many keys were not revoked."""
    return connection.scalar(_COUNT) or 0


def is_name_used(connection: Connection, name: str) -> bool:
    """Whether a key has or had the name."""
    return connection.scalar(_NAMED, {"name": name}) is not None


def key_by_id(connection: Connection, api_key_id: int) -> RowMapping | None:
    """The key in this row, revoked or not, all columns but the digest; None where there is none."""
    return connection.execute(_BY_ID, {"id": api_key_id}).mappings().one_or_none()


def uses_of(connection: Connection, api_key_id: int, first_day: int) -> Sequence[Row[*tuple[Any, ...]]]:
    """The requests of a key by day, the newest first, from a day on; days without any are left out.

    :param first_day: Unix time // 86400.
    """
    found = select(ApiKeyUse.day, ApiKeyUse.requests, ApiKeyUse.limited).where(
        ApiKeyUse.api_key_id == api_key_id, ApiKeyUse.day >= first_day
    )
    return connection.execute(found.order_by(ApiKeyUse.day.desc())).all()


def last_days(connection: Connection) -> Mapping[int, int]:
    """The last day (Unix time // 86400) on which each key was used, by the id of the key's row."""
    found = select(ApiKeyUse.api_key_id, func.max(ApiKeyUse.day).label("day")).group_by(ApiKeyUse.api_key_id)
    return {row.api_key_id: row.day for row in connection.execute(found)}


_TERMS = (
    IngestToken.types,
    IngestToken.chains,
    IngestToken.expires_at,
    IngestToken.quota_events,
    IngestToken.quota_seconds,
)
_SHOWN_TOKENS = (
    IngestToken.id,
    IngestToken.name,
    IngestToken.key_id,
    *_TERMS,
    IngestToken.created_at,
    IngestToken.revoked_at,
)
_VALID_TOKENS = select(IngestToken.name, IngestToken.digest, *_TERMS).where(
    IngestToken.key_id == bindparam("key_id"), IngestToken.revoked_at.is_(None)
)
_ALL_TOKENS = select(*_SHOWN_TOKENS).order_by(IngestToken.name, IngestToken.id)
_NAMED_TOKEN = select(*_SHOWN_TOKENS).where(IngestToken.name == bindparam("name")).order_by(IngestToken.id)
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


def valid_token(connection: Connection, key_id: str) -> Row[*tuple[Any, ...]] | None:
    """The token with this public id, expired or not; None where there is none or it was revoked. One index
    read."""
    return connection.execute(_VALID_TOKENS, {"key_id": key_id}).one_or_none()


def tokens_named(connection: Connection, name: str) -> Sequence[Row[*tuple[Any, ...]]]:
    """The tokens that a reporter has or had, revoked ones too, the oldest first."""
    return connection.execute(_NAMED_TOKEN, {"name": name}).all()


def usage_of(connection: Connection, reporter: str, period_start: int) -> int:
    """How many events count against the reporter's quota in the period that began then."""
    found = select(IngestUsage.events).where(
        IngestUsage.reporter == reporter, IngestUsage.period_start == period_start
    )
    return connection.scalar(found) or 0


def last_accepted(connection: Connection, reporter: str) -> Row[*tuple[Any, ...]] | None:
    """The last event accepted from this reporter, pruned or not; None for none. Two index reads."""
    found = (
        connection.execute(query, {"reporter": reporter}).one_or_none()
        for query in (_LAST_ACCEPTED, _LAST_PRUNED)
    )
    return max((row for row in found if row is not None), key=lambda row: row.seq, default=None)


def every_token(connection: Connection) -> Sequence[Row[*tuple[Any, ...]]]:
    """All tokens by name, revoked ones too."""
    return connection.execute(_ALL_TOKENS).all()


def token_by_id(connection: Connection, token_id: int) -> RowMapping | None:
    """The token in this row, revoked or not, all columns but the digest; None where there is none."""
    columns = [column for column in IngestToken.__table__.columns if column.key != "digest"]
    found = select(*columns).where(IngestToken.id == token_id)
    return connection.execute(found).mappings().one_or_none()
