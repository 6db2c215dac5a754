"""Which schemas this version runs on, and whether it can use the database that is there.

A rolling upgrade runs two versions on one database (docs/decisions/0050-range-of-schemas.md).
The selects here read the state of a database: its migration, its server, its settings.
"""

from __future__ import annotations

import re
from collections.abc import Set
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from sqlalchemy import Connection, DateTime, String, Text, cast, column, func, inspect, select, table
from sqlalchemy.exc import SQLAlchemyError

from app.db.complaints import unusable
from app.db.database import Database
from app.db.engine import run_read
from app.db.models import SchemaFloor
from app.db.sqlite import file_of
from app.db.writes import writes_of

_VERSIONS = select(column("version_num", String)).select_from(table("alembic_version"))


def applied_migrations(connection: Connection) -> frozenset[str]:
    """The revisions that the database is at; none when it was never migrated."""
    if not inspect(connection).has_table("alembic_version"):
        return frozenset()
    return frozenset(connection.scalars(_VERSIONS).all())


def applied_or_none(database: Database) -> frozenset[str]:
    """As :func:`applied_migrations`, of a database whose file may not exist yet."""
    file = file_of(database.engine.url) if database.engine.dialect.name == "sqlite" else None
    return frozenset() if file and not file.exists() else run_read(database.reads, applied_migrations)


def schema_in_words(database: Database, *, may_be_missing: bool = False) -> str:
    """The revision that a command found. No connection stays open, which would keep SQLite's other files next
    to the database.

    :param may_be_missing: whether a file that does not exist is no error.
    """
    applied = applied_or_none(database) if may_be_missing else run_read(database.reads, applied_migrations)
    database.reads.dispose()
    return f"schema {', '.join(sorted(applied))}" if applied else "no schema"


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
    process: int = connection.scalars(_process).one()
    return process


def session_of(connection: Connection) -> Session:
    role, zone, in_utc, *limits = connection.execute(_settings).one()
    return Session(role, zone, in_utc, dict(zip(LIMITS, limits, strict=True)))


FIRST: Final = "0048"
"""The migration that makes the schema of 1.0.0, and all after it build on."""

_MIGRATIONS: Final = Path(__file__).parents[2] / "migrations" / "versions"
_NOT_NEEDED: Final = re.compile(r"^NEEDED = False", re.MULTILINE)
"""In a migration without which this code runs as well."""


@cache
def newest_schema() -> str:
    """The revision that the migrations of this code lead to: their files are named by it, in order."""
    return _revision(_migrations()[-1])


@cache
def oldest_schema(folder: Path = _MIGRATIONS) -> str:
    """The oldest revision of a database that this code runs on: that of the last migration that it needs."""
    needed = (
        each for each in reversed(_migrations(folder)) if not _NOT_NEEDED.search(each.read_text("utf-8"))
    )
    return _revision(next(needed))


def _migrations(folder: Path = _MIGRATIONS) -> list[Path]:
    return sorted(folder.glob("[0-9]*.py"))


def _revision(migration: Path) -> str:
    return migration.name.partition("_")[0]


def schema_complaint(
    applied: Set[str], floors: Set[str], *, oldest: str = "", newest: str = ""
) -> str | None:
    """Why code cannot run on a schema, in words for its operator; None when it can.

    :param applied: the revisions that the database is at.
    :param floors: the newest revisions that the oldest code has to know to run there, from the migrations.
    :param oldest: the oldest revision that the code runs on; this version's when empty.
    :param newest: the newest revision that the code knows; this version's when empty.
    """
    oldest, newest = oldest or oldest_schema(), newest or newest_schema()
    if complaint := complaint_before_first(applied):
        return f"migrations: {complaint}"
    said = ", ".join(sorted(applied)) or "none"
    there = [_number(revision) for revision in applied]
    if len(there) != 1 or there[0] is None or there[0] < _known(oldest):
        needs = newest if oldest == newest else f"{oldest} to {newest}"
        return (
            f"migrations: the database has revision {said}, this version needs {needs}: "
            "run flask --app wsgi db upgrade, or correct DATABASE_URL"
        )
    if there[0] > _known(newest) and (too_new := [floor for floor in floors if not _reaches(newest, floor)]):
        return (
            f"migrations: the database has revision {said}, which needs a version that knows {max(too_new)}; "
            f"this one knows {newest}: use a newer version, or correct DATABASE_URL"
        )
    return None


def complaint_before_first(applied: Set[str]) -> str | None:
    """How to upgrade a database whose schema is from before 1.0.0; None for any other schema, or none."""
    if all((_number(each) or 0) >= _known(FIRST) for each in applied):
        return None
    return (
        f"the database has revision {', '.join(sorted(applied))}, which no release since 1.0.0 made: first"
        " run `flask --app wsgi db upgrade` of release 1.0.1 (docs/operations.md#take-over)"
    )


def complaint_after_last(applied: Set[str], newest: str) -> str | None:
    """The version that can migrate a database whose revision this version does not know; None without one.

    :param newest: the last of this version's migrations.
    """
    if not is_ahead(applied, newest):
        return None
    return (
        f"the database has revision {', '.join(sorted(applied))}, which this version does not know: run this "
        "with the version that made it (docs/operations.md#roll-back)"
    )


def is_ahead(applied: Set[str], newest: str | None = None) -> bool:
    """Whether the database has a revision that this code does not know: a newer version migrated it."""
    last = _known(newest or newest_schema())
    return any((_number(revision) or 0) > last for revision in applied)


def _reaches(newest: str, floor: str) -> bool:
    needed = _number(floor)
    return needed is not None and _known(newest) >= needed


def _known(revision: str) -> int:
    """The position of one of our own revisions, whose ids are numbers in the order of the migrations."""
    return int(revision)


def _number(revision: str) -> int | None:
    """The position of a revision with any name; None where it is not one of this project's."""
    return int(revision) if revision.isascii() and revision.isdecimal() else None


def unreachable(error: SQLAlchemyError) -> str:
    """Why the database cannot be reached, in words that everybody may read."""
    return f"the database cannot be reached ({type(error).__name__})"


def database_complaint(database: Database) -> str | None:
    """Why this code cannot use the database, and what to do, for its operator; None when it can."""
    try:
        return schema_complaint_of(database)
    except SQLAlchemyError as error:
        return unusable(database.address, error)


def schema_complaint_of(database: Database) -> str | None:
    """As :func:`schema_complaint`, of the present database.

    :raises SQLAlchemyError: it cannot be reached.
    """
    applied = run_read(database.reads, applied_migrations)
    floors = run_read(database.reads, schema_floors) if is_ahead(applied) else frozenset()
    return schema_complaint(applied, floors)


def writing_complaint(database: Database) -> str | None:
    """Why the database takes no changes, in words for its operator; None when it does."""
    if run_read(database.reads, is_read_only):
        return "the database accepts no writes: it is a standby or was set to read-only"
    if refusal := writes_of(database.engine).complaint(database.engine):
        return f"the database accepts no writes ({refusal})"
    return None
