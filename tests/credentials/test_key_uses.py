"""How much each key is used is counted exactly, by day, and added up over processes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import insert, select

from app.credentials.callers import RETENTION, KeyUses
from app.credentials.models import ApiKeyUse
from app.credentials.queries import last_days, uses_of, valid_keys
from app.credentials.services.issuing import issue, new_key
from app.db.database import Database
from app.db.engine import reading, writing
from tests.actors import TESTER
from tests.applications import Editing
from tests.builders.clock import MovableClock

NEVER = 1e6
"""Seconds until the thread would write by itself."""
MIDNIGHT = datetime(2026, 6, 2, tzinfo=UTC)
DAY = 20_606
"""The day that begins then, counted from the Unix epoch."""


@pytest.fixture
def keys(database: Database, editing: Editing) -> list[int]:
    for name in ("a", "b"):
        issue(*editing, new_key(name, ("read",), ""), actor=TESTER)
    with reading(database.reads) as connection:
        return sorted(row.id for row in valid_keys(connection))


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock(MIDNIGHT - timedelta(microseconds=1))


@pytest.fixture
def uses(database: Database, clock: MovableClock) -> Iterator[KeyUses]:
    uses = KeyUses(database.engine, clock, NEVER)
    yield uses
    uses.end()


def table(database: Database) -> set[tuple[int, int, int, int]]:
    columns = (ApiKeyUse.api_key_id, ApiKeyUse.day, ApiKeyUse.requests, ApiKeyUse.limited)
    with reading(database.reads) as connection:
        return {(row[0], row[1], row[2], row[3]) for row in connection.execute(select(*columns))}


def test_uses_are_counted_by_day(
    database: Database, clock: MovableClock, keys: list[int], uses: KeyUses
) -> None:
    first, second = keys
    for limited in (False, True, False):
        uses.used(first, limited=limited)
    uses.used(second, limited=False)
    assert table(database) == set(), "nothing is written for a request"
    assert uses.flush() == 4
    assert uses.flush() == 0
    assert table(database) == {(first, DAY - 1, 3, 1), (second, DAY - 1, 1, 0)}
    clock.now = MIDNIGHT
    uses.used(first, limited=True)
    uses.flush()
    with reading(database.reads) as connection:
        assert [tuple(row) for row in uses_of(connection, first, 0)] == [(DAY, 1, 1), (DAY - 1, 3, 1)]
        assert [tuple(row) for row in uses_of(connection, first, DAY)] == [(DAY, 1, 1)]
        assert last_days(connection) == {first: DAY, second: DAY - 1}


def test_processes_add_to_the_same_rows(
    database: Database, clock: MovableClock, keys: list[int], uses: KeyUses
) -> None:
    another = KeyUses(database.engine, clock, NEVER)
    for n, each in enumerate((uses, another), 1):
        for _ in range(n):
            each.used(keys[0], limited=n == 2)
        each.flush()
    assert table(database) == {(keys[0], DAY - 1, 3, 2)}
    another.end()


def test_old_uses_go(database: Database, keys: list[int], uses: KeyUses) -> None:
    oldest = DAY - 1 - RETENTION.days
    with writing(database.engine) as connection:
        for day in (oldest, oldest - 1):
            values = {"api_key_id": keys[0], "day": day, "requests": 1, "limited": 0}
            connection.execute(insert(ApiKeyUse).values(**values))
    uses.used(keys[1], limited=False)
    uses.flush()
    assert {day for _, day, _, _ in table(database)} == {oldest, DAY - 1}
