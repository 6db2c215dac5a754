"""A status from memory is the one that a read would give, but for a moment that is bounded."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from msgspec.structs import replace
from sqlalchemy import Connection, delete, update

from app.db.database import Database
from app.db.engine import writing
from app.feed.models import JournalRow
from app.network.snapshot import SnapshotSource
from app.transfers.models import Transfer
from app.transfers.queries.status import TransferRow
from app.transfers.services.status import transfer_status, transfer_statuses
from app.values.identifiers import TransferId
from app.waiting import cached_rows
from app.waiting.cached_rows import MAX_AGE_SECONDS, MOST, CachedRows
from tests.databases import SharedDatabase
from tests.feed.services.world import (
    NOW,
    feed,
    released,
    sent,
    small_network,
    transfer_id,
)
from tests.transfers.services.followed import ID, LOOK_SECONDS, OTHER, Process, Writer, open_refund

pytestmark = pytest.mark.every_database


@pytest.fixture
def app(app: Flask, shared_database: SharedDatabase) -> Flask:
    return small_network(app, shared_database, clock=lambda: NOW)


@pytest.fixture
def process(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Process:
    process = Process(app)
    process.note_reads(monkeypatch)
    return process


def test_unchanged_row_is_read_once(
    app: Flask, database: Database, snapshots: SnapshotSource, process: Process
) -> None:
    feed(app, sent(1), sent(2))
    process.ask()
    process.ask()
    assert process.reads == [ID] * 2  # nobody looks yet
    process.look()
    answers = [process.ask() for _ in range(3)]
    process.look()
    answers += [process.ask() for _ in range(3)]
    assert process.reads == [ID] * 3
    assert answers == [process.stored()] * 6
    parts = database, snapshots, process.rows
    several = transfer_statuses(*parts, [OTHER, ID, OTHER])
    assert process.reads == [ID] * 3 + [ID, OTHER]  # the stored one was another process's
    assert several == [process.stored(OTHER), process.stored(), process.stored(OTHER)]
    process.reads.clear()
    assert transfer_statuses(*parts, [OTHER, ID]) == several[:2]
    assert process.ask(OTHER) == several[0]
    assert process.reads == []


def test_an_unknown_transfer_is_not_stored(app: Flask, process: Process) -> None:
    process.look()
    for _ in range(2):
        assert "not found" in str(process.ask())
    feed(app, sent(1))
    assert process.row() is not None
    assert process.reads == [ID] * 3


def test_change_during_read_is_not_lost(
    app: Flask, process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed(app, sent(1))
    process.look()
    read = cached_rows._rows_and_engine

    def slow(connection: Connection, ids: list[TransferId]) -> Any:
        found = read(connection, ids)
        monkeypatch.undo()
        feed(app, released(1))
        process.look()
        return found

    monkeypatch.setattr(cached_rows, "_rows_and_engine", slow)
    assert process.ask() != process.stored()
    assert process.ask() == process.stored()


@pytest.mark.parametrize("looks", [False, True])
def test_older_read_is_not_stored(
    app: Flask, process: Process, monkeypatch: pytest.MonkeyPatch, looks: bool
) -> None:
    """The first read ends last, and a third caller must not get its row."""
    feed(app, sent(1))
    process.look()
    read = cached_rows._rows_and_engine
    answers = []

    def slow(connection: Connection, ids: list[TransferId]) -> Any:
        found = read(connection, ids)
        monkeypatch.undo()
        if looks:
            process.look()
        feed(app, released(1))
        answers.append(process.ask())
        return found

    monkeypatch.setattr(cached_rows, "_rows_and_engine", slow)
    older = process.ask()
    assert [older, *answers, process.ask()] == [older, process.stored(), process.stored()]
    assert older != process.stored()


def test_row_stored_during_newer_read_is_dropped(
    app: Flask, process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed(app, sent(1))
    process.look()
    read = cached_rows._rows_and_engine

    def slow(connection: Connection, ids: list[TransferId]) -> Any:
        monkeypatch.undo()
        process.ask()
        feed(app, released(1))
        return read(connection, ids)

    monkeypatch.setattr(cached_rows, "_rows_and_engine", slow)
    assert [process.row(), process.row()] == [Process(app).row()] * 2


def test_rows_are_used_for_a_bounded_time(app: Flask, process: Process) -> None:
    feed(app, sent(1))
    process.look()
    process.ask()
    process.now += MAX_AGE_SECONDS
    feed(app, released(1))
    assert process.ask() != process.stored()
    process.now += 0.001
    assert process.ask() == process.stored()  # and it is not older again:
    process.now -= 0.001
    assert process.ask() == process.stored()


def test_without_looks_every_status_is_read(
    app: Flask, process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed(app, sent(1))
    process.look()
    process.ask()
    monkeypatch.setattr("app.waiting.register.load_heads", lambda _: 1 // 0)
    monkeypatch.setattr("app.waiting.register.time.sleep", lambda _: 1 // 0)
    monkeypatch.setattr(CachedRows, "is_wanted", lambda _: True)
    with pytest.raises(ZeroDivisionError):
        process.waiting._look_while_any()  # until it sleeps
    assert len(process.rows) == 0
    feed(app, released(1))
    assert process.ask() == process.stored()
    assert len(process.rows) == 0


def test_a_long_gap_between_looks_starts_anew(app: Flask, process: Process) -> None:
    feed(app, sent(1))
    process.look()
    process.ask()
    process.now += 1
    process.look()
    assert len(process.rows) == 0


def test_a_journal_that_goes_back_starts_anew(app: Flask, database: Database, process: Process) -> None:
    """Another database: it was restored, or a replica that lacked commits became the primary."""
    feed(app, sent(1), released(1))
    process.look()
    process.ask()
    with writing(database.engine) as connection:
        connection.execute(delete(JournalRow).where(JournalRow.seq == 2))
        connection.execute(update(Transfer).values(status=1))
    process.look()
    assert process.ask() == process.stored()


@pytest.fixture
def writer(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Writer:
    """It has looked at the journal, and has the rows of two transfers."""
    writer = Writer(app)
    feed(app, sent(1), sent(2))
    writer.look()
    for each in (ID, OTHER):
        writer.ask(each)
    writer.note_reads(monkeypatch)
    return writer


def test_a_writer_drops_only_what_it_changed(app: Flask, writer: Writer) -> None:
    feed(app, released(1))
    assert (list(writer.rows._rows), writer.reads) == ([OTHER], [])
    assert writer.ask() == writer.stored()
    assert writer.ask(OTHER) == writer.stored(OTHER)
    assert writer.reads == [ID, ID, OTHER]  # two of them by the processes without memory


def test_commit_may_succeed_despite_failure(
    app: Flask, database: Database, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection may be lost before the answer comes."""
    dialect = database.feed.dialect
    commit = dialect.do_commit

    def commit_and_fail(connection: Any) -> None:
        commit(connection)
        monkeypatch.undo()
        raise ConnectionError

    monkeypatch.setattr(dialect, "do_commit", commit_and_fail)
    with pytest.raises(ConnectionError):
        feed(app, released(1))
    assert writer.ask() == writer.stored()
    assert "COMPLETED" in str(writer.ask())


