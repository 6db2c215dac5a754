"""A proxy between watcher and node does what bad nodes do: nothing is missed, and nothing counts twice.

``make test`` does a few faults of each kind, ``make soak`` 200.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from flask import Flask
from sqlalchemy import func, select

from app.db.database import Database
from app.db.engine import reading
from app.http.application import part_of
from app.transfers.models import Event
from app.values.crypto import keccak256
from app.watcher.models import WatchMiss
from demo.chains import POOL
from tests.databases import SharedDatabase
from tests.everyday import SEED, SOAK, volume
from tests.watcher.on_anvil.conftest import START
from tests.watcher.on_anvil.disturbing import QUIET_TURNS
from tests.watcher.on_anvil.plan import CHAINS, FIRST_TURN, Plan, full_plan, small_plan
from tests.watcher.on_anvil.proxy import KINDS, Proxy, proxying
from tests.watcher.on_anvil.stage import Answers, Chains, differences, tell
from tests.watcher.on_anvil.undisturbed import everything, quiet_run, reorganisations
from tests.watcher.on_anvil.watching import Watching

FAULTS = volume(200, 2)
TOGETHER: tuple[tuple[str, ...], ...] = tuple((kind,) for kind in KINDS) if SOAK else (KINDS,)
"""The kinds that one test does, turn by turn."""

TIMEOUT = 0.25
"""Seconds that the watcher waits for an answer here."""

QUEUED = f"0x{keccak256(b'DelayedTransferAdded(bytes32)').hex()}"
ROTATED = f"0x{keccak256(b'SignersUpdated(address[],uint256[])').hex()}"
FORGIVEN = 4000.0
"""Seconds of the test's clock after which no URL is left alone any more."""

pytestmark = pytest.mark.one_database


@pytest.fixture(scope="module")
def plan() -> Plan:
    return full_plan(START, spread=12) if SOAK else small_plan(START)


@pytest.fixture(scope="module")
def expected() -> dict[str, Answers]:
    """Filled by the first test."""
    return {}


@pytest.fixture
def proxies(chains: Chains) -> Iterator[dict[int, Proxy]]:
    with ExitStack() as stack:
        yield {
            chain: stack.enter_context(proxying(node.url, random.Random(f"{SEED} {chain}")))
            for chain, node in chains.nodes.items()
        }


def facts(database: Database) -> set[str]:
    """The ids of all that was told, without the types that further facts of one log append."""
    with reading(database.engine) as connection:
        ids = connection.scalars(select(Event.event_id))
        return {":".join(each.split(":")[:4]) for each in ids}


def told_by_omitted(proxies: dict[int, Proxy]) -> list[str]:
    """The ids of what the logs say that were kept back.

    That a payout is queued has no fact of its own: it makes the payout beside it a delayed one. Of a chain's
    validators the pool's contract tells.
    """
    return [
        f"{chain}:{log.block_hash}:{log.tx_hash}:{log.index}"
        for chain, proxy in proxies.items()
        for log in proxy.omitted
        if log.topic != QUEUED and (log.topic != ROTATED or log.address == f"0x{POOL.address.hex()}")
    ]


def found_by_reread(database: Database) -> int:
    with reading(database.engine) as connection:
        return int(connection.scalar(select(func.sum(WatchMiss.missing))) or 0)


@pytest.mark.parametrize("kinds", TOGETHER, ids="-".join)
@pytest.mark.slow
def test_nothing_is_missed_and_nothing_twice(
    kinds: tuple[str, ...],
    open_gateway: Callable[..., Flask],
    shared_database: SharedDatabase,
    chains: Chains,
    proxies: dict[int, Proxy],
    plan: Plan,
    expected: dict[str, Answers],
) -> None:
    if not expected:
        expected["end"] = quiet_run(open_gateway(), chains, plan)
    chance, planted, by_reread, rounds = random.Random(f"{SEED} {kinds}"), 0, 0, 0
    while lacking(proxies, kinds):
        rounds += 1
        shared_database.empty()
        chains.begin_again()
        for proxy in proxies.values():
            proxy.omitted.clear()
        app = open_gateway(finality=4, rpc=["RPC_URL_PROXY", "RPC_URL_OTHER"])
        with app.app_context():
            database = part_of(app, Database)
            play_with_faults(app, chains, proxies, plan, kinds, chance)
            found = differences(expected["end"], everything(app, plan))
            assert not found, "\n".join(found[:40])
            # A log that was missing may mean that what was told must be taken back: a payout that is queued.
            assert "omit" in kinds or reorganisations(database) == 0, "what no node reorganised"
            omitted = told_by_omitted(proxies)
            kept = facts(database)
            assert [each for each in omitted if each not in kept] == []
            planted += len(omitted)
            by_reread += found_by_reread(database)
    counts = {kind: sum(proxy.delivered[kind] for proxy in proxies.values()) for kind in kinds}
    print(f"{counts} in {rounds} rounds; of {planted} omitted logs {by_reread} were found by rereading")
    assert planted if "omit" in kinds else not by_reread
    assert by_reread or not SOAK or "omit" not in kinds


def lacking(proxies: dict[int, Proxy], kinds: tuple[str, ...]) -> list[str]:
    """The kinds of faults that were not done often enough yet."""
    return [kind for kind in kinds if sum(proxy.delivered[kind] for proxy in proxies.values()) < FAULTS]


def play_with_faults(
    app: Flask,
    chains: Chains,
    proxies: dict[int, Proxy],
    plan: Plan,
    kinds: tuple[str, ...],
    chance: random.Random,
) -> None:
    """Play the plan with a fault now and then; at the end nodes are honest, and everything is reread."""
    others = chance.random() < 0.5
    urls = {
        chain: [("RPC_URL_PROXY", proxies[chain].url)] + [("RPC_URL_OTHER", node.url)] * others
        for chain, node in chains.nodes.items()
    }
    watching = Watching(app, urls, timeout=TIMEOUT)
    watching.start()
    for turn in range(FIRST_TURN, plan.last + QUIET_TURNS + 1):
        for chain in CHAINS:
            chains.mine(plan, chain, turn)
            wanted = lacking(proxies, kinds)
            if wanted and turn <= plan.last and chance.random() < 0.8:
                proxies[chain].arm(chance.choice(wanted))
            watching.poll(chain)
            watching.seconds += chance.choice((1.0, FORGIVEN))
        tell(app, plan, turn)
    for chain in CHAINS:
        proxies[chain].disarm()
        watching.seconds += FORGIVEN
        head = str(chains.nodes[chain].block()["hash"])
        watching.settle(chain, head)
        # What a reread takes back is read again from there on.
        while watching.reread(chain):
            watching.settle(chain, head)
    watching.stop()
