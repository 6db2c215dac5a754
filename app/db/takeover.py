"""Takes over a database of the release before 1.0.0, whose many migrations are one since.

Its schema is compared with what that one migration makes, triggers included. Nothing is changed where they
differ (docs/operations.md#take-over).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any, Final

from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.util import CommandError
from sqlalchemy import Connection, create_engine, inspect, text
from sqlalchemy.engine.reflection import ObjectScope
from sqlalchemy.exc import SAWarning

from app.db.schema import applied_migrations

BEFORE: Final = "0047"
"""The last revision of the release before."""

FIRST: Final = "0048"
"""The migration that makes the whole schema."""

BACKFILLS: Final = frozenset(
    {"listed-transfers", "retraction-targets", "settled-transfers", "used-withdraw-ids", "recorded-statuses"}
)
"""What the release before fills, and this one relies on."""

_UNUSED: Final = "latency_window: column middles_since "
"""How the description of a column begins that neither release uses. It is removed, with these triggers."""

_UNUSED_TRIGGERS: Final = {
    "postgresql": ("forget_latency_middles", "forget_latency_middles_on_delete"),
    "sqlite": tuple(f"forget_latency_middles_on_{change}" for change in ("insert", "update", "delete")),
}

_TRIGGERS: Final = {
    "postgresql": "SELECT relname, tgname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid"
    " JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE NOT tgisinternal AND nspname = :schema",
    "sqlite": "SELECT tbl_name, name FROM sqlite_master WHERE type = 'trigger' AND :schema IS NOT NULL",
}
_INDEXES: Final = {
    "postgresql": "SELECT relname,"
    " CASE WHEN indisvalid THEN '' ELSE 'invalid: ' END || pg_get_indexdef(indexrelid)"
    " FROM pg_index JOIN pg_class ON pg_class.oid = indrelid"
    " JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = :schema",
    "sqlite": "SELECT tbl_name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
    " AND :schema IS NOT NULL",
}
"""The inspector reads no index of expressions on SQLite, and nowhere whether one is valid."""

_NOT_COMPARED: Final = frozenset({"name", "comment", "referred_schema"})
_OF_SCHEMA: Final = re.compile(r" ON \w+\.")
_SEQUENCE: Final = re.compile(r"nextval\('.*?(\w+)\"?'::regclass\)")


def take_over(connection: Connection, make_schema: Callable[[], None]) -> bool:
    """Let a database of the release before be one of 1.0.0. The caller's transaction holds all of it.

    :param make_schema: the upgrade of the first migration.
    :returns: whether it was one of the release before.
    :raises CommandError: it is older, not what that release made, or its backfills are not done.
    """
    applied = applied_migrations(connection)
    if not applied or max(applied) >= FIRST:
        return False
    if applied != {BEFORE}:
        raise CommandError(
            f"the database has revision {', '.join(sorted(applied))}: first upgrade it to {BEFORE} with the"
            " release before 1.0.0, and let its backfills end (docs/operations.md#take-over)"
        )
    if differences := differences_of(connection, make_schema):
        raise CommandError(
            "nothing was changed: the schema is not as the release before made it."
            " What is expected is marked +, what is there instead -:\n" + "\n".join(differences)
        )
    if missing := _unfilled(connection):
        raise CommandError(
            f"nothing was changed: these backfills have not ended: {', '.join(sorted(missing))}. Run"
            " flask --app wsgi backfill with the release before 1.0.0 first"
        )
    for statement in (
        *_removals(connection),
        "INSERT INTO schema_floors (revision, oldest_code) VALUES (:first, :before)",
        "UPDATE alembic_version SET version_num = :first",
    ):
        connection.execute(text(statement), {"first": FIRST, "before": BEFORE})
    return True


def _unfilled(connection: Connection) -> Set[str]:
    """The backfills that have not ended, where the journal of statuses is younger than the log: only then did
    older code write anything."""
    if not connection.scalar(
        text("SELECT count(*) FROM status_changes WHERE transfer_id IS NULL AND seq > 0")
    ):
        return frozenset()
    ended = connection.scalars(text("SELECT name FROM backfills WHERE ended_at IS NOT NULL"))
    return BACKFILLS.difference(ended)


def _removals(connection: Connection) -> Iterator[str]:
    dialect = connection.dialect.name
    of_table = " ON latency_records" if dialect == "postgresql" else ""
    for trigger in _UNUSED_TRIGGERS[dialect]:
        yield f"DROP TRIGGER IF EXISTS {trigger}{of_table}"
    if dialect == "postgresql":
        yield "DROP FUNCTION IF EXISTS forget_latency_middles()"
    yield "DROP TABLE IF EXISTS latency_middles"
    yield "DROP TABLE IF EXISTS saved_filters"
    if any(column["name"] == "middles_since" for column in inspect(connection).get_columns("latency_window")):
        yield "ALTER TABLE latency_window DROP COLUMN middles_since"


def differences_of(connection: Connection, make_schema: Callable[[], None]) -> list[str]:
    """What of the tables of 1.0.0 is missing (``+``) or other than there (``-``), in the order of the tables.

    Other tables do not matter, nor what neither release uses.
    """
    triggers = {f"latency_records: trigger {name}" for name in _UNUSED_TRIGGERS[connection.dialect.name]}
    with warnings.catch_warnings():  # of indexes that are not read there: see _INDEXES
        warnings.filterwarnings("ignore", "Skipped unsupported reflection", SAWarning)
        described = _described(connection, inspect(connection).default_schema_name or "main")
        found = {line for line in described if not line.startswith(_UNUSED)} - triggers
        expected = _expected(connection, make_schema)
    tables = {line.partition(":")[0] for line in expected}
    lines = [("+", line) for line in expected - found]
    lines += [("-", line) for line in found - expected if line.partition(":")[0] in tables]
    return [f"{sign} {line}" for sign, line in sorted(lines, key=lambda each: (each[1], each[0]))]


def _expected(connection: Connection, make_schema: Callable[[], None]) -> frozenset[str]:
    """The description of what the first migration makes: in memory, or in PostgreSQL's temporary tables."""
    if connection.dialect.name == "sqlite":
        with create_engine("sqlite://").connect() as scratch:
            return _made(scratch, "main", make_schema)
    with connection.begin_nested() as step:
        connection.execute(text("SET LOCAL search_path TO pg_temp"))
        connection.execute(text("CREATE TABLE scratch ()"))  # the first makes the schema
        schema = connection.scalar(text("SELECT pg_my_temp_schema()::regnamespace::text"))
        made = _made(connection, str(schema), make_schema)
        step.rollback()
    return made


