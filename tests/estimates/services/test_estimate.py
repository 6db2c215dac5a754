"""The estimate service: configuration from the snapshot, pools and fees of now, every code."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from flask import Flask

from app.db.database import Database
from app.estimates.models import PoolVolume
from app.estimates.rules.refusals import EstimateRefused
from app.estimates.services import estimate_inputs
from app.http.application import add_part
from app.network.document import import_network
from app.network.services import NetworkSnapshots
from app.network.snapshot import SnapshotSource
from app.values.codes import BridgeType
from app.values.times import Epoch
from tests.actors import TESTER
from tests.applications import Editing
from tests.estimates.rules.estimate_cases import pool_with
from tests.estimates.services.estimate_kit import (
    NOON,
    answer,
    celr,
    configure,
    feed_fee,
    move,
    query,
    send,
    write,
)
from tests.network.services.network_kit import network, text
from tests.steps import statements


def test_chain_minimum_and_destination_gas_count(app: Flask, editing: Editing) -> None:
    document = network()
    document["chains"][0]["minimal_max_slippage"] = 400_000
    document["chains"][2]["drop_gas_amt"] = "77"
    import_network(*editing, text(document), actor=TESTER)
    estimate = answer(app)
    assert (estimate.max_slippage, estimate.drop_gas_amt) == (400_000, 77)


@pytest.mark.parametrize(
    ("src", "dst", "kind", "fee"),
    [
        (1, 10, BridgeType.DEPOSIT_MINT, 7),
        (10, 1, BridgeType.BURN_WITHDRAW, 8),
        (10, 56, BridgeType.BURN_MINT, 7),
    ],
)
def test_pegged_transfer_is_found_from_pairs(
    app: Flask, src: int, dst: int, kind: BridgeType, fee: int
) -> None:
    for is_pegged in (None, True):
        estimate = answer(app, celr(src, dst, is_pegged=is_pegged, slippage_tolerance=0))
        assert (estimate.bridge_type, estimate.base_fee, estimate.max_slippage) == (kind, fee, 0)
        assert estimate.perc_fee == 10**18 * 500 // 10**6


def test_pools_add_events_to_opening_values(database: Database, snapshots: SnapshotSource) -> None:
    move(database, 1, added=10, sent=-20, relayed=30, withdrawn=-40)
    move(database, 56, added=2**256, relayed=1)
    inputs = estimate_inputs(database, snapshots, query(), (), None)
    opening = 5_000_000_000_000
    assert inputs.src_pool == pool_with(
        added=opening + 10, sent=-20, relayed=30, withdrawn=-40,
        total_cap=9_000_000_000_000, epoch_cap=None, epoch_volume=0, epoch_seconds=3600,
    )  # fmt: skip
    assert inputs.dst_pool is not None
    assert (inputs.dst_pool.counters.added, inputs.dst_pool.counters.relayed) == (
        opening * 10**12 + 2**256,
        1,
    )


def test_reported_fee_precedes_configured(database: Database, snapshots: SnapshotSource) -> None:
    feed_fee(database, 2**255, NOON - timedelta(days=9))
    inputs = estimate_inputs(database, snapshots, query(), (), None)
    assert inputs.route and inputs.route.base_fee
    assert (inputs.route.base_fee.amount, inputs.route.base_fee.reported) == (2**255, True)
    other = estimate_inputs(database, snapshots, query(src_chain_id=56, dst_chain_id=1), (), None)
    assert other.route and other.route.base_fee
    assert not other.route.base_fee.reported


def test_an_epoch_of_whole_minutes_sums_minutes(
    database: Database, snapshots: SnapshotSource, editing: Editing
) -> None:
    configure(editing, "pools.0.epoch_cap", "5")
    start = int(NOON.timestamp()) // 3600 * 60
    for minute, amount in ((start - 1, 1), (start, 20), (start + 59, 2**256), (start + 60, 300)):
        write(database, PoolVolume, chain_id=1, symbol="USDT", minute=minute, amount=amount)
    write(database, PoolVolume, chain_id=1, symbol="CELR", minute=start, amount=4000)
    write(database, PoolVolume, chain_id=56, symbol="USDT", minute=start, amount=5000)
    inputs = estimate_inputs(database, snapshots, query(), (), None)
    assert inputs.src_pool is not None
    assert inputs.src_pool.epoch_volume == 20 + 2**256


def test_any_other_epoch_sums_the_sends(
    database: Database, snapshots: SnapshotSource, editing: Editing
) -> None:
    document = network()
    document["pools"][0] |= {"epoch_cap": "5", "epoch_seconds": 45}
    import_network(*editing, text(document), actor=TESTER)
    start = datetime.fromtimestamp(int(NOON.timestamp()) // 45 * 45, UTC)
    tick = timedelta(microseconds=1)
    send(database, 1, start)
    send(database, 2, start + timedelta(seconds=45) - tick)
    send(database, 3, start - tick)
    send(database, 4, start + timedelta(seconds=45))
    send(database, 5, None)
    send(database, 6, start, kind="burn")
    send(database, 7, start, symbol="CELR")
    send(database, 8, start, src_chain_id=10)
    inputs = estimate_inputs(database, snapshots, query(), (), None)
    assert inputs.src_pool is not None
    assert inputs.src_pool.epoch_volume == 2 * 10**30 + 3


@pytest.mark.parametrize(
    "moment", [NOON, NOON.replace(microsecond=999_999), datetime(1969, 12, 31, 23, 59, 59, 1, tzinfo=UTC)]
)
@pytest.mark.parametrize("seconds", [1, 45, 60, 3600, 86_400])
def test_epoch_contains_given_moment(moment: datetime, seconds: int) -> None:
    epoch = Epoch.at(moment, seconds)
    assert epoch.start % seconds == 0
    assert epoch.end - epoch.start == seconds
    unix = (moment - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(seconds=1)
    assert epoch.start <= unix < epoch.end


def test_estimate_reads_facts_by_one_statement(app: Flask, database: Database, editing: Editing) -> None:
    """None where they do not count."""
    snapshots = NetworkSnapshots(database.engine, 30)
    add_part(app, SnapshotSource, snapshots)
    configure(editing, "pools.0.epoch_cap", str(10**12))
    snapshots.current()
    with statements(database.reads) as executed:
        answer(app)
        assert len(executed) == 1
        executed.clear()
        answer(app, celr(1, 10))
        with pytest.raises(EstimateRefused):
            answer(app, query(dst_chain_id=10**6))
        assert executed == []
