"""SIGKILL while old transfers are pruned and new events come in: nothing is counted twice or lost."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select

from app.db.database import Database
from app.db.engine import reading
from app.feed.services.reprojection import replay
from app.http.application import part_of
from app.transfers.models import PrunedTransfer
from tests.actors import TESTER
from tests.amounts import few_or_many
from tests.applications import audited_of
from tests.databases import BACKENDS
from tests.faults.stored import gateway_on, lives
from tests.feed.services.pruning import OF_TRANSFERS, without
from tests.feed.services.world import NOW, feed, projections, transfer_id
from tests.serving.server import ROOT, environment

OLD = 3_000
NEW = 40
BEFORE = (NOW - timedelta(hours=1)).isoformat()
COMMAND = (sys.executable, "-m", "flask", "--app", "wsgi", "events", "prune", "--before", BEFORE)


def pruned(database: Database) -> int:
    with reading(database.reads) as connection:
        return connection.scalar(select(func.count()).select_from(PrunedTransfer)) or 0


def start(url: str, log: Path) -> subprocess.Popen[bytes]:
    with log.open("ab") as file:
        return subprocess.Popen(
            COMMAND, cwd=ROOT, env=environment(DATABASE_URL=url), stdout=file, stderr=subprocess.STDOUT
        )


def kill_in_the_middle(database: Database, process: subprocess.Popen[bytes], chance: random.Random) -> None:
    """Once it has pruned something, at any moment."""
    before = pruned(database)
    while pruned(database) == before:
        assert process.poll() is None, "it ended before it was killed"
        time.sleep(0.001)
    time.sleep(chance.uniform(0, 0.1))
    process.kill()
    assert process.wait() == -9


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
        assert 0 < pruned(database) < OLD, "every kill came while there was work left"
        reporter.join()
        with reading(database.engine) as connection:
            half = projections(connection)
        assert start(url, log).wait() == 0, log.read_text()
        assert taken == [1] * 2 * NEW
        assert pruned(database) == OLD
        with reading(database.engine) as connection:
            after = projections(connection)
        gone = {bytes.fromhex(transfer_id(n)[2:]) for n in range(OLD)}
        assert without(after, set()) == without(half, gone)
        assert {name: len(after[name]) for name in OF_TRANSFERS if len(after[name])} == {
            "transfers": NEW, "latency_records": NEW, "transfer_blocks": 2 * NEW
        }  # fmt: skip
        totals = {row[0]: row[2:] for row in after["pool_counters"]}
        assert totals[1][1] == (OLD + NEW) * 1_000_000_000
        replay(*audited_of(app), actor=TESTER)
        with reading(database.engine) as connection:
            assert projections(connection) == after
