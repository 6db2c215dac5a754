"""Every revision goes up and down with rows in every table, on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.script import ScriptDirectory
from flask import Flask
from flask_migrate import downgrade, upgrade

from app import create_app
from app.db.models import db
from tests.applications import close_connections, make_settings
from tests.databases import BY_MIGRATIONS
from tests.migrating.planted import PLANTED, plant

DIRECTORY = "migrations"
REVISIONS = [r.revision for r in reversed(list(ScriptDirectory(DIRECTORY).walk_revisions()))]

# What the generic values below would get wrong: rows that refer to each other, and checks.
NAMED: dict[str, Any] = {"symbol": "A", "rate_model": "fixed", "amplification": None}
OTHER_CHAIN = ("dst_chain_id", "pegged_chain_id")


@pytest.fixture
def empty(empty_url: str) -> Iterator[Flask]:
    """An application on a database without any table."""
    application = create_app(make_settings(empty_url))
    with application.app_context():
        yield application
        close_connections()


def tables() -> list[sa.Table]:
    """The tables of the database except for those of the migrations themselves, parents first."""
    metadata = sa.MetaData()
    metadata.reflect(db.engine)
    return [table for table in metadata.sorted_tables if table.name not in BY_MIGRATIONS]


def value_for(column: sa.Column[Any], n: int) -> Any:
    if column.name in NAMED:
        return NAMED[column.name]
    if column.name in OTHER_CHAIN:
        return 3 - n
    kind = column.type
    if isinstance(kind, sa.Boolean):
        return True
    if isinstance(kind, sa.LargeBinary | sa.types._Binary):
        return bytes([n]) * 32
    if isinstance(kind, sa.DateTime):
        # Going down, a revision removes the route blocks that have ended; these have not.
        at = datetime(2126 if column.name == "expires_at" else 2026, 1, n, tzinfo=UTC)
        return at if db.engine.dialect.name == "postgresql" else at.replace(tzinfo=None)
    if isinstance(kind, sa.JSON):
        return [["0", n]]
    if isinstance(kind, sa.Integer):
        return n
    if isinstance(kind, sa.Numeric):
        return Decimal(2**256 - n)
    return str(n)


def fill() -> None:
    """Two rows into every table that has none, another one next to a migration's own."""
    with db.engine.begin() as connection:
        for table in tables():
            there = connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0
            rows = [{column.name: value_for(column, n) for column in table.columns} for n in (1, 2)]
            if there < len(rows):
                connection.execute(table.insert(), rows[there:])


Contents = dict[str, list[dict[str, Any]]]


def contents() -> Contents:
    """Every row."""
    with db.engine.connect() as connection:
        names = set(sa.inspect(connection).get_table_names()) - BY_MIGRATIONS
        return {
            name: sorted(
                (dict(row) for row in connection.execute(sa.text(f'SELECT * FROM "{name}"')).mappings()),
                key=repr,
            )
            for name in names
        }


def columns_of(rows: Contents, of: Contents) -> Contents:
    """The rows of the tables that both have, with the columns that both have."""
    return {
        table: [
            {name: row[name] for name in row.keys() & (of[table] or [row])[0].keys()} for row in rows[table]
        ]
        for table in rows.keys() & of.keys()
    }


@pytest.mark.every_database
def test_every_revision_migrates_data_both_ways(empty: Flask, tmp_path: Path) -> None:
    """The first is not undone; a planted one behind the last takes a table with it."""
    directory = plant(tmp_path, PLANTED, downgrade='op.drop_table("planted")')
    before: Contents = {}  # there is no SQLite file yet
    for revision in (*REVISIONS, "9001"):
        upgrade(directory=directory, revision=revision)
        after = contents()
        assert columns_of(before, of=after) == columns_of(after, of=before)
        fill()
        before = contents()
        assert all(len(rows) >= 2 for rows in before.values())
    for revision in reversed(REVISIONS):
        downgrade(directory=directory, revision=revision)
        after = contents()
        assert columns_of(after, of=before) == columns_of(before, of=after)
        before = after
    assert "planted" not in before
    upgrade(directory=directory)
    assert "planted" in contents()


def test_first_migration_is_not_undone(empty: Flask, caplog: pytest.LogCaptureFixture) -> None:
    """That would remove every table."""
    upgrade(directory=DIRECTORY, revision="0048")
    fill()
    before = contents()
    with pytest.raises(SystemExit):
        downgrade(directory=DIRECTORY, revision="base")
    assert "there is no schema before this one" in caplog.text
    assert contents() == before
