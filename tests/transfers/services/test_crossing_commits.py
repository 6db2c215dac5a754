"""Whatever a read, a commit and a look at the journal do at the same time, no answer is taken back.

Each is a greenlet that stops after each of its steps. All orders of their steps are tried, everyday some.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask
from greenlet import getcurrent, greenlet
from msgspec import Struct, field
from sqlalchemy import Connection

from app.db.database import Database
from app.http.application import part_of
from app.transfers.queries.status import TransferRow
from app.values.identifiers import TransferId
from app.waiting import cached_rows
from tests.databases import SharedDatabase
from tests.everyday import SEED, volume
from tests.feed.services.world import NOW, feed, released, sent, small_network, transfer_id
from tests.transfers.services.followed import Process, Writer

pytestmark = pytest.mark.every_database

READ, COMMIT, LOOK = 3, 3, 2
"""The steps of each: to begin, to read, to answer; to write, to commit, to go on; to read, to drop rows."""


class Answer(Struct):
    """Of a read: the steps of all before which it began and ended."""

    began: int
    ended: int = 0
    status: int = 0


class Crossing(Struct):
    """What happens to a transfer, step by step."""

    process: Process
    transfer_id: TransferId
    commit: Callable[[], object]
    now: int = 0
    committed: int = 0
    """When the caller of the commit could go on."""
    answers: list[Answer] = field(default_factory=list)

    def read(self) -> None:
        answer = Answer(self.now)
        self.answers.append(answer)
        row, _ = self.process.rows.row(part_of(self.process.app, Database), self.transfer_id)
        answer.ended, answer.status = self.now, _status(row)

    def write(self) -> None:
        self.commit()
        self.committed = self.now

    def run(self, order: list[int], *actors: Callable[[], None]) -> None:
        """Let the actors go on by a step in this order, each to its end."""
        greenlets = [greenlet(actor) for actor in actors]
        for actor in order:
            self.now += 1
            if not greenlets[actor].dead:  # what is in memory is read in one step
                greenlets[actor].switch()
        assert all(each.dead for each in greenlets)
        self.now += 1

    def check(self) -> None:
        """Each answer is at least as new as those that had ended, and as the commit that was over."""
        self.read()
        for answer in self.answers:
            newest = max((each.status for each in self.answers if each.ended < answer.began), default=0)
            assert answer.status >= newest, self.answers
            assert answer.status == 5 or answer.began <= self.committed, self.answers


def _status(row: TransferRow | None) -> int:
    assert row is not None
    return row.status


def _stop() -> None:
    parent = getcurrent().parent
    if parent is not None:
        parent.switch()


@pytest.fixture
def app(app: Flask, shared_database: SharedDatabase) -> Flask:
    return small_network(app, shared_database, clock=lambda: NOW)


@pytest.fixture
def stepwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads, commits and looks stop between their steps where they run in a greenlet."""
    read, drop = cached_rows._rows_and_engine, cached_rows.CachedRows.drop
    drop_at_end, end_look = cached_rows.CachedRows.drop_at_end, cached_rows.CachedRows.end_look

    def read_and_stop(connection: Connection, ids: list[TransferId]) -> Any:
        _stop()
        found = read(connection, ids)
        _stop()
        return found

    def note_and_stop(rows: cached_rows.CachedRows, *written: Any) -> None:
        drop_at_end(rows, *written)
        _stop()

    def drop_later(rows: cached_rows.CachedRows, ids: Any) -> None:
        if ids:  # those who wait drop none
            _stop()
        drop(rows, ids)

    def end_later(rows: cached_rows.CachedRows, *seen: Any) -> None:
        _stop()
        end_look(rows, *seen)

    monkeypatch.setattr(cached_rows, "_rows_and_engine", read_and_stop)
    monkeypatch.setattr(cached_rows.CachedRows, "drop_at_end", note_and_stop)
    monkeypatch.setattr(cached_rows.CachedRows, "drop", drop_later)
    monkeypatch.setattr(cached_rows.CachedRows, "end_look", end_later)


def _orders(*steps: int) -> list[list[int]]:
    """All orders of the steps of several, or some of them."""
    found = list(_merged(list(steps)))
    return random.Random(SEED).sample(found, min(len(found), volume(2_000, 40)))


def _merged(left: list[int]) -> Iterator[list[int]]:
    if not any(left):
        yield []
    for actor, steps in enumerate(left):
        if steps:
            for rest in _merged([*left[:actor], steps - 1, *left[actor + 1 :]]):
                yield [actor, *rest]


@pytest.mark.usefixtures("stepwise")
@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("second", ["look", "read"])
def test_no_answer_is_taken_back(app: Flask, second: str, cached: bool) -> None:
    writer = Writer(app)
    writer.look()
    orders = _orders(READ, COMMIT, LOOK if second == "look" else READ)
    feed(app, *(sent(n) for n in range(len(orders))))
    writer.look()
    for n, order in enumerate(orders):
        crossing = _crossing(writer, n)
        if cached:
            crossing.read()
            assert crossing.transfer_id in writer.rows._rows
        crossing.run(order, crossing.read, crossing.write, writer.look if second == "look" else crossing.read)
        crossing.check()


def _crossing(process: Process, n: int) -> Crossing:
    key = TransferId(bytes.fromhex(transfer_id(n)[2:]))
    return Crossing(process, key, lambda: feed(process.app, released(n)))
