"""Is the database there, and at which migration?"""

from __future__ import annotations

from sqlalchemy import Connection, String, column, inspect, select, table

_VERSIONS = select(column("version_num", String)).select_from(table("alembic_version"))


def applied_migrations(connection: Connection) -> frozenset[str]:
    """The revisions that the database is at; none when it was never migrated."""
    if not inspect(connection).has_table("alembic_version"):
        return frozenset()
    return frozenset(connection.scalars(_VERSIONS).all())
