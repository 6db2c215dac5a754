"""Rows that a migration writes by ranges: each once, little at a time, and half of the time for others."""

from __future__ import annotations

import time

import pytest
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from sqlalchemy import create_engine, text

from app.models.migrating import steps
from app.models.migrating.steps import FEWEST_ROWS, MOST_ROWS, RANGE_SECONDS, Pace, by_range
from tests.databases import new_postgres_database


def test_every_row_is_written_once_and_others_have_as_much_time(
    postgres_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses, followed = list[float](), list[float]()
    monkeypatch.setattr(time, "sleep", pauses.append)
    monkeypatch.setattr(Pace, "follow", lambda _pace, took: followed.append(took))
    monkeypatch.setattr(steps, "is_offline", lambda: False)  # which asks the environment of a real upgrade
    engine = create_engine(new_postgres_database(postgres_server))
    many = 2 * FEWEST_ROWS + 1
    with engine.connect() as connection:
        connection.execute(text("CREATE TABLE rows (id bigint PRIMARY KEY, times int DEFAULT 0)"))
        connection.execute(text(f"INSERT INTO rows SELECT n FROM generate_series(1, {many}) AS n"))
        connection.commit()
        migrating = MigrationContext.configure(connection, opts={"transaction_per_migration": True})
        with migrating.begin_transaction(_per_migration=True), Operations.context(migrating):
            slow = "UPDATE rows SET times = times + 1 FROM (SELECT pg_sleep(0.1)) AS slept WHERE {range}"
            by_range("rows", "id", slow)
        assert connection.scalar(text("SELECT count(*) FROM rows WHERE times = 1")) == many
    engine.dispose()
    assert len(pauses) == 3, "as few rows a range as its pace said"
    assert all(0.1 <= pause < 5 for pause in pauses), "as long as each range took"
    assert followed == pauses, "the pace is told of each"


def test_a_range_takes_as_long_as_it_shall() -> None:
    pace, seconds_a_row = Pace(), RANGE_SECONDS / 1_000
    sizes = []
    for _ in range(6):
        sizes.append(pace.rows)
        pace.follow(pace.rows * seconds_a_row)
    assert sizes == [100, 200, 400, 800, 1_000, 1_000]
    pace.follow(10 * RANGE_SECONDS)
    assert pace.rows == FEWEST_ROWS, "a slow one is followed at once"


def test_a_range_has_a_most() -> None:
    pace = Pace()
    for _ in range(20):
        pace.follow(0)
    assert pace.rows == MOST_ROWS
