"""Which ingest tokens are there, and what was last accepted from a reporter?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, RowMapping, bindparam, select

from app.models.events import Event
from app.models.ingest_tokens import IngestToken, IngestUsage
from app.models.pruned import PrunedReporter

_TERMS = (
    IngestToken.types,
    IngestToken.chains,
    IngestToken.expires_at,
    IngestToken.quota_events,
    IngestToken.quota_seconds,
)
_SHOWN = (
    IngestToken.id,
    IngestToken.name,
    IngestToken.key_id,
    *_TERMS,
    IngestToken.created_at,
    IngestToken.revoked_at,
)
_VALID = select(IngestToken.name, IngestToken.digest, *_TERMS).where(
    IngestToken.key_id == bindparam("key_id"), IngestToken.revoked_at.is_(None)
)
_ALL = select(*_SHOWN).order_by(IngestToken.name, IngestToken.id)
_NAMED = select(*_SHOWN).where(IngestToken.name == bindparam("name")).order_by(IngestToken.id)
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
    return connection.execute(_VALID, {"key_id": key_id}).one_or_none()


def tokens_named(connection: Connection, name: str) -> Sequence[Row[*tuple[Any, ...]]]:
    """The tokens that a reporter has or had, revoked ones too, the oldest first."""
    return connection.execute(_NAMED, {"name": name}).all()


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
    return connection.execute(_ALL).all()


def token_by_id(connection: Connection, token_id: int) -> RowMapping | None:
    """The token in this row, revoked or not, all columns but the digest; None where there is none."""
    columns = [column for column in IngestToken.__table__.columns if column.key != "digest"]
    found = select(*columns).where(IngestToken.id == token_id)
    return connection.execute(found).mappings().one_or_none()
