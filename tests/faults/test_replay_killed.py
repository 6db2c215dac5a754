"""SIGKILL while projections are rebuilt and events come in: a further replay ends with what the log has."""

from __future__ import annotations

import os
import pty
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import delete, func, select

from app.db.database import Database
from app.db.engine import reading, writing
from app.http.application import part_of
from app.transfers.models import Transfer, TransferAccount
from tests.amounts import few_or_many
from tests.databases import BACKENDS
from tests.faults.stored import gateway_on, lives
from tests.feed.services.world import feed, projections
from tests.serving.server import ROOT, environment

OLD = 1_000
NEW = 60
FLASK = (sys.executable, "-m", "flask", "--app", "wsgi", "events")


def transfers(database: Database) -> int:
    with reading(database.reads) as connection:
        return connection.scalar(select(func.count()).select_from(Transfer)) or 0


def start(url: str, log: Path) -> subprocess.Popen[bytes]:
    with log.open("ab") as file:
        return subprocess.Popen(
            (*FLASK, "replay"), cwd=ROOT, env=environment(DATABASE_URL=url), stdout=file, stderr=file
        )


def kill_in_the_middle(database: Database, process: subprocess.Popen[bytes], chance: random.Random) -> None:
    """Once it has rebuilt something, at any moment."""
    before = transfers(database)
    while transfers(database) < before + 150:
        assert process.poll() is None, "it ended before it was killed"
        time.sleep(0.001)
    time.sleep(chance.uniform(0, 0.05))
    process.kill()
    assert process.wait() == -9


def on_a_terminal(url: str) -> tuple[int, str, str]:
    """The exit code of ``events verify``, what it prints, and what a terminal shows with it."""
    ours, its = pty.openpty()
    with subprocess.Popen(
        (*FLASK, "verify"), cwd=ROOT, env=environment(DATABASE_URL=url), stdout=subprocess.PIPE, stderr=its
    ) as process:
        os.close(its)
        printed, _ = process.communicate()
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    return process.returncode, printed.decode(), shown


@pytest.fixture
def reporting() -> Iterator[threading.Event]:
    stopped = threading.Event()
    yield stopped
    stopped.set()


@pytest.mark.parametrize("kills", few_or_many(1, 3))
@pytest.mark.parametrize("url", BACKENDS, indirect=True)
def test_killed_at_any_moment(url: str, tmp_path: Path, reporting: threading.Event, kills: int) -> None:
    chance, log = random.Random(1), tmp_path / "log"
    with gateway_on(url) as app:
        database = part_of(app, Database)
        assert feed(app, *lives(0, OLD, -86_400)).accepted == 2 * OLD
        with reading(database.engine) as connection:
            before = projections(connection)
        with writing(database.engine) as connection:  # what is left of them are the sums
            connection.execute(delete(TransferAccount))
            connection.execute(delete(Transfer))
        new, taken = lives(OLD, NEW, -1_800), []

        def report() -> None:
            with app.app_context():
                for reported in new:
                    taken.append(feed(app, reported).accepted)
                    reporting.wait(0.05)

        reporter = threading.Thread(target=report)
        for number in range(kills):
            process = start(url, log)
            if number == 0:
                reporter.start()
            kill_in_the_middle(database, process, chance)
        assert transfers(database) < OLD, "every kill came while there was work left"
        code, printed, _ = on_a_terminal(url)
        assert code == 1
        assert ": is missing" in printed
        assert start(url, log).wait() == 0, log.read_text()
        reporter.join()
        assert taken == [1] * 2 * NEW
        code, printed, shown = on_a_terminal(url)
        assert (code, printed) == (0, f"verified: {OLD + NEW} transfers, 0 rows differ from the log\n")
        assert "100%" in shown
        with reading(database.engine) as connection:
            after = projections(connection)
        assert set(before["transfers"]) <= set(after["transfers"])
        totals = {row[0]: row[2:] for row in after["pool_counters"]}
        assert totals[1][1] == (OLD + NEW) * 1_000_000_000
