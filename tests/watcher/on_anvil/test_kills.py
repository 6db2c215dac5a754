"""SIGKILL at random moments while two real EVMs are read: nothing is lost, and nothing repeated counts.

``make test`` kills a few times, ``make soak`` 200 times, and there a standby takes over some of them.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
from flask import Flask
from sqlalchemy import update

from app.db.database import Database
from app.db.engine import writing
from app.http.application import part_of
from app.watcher.models import ChainWatch
from app.watcher.services.readings import load
from demo.network import RPC_NAMES
from tests.databases import SharedDatabase
from tests.everyday import SEED, SOAK, volume
from tests.serving.server import ROOT, environment
from tests.watcher.on_anvil.conftest import NOW, START
from tests.watcher.on_anvil.disturbing import QUIET_TURNS
from tests.watcher.on_anvil.plan import CHAINS, FIRST_TURN, Plan, full_plan, small_plan
from tests.watcher.on_anvil.stage import Chains, differences, tell
from tests.watcher.on_anvil.undisturbed import everything, quiet_run, reorganisations

KILLS = volume(200, 1)
TIMEOUT = 60.0
"""Seconds after which a watcher that was left alone should have read everything."""

FINALITY = 4


@dataclass
class Forge:
    """Makes watchers in processes of their own."""

    process: subprocess.Popen[str]
    alive: list[int] = field(default_factory=list)

    def start(self) -> int:
        """Another watcher; its process id."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write("start\n")
        self.process.stdin.flush()
        pid = int(self.process.stdout.readline())
        self.alive.append(pid)
        return pid

    def end(self, pid: int, how: signal.Signals) -> None:
        """End a watcher that this made, and wait until it has gone."""
        process = psutil.Process(pid)
        os.kill(pid, how)
        process.wait(30)
        self.alive.remove(pid)


@contextmanager
def forging(url: str, chains: Chains, log: Path) -> Iterator[Forge]:
    urls = {RPC_NAMES[chain]: node.url for chain, node in chains.nodes.items()}
    with log.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.watcher.on_anvil.killable"],
            cwd=ROOT, env=environment(DATABASE_URL=url, **urls), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
        )  # fmt: skip
    forge = Forge(process)
    try:
        yield forge
    finally:
        for pid in list(forge.alive):
            forge.end(pid, signal.SIGKILL)
        process.communicate(timeout=30)


def expire(database: Database) -> None:
    """Let the lease of whoever was killed run out now."""
    with writing(database.engine) as connection:
        connection.execute(update(ChainWatch).values(until=NOW))


def wait_until(ready: Callable[[], bool], log: Path) -> float:
    """How many seconds it took."""
    began = time.monotonic()
    while not ready():
        assert time.monotonic() - began < TIMEOUT, log.read_text()[-3000:]
        time.sleep(0.05)
    return time.monotonic() - began


def all_read(database: Database, chains: Chains, reread_to: int) -> bool:
    """Whether everything was read up to the newest blocks, and reread up to this block."""
    for chain, node in chains.nodes.items():
        kept = load(database, chain)
        head = node.block()
        if kept.live_to is None or kept.live_to.hash != head["hash"]:
            return False
        if (kept.live_from or 0) > (-1 if kept.backfilled_to is None else kept.backfilled_to) + 1:
            return False
        if (-1 if kept.reread_to is None else kept.reread_to) < reread_to:
            return False
    return True


@pytest.mark.slow
def test_killed_at_any_moment(
    open_gateway: Callable[..., Flask], shared_database: SharedDatabase, chains: Chains, tmp_path: Path
) -> None:
    plan = full_plan(START, spread=12) if SOAK else small_plan(START)
    chance, log = random.Random(SEED), tmp_path / "log"
    expected = quiet_run(open_gateway(), chains, plan)
    shared_database.empty()
    chains.begin_again()
    app = open_gateway(finality=FINALITY, poll_seconds=0.2)
    last, killed = plan.last + QUIET_TURNS, 0
    with app.app_context(), forging(shared_database.url, chains, log) as forge:
        database = part_of(app, Database)
        due = list(range(FIRST_TURN, last + 1))
        while due or killed < KILLS:
            pid = forge.start()
            moments = max(1, KILLS - killed)
            for _ in range(-(-len(due) // moments)):
                advance(app, chains, plan, due.pop(0))
                time.sleep(chance.uniform(0, 0.1))
            time.sleep(chance.choice((0.02, 0.1, 0.3, 0.6)) * chance.uniform(0.5, 1.5))
            forge.end(pid, signal.SIGKILL)
            killed += 1
            expire(database)
        pid = forge.start()
        took = wait_until(lambda: all_read(database, chains, plan.last), log)
        forge.end(pid, signal.SIGTERM)
        assert differences(expected, everything(app, plan)) == []
        assert reorganisations(database) == 0
        print(f"{killed} watchers were killed; the last one read what was left in {took:.1f} s")


def advance(app: Flask, chains: Chains, plan: Plan, turn: int) -> None:
    for chain in CHAINS:
        chains.mine(plan, chain, turn)
    tell(app, plan, turn)


@pytest.mark.skipif(
    not SOAK, reason="takes as long as a lease; make soak. Fake nodes: tests/watcher/test_process.py"
)
def test_a_standby_takes_over(
    open_gateway: Callable[..., Flask], shared_database: SharedDatabase, chains: Chains, tmp_path: Path
) -> None:
    plan, log = full_plan(START, spread=12), tmp_path / "log"
    app = open_gateway(finality=FINALITY, poll_seconds=0.2)
    took = []
    with app.app_context(), forging(shared_database.url, chains, log) as forge:
        database = part_of(app, Database)
        turn = FIRST_TURN
        for _ in range(3):
            forge.start()
        for _ in range(5):
            advance(app, chains, plan, turn)
            turn += 1
            wait_until(lambda: heads_read(database, chains), log)
            holders = {pid for pid in forge.alive if any(f":{pid}:" in owner for owner in owners(database))}
            for pid in holders:
                forge.end(pid, signal.SIGKILL)
                forge.start()
            advance(app, chains, plan, turn)
            turn += 1
            took.append(wait_until(lambda: heads_read(database, chains), log))
        for pid in list(forge.alive):
            forge.end(pid, signal.SIGTERM)
    print("seconds until a standby had read on:", [round(each, 1) for each in took])
    assert max(took) <= 10


def owners(database: Database) -> set[str]:
    with database.engine.connect() as connection:
        return {row.owner or "" for row in connection.execute(ChainWatch.__table__.select())}


def heads_read(database: Database, chains: Chains) -> bool:
    for chain, node in chains.nodes.items():
        kept = load(database, chain)
        if kept.live_to is None or kept.live_to.hash != node.block()["hash"]:
            return False
    return True