def _made(scratch: Connection, schema: str, make_schema: Callable[[], None]) -> frozenset[str]:
    with Operations.context(MigrationContext.configure(scratch)):
        make_schema()
    return frozenset(line for line in _described(scratch, schema) if not line.startswith("scratch:"))


def _described(connection: Connection, schema: str) -> Iterator[str]:
    """Every part of every table as a line, the same for equal parts of equal tables."""
    inspector = inspect(connection)
    for (_, table), columns in inspector.get_multi_columns(schema, scope=ObjectScope.ANY).items():
        yield from (f"{table}: column {_column(connection, column)}" for column in columns)
    for kind, read in (
        ("foreign key", inspector.get_multi_foreign_keys),
        ("unique constraint", inspector.get_multi_unique_constraints),
        ("check constraint", inspector.get_multi_check_constraints),
    ):
        for (_, table), parts in read(schema, scope=ObjectScope.ANY).items():
            yield from (f"{table}: {kind} {_in_words(part)}" for part in parts)
    for (_, table), key in inspector.get_multi_pk_constraint(schema, scope=ObjectScope.ANY).items():
        yield f"{table}: primary key {_in_words(key)}"
    for (_, table), options in inspector.get_multi_table_options(schema, scope=ObjectScope.ANY).items():
        yield f"{table}: table {options or ''}"
    for table, name in connection.execute(text(_TRIGGERS[connection.dialect.name]), {"schema": schema}):
        yield f"{table}: trigger {name}"
    for table, sql in connection.execute(text(_INDEXES[connection.dialect.name]), {"schema": schema}):
        yield f"{table}: index {' '.join(_OF_SCHEMA.sub(' ON ', sql).replace(chr(34), '').split())}"


def _column(connection: Connection, column: Mapping[str, Any]) -> str:
    kind = column["type"].compile(connection.dialect)
    default = column["default"] and _SEQUENCE.sub(r"nextval(\1)", column["default"])
    others = [column[name] for name in ("identity", "computed") if column.get(name)]
    null = "" if column["nullable"] else "NOT NULL"
    words = (column["name"], kind, null, default and f"DEFAULT {default}", *others)
    return " ".join(str(word) for word in words if word)


def _in_words(part: Mapping[str, Any]) -> str:
    compared = sorted((name, value) for name, value in part.items() if value and name not in _NOT_COMPARED)
    return " ".join([str(part["name"]), *(f"{name}={value}" for name, value in compared)])
