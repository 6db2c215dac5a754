"""Backfills go on where they stopped, do nothing twice, and fill what they say."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from multiprocessing import get_context

import pytest
from click.testing import Result
from flask import Flask
from flask.testing import FlaskCliRunner
from sqlalchemy import Connection, insert, select, update

from app.db.database import Database
from app.db.engine import reading, writing
from app.db.models import BackfillProgress
from app.feed.models import GrownDatabase
from app.feed.services import backfills
from app.feed.services.backfills import Backfill, Range, progress_of, reopen, run_backfill
from app.http.application import part_of
from app.transfers.models import Transfer
from tests.applications import application
from tests.databases import SharedDatabase
from tests.feed.services.world import NOW, feed, fill_network, sent, small_network

TRANSFERS = 12


def fill(connection: Connection, after: bytes, size: int, now: datetime) -> Range | None:
    """Write when transfers began, where that is not known."""
    key = Transfer.transfer_id
    following = select(key, Transfer.began_at).order_by(key).limit(size)
    found = connection.execute(following.where(key > after) if after else following).all()
    if not found:
        return None
    missing = [row.transfer_id for row in found if row.began_at is None]
    connection.execute(update(Transfer).where(key.in_(missing)).values(began_at=now))
    return Range(found[-1].transfer_id, len(found), len(missing))


BEGINNINGS = Backfill("beginnings", "when transfers began", fill)


@pytest.fixture
def fed(shared_database: SharedDatabase, app: Flask) -> Flask:
    """Transfers, of which every third was written by code that did not know when it began."""
    app = small_network(app, shared_database, clock=lambda: NOW)
    feed(app, *(sent(n) for n in range(TRANSFERS)))
    return app


def forget(database: Database) -> None:
    """As older code would have written every third."""
    with writing(database.engine) as connection:
        ids = list(connection.scalars(select(Transfer.transfer_id).order_by(Transfer.transfer_id)))[::3]
        connection.execute(update(Transfer).where(Transfer.transfer_id.in_(ids)).values(began_at=None))


def unknown(database: Database) -> int:
    """Transfers of which it is not known when they began."""
    with reading(database.engine) as connection:
        query = select(Transfer.transfer_id).where(Transfer.began_at.is_(None))
        return len(connection.scalars(query).all())


@pytest.mark.every_database
def test_backfill_fills_what_older_code_left_out(fed: Flask, database: Database) -> None:
    forget(database)
    assert unknown(database) == TRANSFERS // 3
    done = run_backfill(database, BEGINNINGS, rows=5, sleep=lambda _s: None)
    assert unknown(database) == 0
    assert (done.looked_at, done.changed, done.ended_at) == (TRANSFERS, TRANSFERS // 3, NOW)


@pytest.mark.one_database
def test_reopen_forgets_backfill_progress(fed: Flask, database: Database) -> None:
    run_backfill(database, BEGINNINGS)
    reopen(database)
    assert progress_of(database) == {}


def test_backfill_resumes_after_interruption(fed: Flask, database: Database) -> None:
    looked_at: list[bytes] = []

    def look(connection: Connection, after: bytes, size: int, now: object) -> Range | None:
        if len(looked_at) == 2:
            looked_at.append(b"")
            raise InterruptedError
        looked_at.append(after)
        return Range(bytes([len(looked_at)]), size, 0) if len(looked_at) < 6 else None

    backfill = Backfill("test", "", look)
    pauses: list[float] = []
    with pytest.raises(InterruptedError):
        run_backfill(database, backfill, rows=3, pause_seconds=0.5, sleep=pauses.append)
    assert progress_of(database)["test"].done_to == b"\x02"
    done = run_backfill(database, backfill, rows=3, sleep=lambda _s: None)
    assert looked_at == [b"", b"\x01", b"", b"\x02", b"\x04", b"\x05"]
    assert (done.looked_at, done.ended_at, pauses) == (12, NOW, [0.5, 0.5])
    assert run_backfill(database, backfill).looked_at == 12  # ended: nothing is looked at again
    assert len(looked_at) == 6


@pytest.fixture
def run(
    app: Flask, shared_database: SharedDatabase, monkeypatch: pytest.MonkeyPatch, database: Database
) -> Callable[..., Result]:
    fill_network(shared_database, database.engine)
    monkeypatch.setattr(backfills, "KNOWN", (BEGINNINGS,))
    runner: FlaskCliRunner = app.test_cli_runner()
    return lambda *args: runner.invoke(args=["backfill", *args])


@pytest.mark.one_database
def test_backfill_command_reports_progress(run: Callable[..., Result]) -> None:
    assert "beginnings: not begun (when transfers began)" in run("--status").stdout
    assert "0 rows read, 0 filled" in run().stdout
    assert "beginnings: ended at " in run("--status").stdout
    assert run("--again", "--rows", "0").exit_code == 2


@pytest.mark.one_database
def test_command_reports_nothing_to_fill(app: Flask) -> None:
    runner = app.test_cli_runner()
    assert runner.invoke(args=["backfill"]).stdout == "this version has no backfills\n"


@pytest.mark.one_database
def test_database_without_a_log_is_refused(run: Callable[..., Result], database: Database) -> None:
    with writing(database.engine) as connection:
        connection.execute(insert(GrownDatabase), {"id": 1, "transfers": 1, "grown_at": database.clock()})
    result = run()
    assert result.exit_code == 1
    assert "filled by `sandbox grow`" in result.stderr


@pytest.mark.postgresql_alone
def test_backfill_survives_kills(fed: Flask, database: Database, shared_database: SharedDatabase) -> None:
    """Killed again and again at any moment, it fills the same as one run, and looks at no range twice."""
    forget(database)

    def fill_slowly() -> None:
        with application(shared_database.url) as other:
            run_backfill(part_of(other, Database), BEGINNINGS, rows=2, pause_seconds=0.6)

    places = list[bytes]()
    for _ in range(3):
        child = get_context("fork").Process(target=fill_slowly)
        child.start()
        end, start = time.monotonic() + 30, done_to(database)
        while done_to(database) == start and time.monotonic() < end and child.is_alive():
            time.sleep(0.05)
        child.kill()
        child.join()
        places.append(done_to(database))
    assert places == sorted(set(places))
    done = run_backfill(database, BEGINNINGS, rows=5, sleep=lambda _s: None)
    assert unknown(database) == 0
    assert (done.looked_at, done.changed) == (TRANSFERS, TRANSFERS // 3)


def done_to(database: Database) -> bytes:
    with reading(database.engine) as connection:
        found = connection.scalar(select(BackfillProgress.done_to))
    return bytes(found or b"")