def test_nobody_looks_for_few_requests(app: Flask, process: Process) -> None:
    feed(app, sent(1))
    for _ in range(cached_rows.ENOUGH - 1):
        process.ask()
        process.now += 0.01
    assert (process.followed, process.rows.is_wanted()) == (0, False)
    process.ask()
    assert (process.followed, process.rows.is_wanted()) == (1, True)
    process.now += cached_rows.IDLE_SECONDS + 0.01
    assert not process.rows.is_wanted()


def test_waiting_or_streamed_row_stays_newest(app: Flask, process: Process) -> None:
    feed(app, sent(1))
    process.look()
    process.ask()
    feed(app, released(1))
    process.rows.drop((ID,))  # as they do
    assert process.ask() == process.stored()


def test_the_memory_is_bounded(app: Flask, process: Process) -> None:
    process.look()
    open_refund(app)
    process.look()
    process.ask()
    assert process.rows.size > 1  # with its evidence
    process.rows.drop((ID,))
    rows = process.rows
    row = TransferRow(1, 0, None, None, None, None, None, None, None, None, None)
    for n in range(MOST + 10):
        rows._store(TransferId(n.to_bytes(32, "big")), cached_rows._Cached(row, 0))
    assert rows.size == len(rows) == MOST
    for _ in range(2):
        rows._store(TransferId(b"\0" * 32), cached_rows._Cached(row._replace(wd_onchain=b"x" * 2**20), 0))
        rows.drop((TransferId(b"\0" * 32),))
    assert rows.size == len(rows) < MOST - 1000
    rows._store(TransferId(b"\0" * 32), cached_rows._Cached(row._replace(wd_onchain=b"x" * 2**25), 0))
    assert (rows.size, len(rows)) == (0, 0)


def test_row_is_read_again_after_a_minute(app: Flask, process: Process) -> None:
    feed(app, sent(1))
    process.look()
    process.ask()
    for _ in range(int(cached_rows.ROW_SECONDS / LOOK_SECONDS)):
        process.look()
        process.ask()
    assert process.reads == [ID]
    for _ in range(2):
        process.look()
        process.ask()
    assert process.reads == [ID, ID]


def test_the_rows_used_last_stay(app: Flask, process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cached_rows, "MOST", 2)
    feed(app, sent(1), sent(2), sent(3))
    process.look()
    third = TransferId(bytes.fromhex(transfer_id(3)[2:]))
    for each in (ID, OTHER, ID, third, ID):
        process.ask(each)
    assert process.reads == [ID, OTHER, third]
    process.ask(OTHER)
    assert process.reads[3:] == [OTHER]


def test_row_from_other_server_is_discarded(
    app: Flask, database: Database, snapshots: SnapshotSource, process: Process
) -> None:
    """A replica that is behind may have been read, while the journal was the primary's."""
    feed(app, sent(1))
    process.look()
    other = database.public.__class__(database.engine, database.engine)
    moved = replace(database, public=other)
    transfer_status(moved, snapshots, process.rows, ID)
    assert len(process.rows) == 0
    process.ask()
    assert len(process.rows) == 1
    process.waiting._reads = other
    process.look()
    assert len(process.rows) == 0
