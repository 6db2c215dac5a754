"""Selects the state of a database: its migration, its server, its settings."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

from sqlalchemy import Connection, DateTime, String, Text, cast, column, func, inspect, select, table

from app.db.models import SchemaFloor

_VERSIONS = select(column("version_num", String)).select_from(table("alembic_version"))


def applied_migrations(connection: Connection) -> frozenset[str]:
    """The revisions that the database is at; none when it was never migrated."""
    if not inspect(connection).has_table("alembic_version"):
        return frozenset()
    return frozenset(connection.scalars(_VERSIONS).all())


def schema_floors(connection: Connection) -> frozenset[str]:
    """The newest revisions that code must know to run here, from the migrations that removed something."""
    return frozenset(connection.scalars(select(SchemaFloor.oldest_code)).all())


def database_time(connection: Connection) -> datetime:
    """The server's clock; only of PostgreSQL."""
    return connection.execute(select(func.clock_timestamp(type_=DateTime(timezone=True)))).scalar_one()


def is_read_only(connection: Connection) -> bool:
    """Whether the server refuses every change, as a standby does. On SQLite always False."""
    if connection.dialect.name != "postgresql":
        return False
    return connection.scalar(select(func.current_setting("transaction_read_only"))) == "on"


LIMITS: Final = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
"""Settings that bound how long statements and transactions may take; ``0`` is no bound."""

_FIRST: Final = "0001-01-01 00:00:00+00"

_process = select(func.pg_backend_pid())
_settings = select(
    func.session_user(),
    func.current_setting("TimeZone"),
    # Not the name: UTC has several.
    cast(cast(_FIRST, DateTime(timezone=True)), Text) == _FIRST,
    *(func.current_setting(name) for name in LIMITS),
)


class Session(NamedTuple):
    """The settings that a statement runs with."""

    role: str
    time_zone: str
    in_utc: bool
    """Whether the first moment of the year 1 is shown as in UTC."""
    limits: dict[str, str]


def server_process(connection: Connection) -> int:
    """The id of the server's process that answers this statement."""
    process: int = connection.scalars(_process).one()
    return process


def session_of(connection: Connection) -> Session:
    """The settings that this statement runs with."""
    role, zone, in_utc, *limits = connection.execute(_settings).one()
    return Session(role, zone, in_utc, dict(zip(LIMITS, limits, strict=True)))
