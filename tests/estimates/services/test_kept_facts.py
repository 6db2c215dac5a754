"""The facts of a route are cached for a moment: never longer, never past a write of their own process, never
of an epoch that has ended, and never of two moments.

Two apps on one database, each with its own engines and its own memory, are two processes here.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import strategies as st

from app.db.database import CachedReads, Database
from app.db.engine import writing
from app.db.writes import writes_of
from app.estimates.services import estimate_inputs, token_bound
from app.http.application import part_of
from app.network.document import import_network
from app.network.snapshot import SnapshotSource
from app.values.identifiers import ChainId
from config import Settings
from tests.actors import TESTER
from tests.amounts import costly
from tests.api.shapes import ESTIMATE
from tests.applications import Editing, OpenApp, change_part, editing_of
from tests.databases import SharedDatabase
from tests.estimates.services.estimate_kit import NOON, USDT, answer, celr, configure, feed_fee, move, query
from tests.estimates.services.two_processes import TwoProcesses
from tests.feed.services.world import fill_network, forget_events
from tests.network.services.network_kit import network, text
from tests.steps import statements
from tests.timer import Timer, eventually

AGE = 1.0
DEFAULT_AGE = Settings().config_max_age_seconds

moves = st.one_of(
    st.tuples(st.just("write"), st.integers(0, 1), st.integers(1, 10**30)),
    st.tuples(st.just("read"), st.integers(0, 1)),
    st.tuples(st.just("wait"), st.sampled_from([0.0, 0.4, 0.999, 1.0, 60.5])),
)


@pytest.fixture
def app(app: Flask) -> Flask:
    """Facts are cached for AGE."""
    cached = CachedReads(AGE, writes_of(part_of(app, Database).engine), Timer())
    change_part(app, Database, cached=cached)
    return app


@pytest.fixture
def timer(database: Database) -> Timer:
    timer = database.cached._monotonic
    assert isinstance(timer, Timer)
    return timer


class Reads:
    """Statements of the application."""

    def __init__(self, executed: list[str]) -> None:
        self._executed = executed

    def taken(self) -> int:
        """How many of them read facts since it was last called."""
        number = sum("pool_counters" in statement for statement in self._executed)
        self._executed.clear()
        return number


@pytest.fixture
def reads(database: Database) -> Iterator[Reads]:
    with statements(database.reads) as executed:
        yield Reads(executed)


def test_no_answer_has_stale_facts(open_app: OpenApp, shared_database: SharedDatabase) -> None:
    """In any order of writes and requests."""
    apps = open_app(), open_app()
    fill_network(shared_database, part_of(apps[0], Database).engine)

    @costly
    @given(st.lists(moves, max_size=25), st.sampled_from([2, 60]))
    def hold(steps: list[tuple[Any, ...]], epoch_seconds: int) -> None:
        forget_events(apps[0])
        both = TwoProcesses(apps, AGE, epoch_seconds)
        for name, *arguments in steps:
            getattr(both, name)(*arguments)
        both.read(0)
        both.read(1)

    hold()


@pytest.mark.parametrize("epoch_seconds", [60, 2])
def test_ended_epoch_volume_is_not_reused(
    open_app: OpenApp, shared_database: SharedDatabase, epoch_seconds: int
) -> None:
    apps = open_app(), open_app()
    fill_network(shared_database, part_of(apps[0], Database).engine)
    both = TwoProcesses(apps, AGE, epoch_seconds)
    both.wait(0.5)
    both.write(0, 5)
    for _ in range(2):
        both.read(0)
        both.wait(0.5)  # the next epoch has begun, and what was read is young enough
    assert both.known[-1].volumes.total() == 5


def test_routes_are_cached_separately(
    app: Flask, database: Database, snapshots: SnapshotSource, reads: Reads
) -> None:
    for _ in range(3):
        answer(app)
        estimate_inputs(database, snapshots, query(src_chain_id=56, dst_chain_id=1), (), None)
    assert reads.taken() == 2


def test_amounts_share_what_was_read(app: Flask, reads: Reads) -> None:
    assert len({answer(app, query(amt=amt * USDT)).eq_value_token_amt for amt in range(90, 99)}) == 9
    assert reads.taken() == 1


def test_pegged_transfer_reads_no_facts(database: Database, snapshots: SnapshotSource, reads: Reads) -> None:
    assert estimate_inputs(database, snapshots, celr(1, 56), (), None).facts_age is None
    assert reads.taken() == 0


def test_writes_renew_each_part_of_facts(
    database: Database, snapshots: SnapshotSource, editing: Editing
) -> None:
    configure(editing, "pools.0.epoch_cap", str(10**40))
    before = estimate_inputs(database, snapshots, query(), (), None)
    move(database, 1, added=7)
    feed_fee(database, 5, NOON)
    after = estimate_inputs(database, snapshots, query(), (), None)
    assert before.src_pool and after.src_pool and after.route and after.route.base_fee
    assert after.src_pool.inbound_limit - before.src_pool.inbound_limit == 7
    assert after.route.base_fee.amount == 5


@pytest.mark.parametrize("engine", ["engine", "feed"])
@pytest.mark.parametrize("fails", [False, True])
def test_every_transaction_end_drops_facts(
    app: Flask, database: Database, reads: Reads, engine: str, fails: bool
) -> None:
    """Of both engines that write: one that is reported as failed may be committed, too."""
    answer(app)
    try:
        with writing(getattr(database, engine)):
            if fails:
                raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    answer(app)
    assert reads.taken() == 2


def test_token_bound_uses_cached_facts(
    database: Database, snapshots: SnapshotSource, editing: Editing, reads: Reads, timer: Timer
) -> None:
    address = "0x" + "11" * 20
    configure(editing, "tokens.0.address", address)  # of USDT alone
    for _ in range(2):
        token_bound(database, snapshots, ChainId(1), address)
    assert reads.taken() == 1
    timer.now += AGE
    token_bound(database, snapshots, ChainId(1), address)
    assert reads.taken() == 1


def test_configuration_is_cached_for_one_second(open_app: OpenApp) -> None:
    """By the clock of this machine: what another process wrote a second ago is in every answer."""
    assert DEFAULT_AGE == 1
    serving = open_app(config_max_age_seconds=DEFAULT_AGE)
    another = open_app(config_max_age_seconds=DEFAULT_AGE)
    database = part_of(another, Database)
    import_network(*editing_of(another), text(network()), actor=TESTER)
    client = serving.test_client()
    fields = {"src_chain_id": 1, "dst_chain_id": 56, "token_symbol": "USDT", "amt": 10**8}

    def base_fee() -> int:
        answer = client.get(ESTIMATE, query_string=fields | {"slippage_tolerance": 5000}).get_json()
        return int(answer["base_fee"])

    eventually(lambda: base_fee() > 0)
    feed_fee(database, 1, NOON)
    written = time.monotonic()
    while (begun := time.monotonic()) < written + DEFAULT_AGE + 0.5:
        assert base_fee() == 1 or begun < written + DEFAULT_AGE
        time.sleep(0.02)
