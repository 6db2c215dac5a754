"""Rows that a migration writes by ranges: each once, little at a time, and time for others."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.util import CommandError
from flask import Flask
from sqlalchemy import create_engine, text

from app.db import migrating as steps
from app.db.migrating import FEWEST_ROWS, MOST_ROWS, PERCENT, RANGE_SECONDS, Pace, by_range, requested_percent
from tests.databases import new_postgres_database


@pytest.mark.parametrize(("given", "times_longer"), [({}, 1), ({PERCENT: 20}, 4)])
def test_each_row_is_written_once(
    postgres_server: str, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], times_longer: int
) -> None:
    """Others get their share of the time."""
    pauses, followed = list[float](), list[float]()
    # Of this module only: threads of applications of other tests may sleep meanwhile.
    monkeypatch.setattr(steps, "time", SimpleNamespace(sleep=pauses.append, monotonic=time.monotonic))
    monkeypatch.setattr(Pace, "follow", lambda _pace, took: followed.append(took))
    monkeypatch.setattr(steps, "is_offline", lambda: False)  # which reads the environment of a real upgrade
    engine = create_engine(new_postgres_database(postgres_server))
    many = 2 * FEWEST_ROWS + 1
    with engine.connect() as connection:
        connection.execute(text("CREATE TABLE rows (id bigint PRIMARY KEY, times int DEFAULT 0)"))
        connection.execute(text(f"INSERT INTO rows SELECT n FROM generate_series(1, {many}) AS n"))
        connection.commit()
        migrating = MigrationContext.configure(connection, opts={"transaction_per_migration": True} | given)
        with migrating.begin_transaction(_per_migration=True), Operations.context(migrating):
            slow = "UPDATE rows SET times = times + 1 FROM (SELECT pg_sleep(0.1)) AS slept WHERE {range}"
            by_range("rows", "id", slow)
        assert connection.scalar(text("SELECT count(*) FROM rows WHERE times = 1")) == many
    engine.dispose()
    assert len(pauses) == 3, "as few rows a range as its pace has it"
    assert all(0.1 <= took < 5 for took in followed), "the pace gets each"
    assert pauses == pytest.approx([took * times_longer for took in followed])


@pytest.mark.parametrize(("given", "percent"), [({}, 50), ({PERCENT: "1"}, 1), ({PERCENT: "100"}, 100)])
def test_requested_percent_reads_option(given: dict[str, str], percent: int) -> None:
    assert requested_percent(given) == percent


@pytest.mark.parametrize(
    "given", [{PERCENT: each} for each in ("0", "101", "-5", "05", "5.0", "५", "")] + [{"p": "5"}]
)
def test_unknown_argument_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(CommandError, match="the only argument is percent=N, a whole number from 1 to 100"):
        requested_percent(given)


@pytest.mark.parametrize(("given", "seen_percents"), [("percent=7", [7]), ("percent=0", [])])
def test_db_upgrade_passes_percent_to_migrations(
    app: Flask, monkeypatch: pytest.MonkeyPatch, given: str, seen_percents: list[int]
) -> None:
    seen: list[int] = []
    monkeypatch.setattr(
        MigrationContext, "run_migrations", lambda migrating: seen.append(migrating.opts[PERCENT])
    )
    ended = app.test_cli_runner().invoke(args=["db", "upgrade", "--x-arg", given])
    assert (seen, ended.exit_code) == (seen_percents, 0 if seen_percents else 1)


@pytest.mark.postgresql_alone
@pytest.mark.parametrize(("given", "code"), [("percent=7", 0), ("percent=0", 1)])
def test_wrong_argument_is_refused_with_sql(app: Flask, given: str, code: int) -> None:
    assert app.test_cli_runner().invoke(args=["db", "upgrade", "--sql", "--x-arg", given]).exit_code == code


def test_pace_adapts_range_size_to_duration() -> None:
    pace, seconds_a_row = Pace(), RANGE_SECONDS / 1_000
    sizes = []
    for _ in range(6):
        sizes.append(pace.rows)
        pace.follow(pace.rows * seconds_a_row)
    assert sizes == [100, 200, 400, 800, 1_000, 1_000]
    pace.follow(10 * RANGE_SECONDS)
    assert pace.rows == FEWEST_ROWS, "a slow one is followed at once"


def test_range_has_a_most() -> None:
    pace = Pace()
    for _ in range(20):
        pace.follow(0)
    assert pace.rows == MOST_ROWS
