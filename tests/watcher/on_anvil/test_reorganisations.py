"""Random reorganisations of two real EVMs: every answer is that of the run without them.

Down to two blocks more than the delay, on either chain, at every stage, where nothing happens, while
the watcher is off, and during backfill.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest
from flask import Flask

from tests.databases import SharedDatabase
from tests.watcher.on_anvil.conftest import START
from tests.watcher.on_anvil.disturbing import Disturbance, full_plan, small_plan, undisturbed
from tests.watcher.on_anvil.plan import FIRST_TURN, Plan
from tests.watcher.on_anvil.stage import Chains
from tests.watcher.on_anvil.watching import Urls, Watching

pytestmark = [pytest.mark.one_database, pytest.mark.system]

FEW, MANY = 12, 1_000


@pytest.mark.parametrize(
    ("make_plan", "every", "count"),
    [
        pytest.param(small_plan, 20, FEW, id="few"),
        pytest.param(full_plan, 5, MANY, id="many", marks=pytest.mark.slow),
    ],
)
def test_reorgs_change_no_answer(
    open_gateway: Callable[..., Flask],
    shared_database: SharedDatabase,
    chains: Chains,
    urls: Urls,
    make_plan: Callable[[int], Plan],
    every: int,
    count: int,
) -> None:
    """``play`` lets the chains reorganise, and fails where an answer differs from the undisturbed run.

    :param every: the answers are compared after so many turns.
    """
    plan = make_plan(START)
    app = open_gateway()
    with app.app_context():
        watching = Watching(app, urls)
        watching.start()
        expected = undisturbed(app, chains, watching, plan, every)
        watching.stop()
    chance, left = random.Random(1), count
    of_kind: Counter[str] = Counter()
    while left > 0:
        shared_database.empty()
        chains.begin_again()
        app = open_gateway(finality=chance.choice((0, 2, 6, 12)))
        with app.app_context():
            late = chance.random() < 0.5  # the watcher starts after the first blocks, so it backfills
            watching = Watching(app, urls, window=chance.choice((1, 3, 7)) if late else None)
            begins = chance.randrange(10, plan.last) if late else FIRST_TURN
            played = Disturbance(app, chains, watching, plan, expected, chance, begins_at=begins)
            played.play(left)
            watching.stop()
        left -= played.count
        for name in ("compared", "eventless", "while_off", "in_backfill"):
            of_kind[name] += getattr(played, name)
    assert left == 0
    assert of_kind["compared"]
    if count == MANY:
        assert all(of_kind.values())
