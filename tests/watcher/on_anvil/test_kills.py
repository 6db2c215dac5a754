"""SIGKILL of the watcher at random moments, while two real EVMs are read and reorganised.

Everyday, ``tests/watcher/test_process.py`` kills it, and ``test_reorganisations.py`` takes blocks back.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from app.db.database import Database
from app.db.engine import reading
from app.http.application import part_of
from app.transfers.rules.certainty import WATCHER
from app.values.identifiers import BlockNumber, ChainId
from app.watcher.models import ChainWatch
from app.watcher.queries import OF_LOGS, reported_events
from app.watcher.rules.blocks import BlockId
from app.watcher.rules.steps import ChainReadings
from app.watcher.services.readings import load
from tests.databases import SharedDatabase
from tests.watcher import kit
from tests.watcher.on_anvil.conftest import START
from tests.watcher.on_anvil.disturbing import QUIET_TURNS, Disturbance, small_plan, undisturbed
from tests.watcher.on_anvil.plan import BLOCK_DELAYS, CHAINS, Plan
from tests.watcher.on_anvil.stage import Chains, answers, differences
from tests.watcher.on_anvil.watching import Urls, Watching
from tests.watcher.processes import Process, free, until

pytestmark = [pytest.mark.one_database, pytest.mark.system, pytest.mark.slow]

REORGS = 6
"""At most, while a plan is played."""

KILLS, LIKELY = 200, 0.2
SEED = 11
"""The first play with it kills while the blocks are full of transfers."""


@dataclass(kw_only=True)
class Killed(Watching):
    """A process that polls by itself, and is killed at random moments.

    :param likely: that it is killed at one of the moments at which another watcher would poll.
    """

    url: str
    folder: Path
    chance: random.Random
    likely: float
    kills: int = 0
    process: Process | None = None

    @property
    def runs(self) -> bool:
        """Whether the first one was started."""
        return self.process is not None

    @property
    def database(self) -> Database:
        return part_of(self.app, Database)

    def start(self, owner: str = "") -> None:
        if self.process is not None and self.process.runs:
            return
        nodes = dict(node for each in self.urls.values() for node in each)
        self.process = process = Process(self.url, self.folder / f"{self.kills}.log", nodes)
        until(lambda: process.output.count("reading started") == len(CHAINS))

    def stop(self) -> None:
        """Kill it at a random moment, or earlier: as soon as it has stored that it has read on."""
        if self.process is None or not self.process.runs:
            return
        moment, places = time.monotonic() + self.chance.uniform(0, 1), self._places()
        while time.monotonic() < moment and self._places() == places:
            time.sleep(0.002)
        self.process.kill()
        self.kills += 1
        free(self.database)

    def _places(self) -> list[BlockId | None]:
        return [self.readings(chain).live_to for chain in CHAINS]

    def readings(self, chain: int) -> ChainReadings:
        return load(self.database, ChainId(chain))

    def settle(self, chain: int, head: str, tries: int = 0) -> None:
        until(lambda: self.caught_up(chain, head))

    def poll(self, chain: int) -> bool:
        """Let time pass; kill it now and then, and start another one at the next such moment."""
        time.sleep(self.chance.uniform(0, 0.1))
        if self.process is not None and not self.process.runs:
            self.start()
        elif self.chance.random() < self.likely:
            self.stop()
        return True

    def background(self, chain: int) -> bool:
        return self.poll(chain)


def everything(app: Flask, plan: Plan) -> dict[str, Any]:
    """The answers, the sums of the pools, and the logs that are reported, each once, in whichever block.

    Nothing had to be corrected by what is read a second time.
    """
    database = part_of(app, Database)
    with reading(database.engine) as connection:
        reports = Counter(
            (chain, *event.id.split(":")[2:])
            for chain in CHAINS
            for event, _, canonical, *_ in reported_events(
                connection, ChainId(chain), BlockNumber(0), None, reporter=WATCHER
            )
            if canonical and isinstance(event, OF_LOGS)
        )
        corrected = connection.scalars(select(ChainWatch.differed)).all()
    assert set(reports.values()) == {1}
    assert not any(corrected)
    stored = kit.answers(database)
    pools = {(pool["chain_id"], pool["symbol"]): pool for pool in stored.pop("pools")}
    return {"answers": answers(app, plan.sends), "stored": stored, "pools": pools, "reports": sorted(reports)}


def test_kills_lose_and_repeat_nothing(
    open_gateway: Callable[..., Flask],
    shared_database: SharedDatabase,
    chains: Chains,
    urls: Urls,
    tmp_path: Path,
) -> None:
    plan, chance, killed = small_plan(START), random.Random(SEED), 0
    app = open_gateway()
    with app.app_context():
        watching = Watching(app, urls)
        watching.start()
        undisturbed(app, chains, watching, plan, every=plan.last)
        watching.stop()
        expected = everything(app, plan)
    last = plan.last + QUIET_TURNS
    while killed < KILLS:
        shared_database.empty()
        chains.begin_again()
        app = open_gateway(finality=4, poll_seconds=0.2)
        with app.app_context():
            watcher = Killed(
                app,
                urls,
                url=shared_database.url,
                folder=tmp_path,
                chance=chance,
                likely=LIKELY,
                kills=killed,
            )
            try:
                played = Disturbance(app, chains, watcher, plan, {}, chance, likely=0.3)
                played.play(REORGS)
                for turn in range(last + 1, last + max(BLOCK_DELAYS.values())):
                    for chain in CHAINS:
                        chains.mine(plan, chain, turn)
                killed = watcher.kills
                watcher.start()
                for chain in CHAINS:
                    watcher.settle(chain, str(chains.nodes[chain].block()["hash"]))
                assert differences(expected, everything(app, plan)) == []
            finally:
                watcher.stop()
