"""SIGKILL while old transfers are pruned or projections rebuilt: a further run ends with what the log has."""

from __future__ import annotations

import os
import pty
import random
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import delete, func, select

from app.db.database import Database
from app.db.engine import reading, writing
from app.feed.services.reprojection import replay
from app.feed.verifying.comparing import Difference
from app.feed.verifying.run import verify
from app.http.application import part_of
from app.transfers.models import PrunedTransfer, Transfer, TransferAccount
from tests.actors import TESTER
from tests.amounts import few_or_many
from tests.applications import audited_of
from tests.databases import BACKENDS
from tests.faults.stored import gateway_on, lives
from tests.feed.services.pruning import OF_TRANSFERS, without
from tests.feed.services.world import NOW, feed, projections, transfer_id
from tests.forked import Forked, path_of
from tests.serving.server import ROOT, environment

AMOUNT = 1_000_000_000
"""Sent by each transfer."""

COMMAND = ("--app", "wsgi", "events")
PRUNE = ("prune", "--before", (NOW - timedelta(hours=1)).isoformat())
REPLAY = ("replay",)

Projections = dict[str, list[tuple[Any, ...]]]


def state(database: Database) -> Projections:
    with reading(database.engine) as connection:
        return projections(connection)


def rows(database: Database, model: type[PrunedTransfer | Transfer]) -> int:
    with reading(database.reads) as connection:
        return connection.scalar(select(func.count()).select_from(model)) or 0


def has_more(database: Database, model: type[PrunedTransfer | Transfer], than: int) -> bool:
    return rows(database, model) > than


def start(url: str, log: Path, command: tuple[str, ...]) -> Forked:
    with log.open("ab") as file:
        return Forked(
            "flask", (*COMMAND, *command), env=environment(DATABASE_URL=url), stdout=file, stderr=file
        )


@contextmanager
def reported(app: Flask, first: int, count: int) -> Iterator[Callable[[], None]]:
    """Gives a function that begins to report so many transfers; with the block all of them are reported."""
    events, accepted = lives(first, count, -1_800), list[int]()

    def report() -> None:
        with app.app_context():
            for event in events:
                accepted.append(feed(app, event).accepted)
                time.sleep(0.05)

    reporter = threading.Thread(target=report)
    yield reporter.start
    reporter.join()
    assert accepted == [1] * len(events)


def kill_in_the_middle(process: Forked, begun: Callable[[], bool], seconds: float) -> None:
    """Kill it some seconds after it has begun to write."""
    while not begun():
        assert process.poll() is None, "it ended before it was killed"
        time.sleep(0.005)
    time.sleep(seconds)
    process.kill()
    assert process.wait() == -9


@pytest.mark.parametrize("kills", few_or_many(1, 3))
@pytest.mark.parametrize("url", BACKENDS, indirect=True)
def test_killed_prune_counts_once(url: str, tmp_path: Path, kills: int) -> None:
    chance, log, old, new = random.Random(1), tmp_path / "log", 1_000 + 500 * kills, 40
    with gateway_on(url) as app:
        database = part_of(app, Database)
        assert feed(app, *lives(0, old, -86_400)).accepted == 2 * old
        with reported(app, old, new) as begin:
            for number in range(kills):
                process = start(url, log, PRUNE)
                if number == 0:
                    begin()
                before = rows(database, PrunedTransfer)
                begun = partial(has_more, database, PrunedTransfer, before)
                kill_in_the_middle(process, begun, chance.uniform(0, 0.1))
            assert 0 < rows(database, PrunedTransfer) < old, "every kill came while there was work left"
        half = state(database)
        assert start(url, log, PRUNE).wait() == 0, log.read_text()
        assert rows(database, PrunedTransfer) == old
        after = state(database)
        gone = {bytes.fromhex(transfer_id(n)[2:]) for n in range(old)}
        assert without(after, set()) == without(half, gone)
        assert {name: len(after[name]) for name in OF_TRANSFERS if len(after[name])} == {
            "transfers": new, "latency_records": new, "transfer_blocks": 2 * new
        }  # fmt: skip
        assert_sums_have_all(after, old + new)
        replay(*audited_of(app), actor=TESTER)
        assert state(database) == after


@pytest.mark.parametrize("kills", few_or_many(1, 3))
@pytest.mark.parametrize("url", BACKENDS, indirect=True)
def test_killed_replay_is_completed_by_another(url: str, tmp_path: Path, kills: int) -> None:
    chance, log, old, new = random.Random(1), tmp_path / "log", 800, 60
    with gateway_on(url) as app:
        database = part_of(app, Database)
        assert feed(app, *lives(0, old, -86_400)).accepted == 2 * old
        before = state(database)
        with writing(database.engine) as connection:  # what is left of them are the sums
            connection.execute(delete(TransferAccount))
            connection.execute(delete(Transfer))
        with reported(app, old, new) as begin:
            for number in range(kills):
                process = start(url, log, REPLAY)
                if number == 0:
                    begin()
                most = rows(database, Transfer) + 149  # with those of the events that come in
                begun = partial(has_more, database, Transfer, most)
                kill_in_the_middle(process, begun, chance.uniform(0, 0.05))
            assert rows(database, Transfer) < old, "every kill came while there was work left"
            assert any(str(each).endswith(": is missing") for each in differences(database))
            code, shown = replay_on_a_terminal(url)
            assert code == 0, shown
            assert "100%" in shown
        assert differences(database) == []
        after = state(database)
        assert set(before["transfers"]) <= set(after["transfers"])
        assert_sums_have_all(after, old + new)


def assert_sums_have_all(found: Projections, transfers: int) -> None:
    sums = {row[0]: row[2:] for row in found["pool_counters"]}
    assert sums[1][1] == transfers * AMOUNT


def differences(database: Database) -> list[Difference]:
    found: list[Difference] = []
    verify(database, found.append)
    return found


def replay_on_a_terminal(url: str) -> tuple[int, str]:
    """The exit code of ``events replay``, and what a terminal shows of it."""
    ours, its = pty.openpty()
    done = subprocess.run(
        [path_of("flask"), *COMMAND, *REPLAY],
        cwd=ROOT,
        env=environment(DATABASE_URL=url),
        stdout=subprocess.DEVNULL,
        stderr=its,
        check=False,
    )
    os.close(its)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    return done.returncode, shown
