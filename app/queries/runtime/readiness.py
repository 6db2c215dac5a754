"""Is the database there, at which migration, and does it take changes?"""

from __future__ import annotations

from sqlalchemy import Connection, String, column, func, inspect, select, table

from app.models.schema.floors import SchemaFloor

_VERSIONS = select(column("version_num", String)).select_from(table("alembic_version"))


def applied_migrations(connection: Connection) -> frozenset[str]:
    """The revisions that the database is at; none when it was never migrated."""
    if not inspect(connection).has_table("alembic_version"):
        return frozenset()
    return frozenset(connection.scalars(_VERSIONS).all())


def schema_floors(connection: Connection) -> frozenset[str]:
    """What the migrations that took something away say that code must know to run here."""
    return frozenset(connection.scalars(select(SchemaFloor.oldest_code)).all())


def is_read_only(connection: Connection) -> bool:
    """Whether the server refuses every change, as a standby does. SQLite says so only when it is asked to."""
    if connection.dialect.name != "postgresql":
        return False
    return connection.scalar(select(func.current_setting("transaction_read_only"))) == "on"
