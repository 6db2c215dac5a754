"""Rows that a migration writes by ranges: all of them once, and half of the time for others."""

from __future__ import annotations

import time

import pytest
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from sqlalchemy import create_engine, text

from app.models.migrating import steps
from app.models.migrating.steps import ROWS, by_range
from tests.databases import new_postgres_database

MANY = 2 * ROWS + 1


def test_every_row_is_written_once_and_others_have_as_much_time(
    postgres_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    monkeypatch.setattr(steps, "is_offline", lambda: False)  # which asks the environment of a real upgrade
    engine = create_engine(new_postgres_database(postgres_server))
    with engine.connect() as connection:
        connection.execute(text("CREATE TABLE rows (id bigint PRIMARY KEY, times int DEFAULT 0)"))
        connection.execute(text(f"INSERT INTO rows SELECT n FROM generate_series(1, {MANY}) AS n"))
        connection.commit()
        migrating = MigrationContext.configure(connection, opts={"transaction_per_migration": True})
        with migrating.begin_transaction(_per_migration=True), Operations.context(migrating):
            slow = "UPDATE rows SET times = times + 1 FROM (SELECT pg_sleep(0.1)) AS slept WHERE {range}"
            by_range("rows", "id", slow)
        assert connection.scalar(text("SELECT count(*) FROM rows WHERE times = 1")) == MANY
    engine.dispose()
    assert len(pauses) == 3
    assert all(0.1 <= pause < 5 for pause in pauses), "as long as each range took"
