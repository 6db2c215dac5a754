"""Random reorganisations of two real EVMs: every answer is that of the run without them.

``make test`` has a few, ``make soak`` 1,000: down to two blocks more than the
delay, on either chain, at every stage, where nothing happens, while the watcher is off, and during backfill.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest
from flask import Flask

from demo.network import RPC_NAMES
from tests.databases import SharedDatabase
from tests.everyday import SEED, SOAK, volume
from tests.watcher.on_anvil.conftest import START
from tests.watcher.on_anvil.disturbing import Disturbance, undisturbed
from tests.watcher.on_anvil.plan import FIRST_TURN, Plan, full_plan, small_plan
from tests.watcher.on_anvil.stage import Answers, Chains
from tests.watcher.on_anvil.watching import Watching

COUNT = volume(1_000, 12)
EVERY = volume(5, 20)
"""Turns between two of which the answers are compared."""

pytestmark = pytest.mark.one_database


@pytest.fixture(scope="module")
def plan() -> Plan:
    return full_plan(START) if SOAK else small_plan(START)


def watcher(app: Flask, chains: Chains, window: int | None = None) -> Watching:
    urls = {chain: [(RPC_NAMES[chain], node.url)] for chain, node in chains.nodes.items()}
    return Watching(app, urls, window=window)


@pytest.mark.slow
def test_reorgs_change_no_answer(
    open_gateway: Callable[..., Flask], shared_database: SharedDatabase, chains: Chains, plan: Plan
) -> None:
    expected = run_undisturbed(open_gateway, shared_database, chains, plan)
    chance, left, depths = random.Random(SEED), COUNT, Counter[int]()
    totals: Counter[str] = Counter()
    while left > 0:
        shared_database.empty()
        chains.begin_again()
        app = open_gateway(finality=chance.choice((0, 2, 6, 12)))
        with app.app_context():
            late = chance.random() < 0.5
            watching = watcher(app, chains, window=chance.choice((1, 3, 7)) if late else None)
            begins = chance.randrange(10, plan.last) if late else FIRST_TURN
            played = Disturbance(app, chains, watching, plan, expected, chance, begins_at=begins)
            played.play(left)
            watching.stop()
        left -= played.count
        depths += played.depths
        for name in ("compared", "eventless", "while_off", "in_backfill"):
            totals[name] += getattr(played, name)
        print(COUNT - left, dict(sorted(depths.items())), dict(totals), flush=True)
    assert sum(depths.values()) == COUNT
    assert totals["compared"]
    assert not SOAK or all(totals.values())


def run_undisturbed(
    open_gateway: Callable[..., Flask], shared_database: SharedDatabase, chains: Chains, plan: Plan
) -> dict[int, Answers]:
    app = open_gateway()
    with app.app_context():
        watching = watcher(app, chains)
        watching.start()
        expected = undisturbed(app, chains, watching, plan, EVERY)
        watching.stop()
    return expected
