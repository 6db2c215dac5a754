"""Trends: counts over time equal those of the transfers; and early warnings of pools."""

from __future__ import annotations

import re
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from flask import Flask
from msgspec.structs import replace
from sqlalchemy import insert, select

import app.estimates
from app.console.dashboard.charts import Period, trend
from app.console.estimates.summary import REFUSAL_WORDS
from app.console.network.pools import Severity, pool_lines, pool_warnings
from app.db.database import Database
from app.db.engine import reading, writing
from app.http.application import part_of
from app.network.models import Pool
from app.network.rules.pools import PoolCounters, PoolState
from app.network.snapshot import SnapshotSource
from app.transfers.models import Transfer, TrendCount
from app.values.codes import REFUND_STATUSES, Reason
from app.values.codes import TransferHistoryStatus as Status
from app.values.times import hour_of
from tests.console.pages.plans import plans
from tests.feed.services.world import NOW, about, event, feed, released, sent

HOUR, DAY = 3600, 86_400
USDT = 10**6


def test_what_became_of_transfers_of_a_day(app: Flask, database: Database, snapshots: SnapshotSource) -> None:
    received = str(990 * 10**18)
    feed(
        app,
        sent(1, at=-HOUR),
        released(1, at=60 - HOUR, amount=received),
        sent(2, at=-HOUR - 1),
        released(2, at=60 - HOUR, amount=received),
        sent(3, at=-HOUR),
        about(3, "refund.requested", at=-60),
        sent(4, at=-23 * HOUR),
        sent(5, at=-24 * HOUR),
        about(6, "transfer.submitted", at=-60, src_chain_id=1, dst_chain_id=2, symbol="USDT", amount="1",
              sender="a", receiver="b", src_tx_hash="0x01"),
        about(6, "transfer.failed", at=-50, why="reverted"),
    )  # fmt: skip
    day = trend(database, snapshots, Period.DAY)
    assert len(day.spans) == 24 and day.spans[-1].at <= NOW < day.spans[-1].at + timedelta(hours=1)
    reported = {(NOW - span.at) // timedelta(hours=1): span for span in day.spans if span.begun}
    assert {ago: (s.begun, s.completed, s.refund, s.failed, s.under_way) for ago, s in reported.items()} == {
        1: (3, 1, 1, 1, 0),
        2: (1, 1, 0, 0, 0),
        23: (1, 0, 0, 0, 1),
    }
    assert (day.total.begun, day.total.failed, day.total.success_ppm) == (5, 1, 666_666)
    (usdt,) = day.tokens
    assert (usdt.symbol, usdt.volume, usdt.fees, usdt.fees_ppm) == ("USDT", 4000, 20, 10_000)
    assert usdt.retained[-2:] == (10, 0)
    month = trend(database, snapshots, Period.MONTH)
    assert len(month.spans) == 30 and month.total.begun == 6 and month.tokens[0].volume == 5000


def test_retracted_send_is_not_counted(app: Flask, database: Database, snapshots: SnapshotSource) -> None:
    feed(app, sent(1, at=-HOUR))
    assert trend(database, snapshots, Period.DAY).tokens[0].volume == 1000
    feed(app, event("chain.reorged", at=-10, chain_id=1, from_block=100))
    day = trend(database, snapshots, Period.DAY)
    assert (day.total.begun, day.tokens) == (0, ())
    with reading(database.engine) as connection:
        assert not connection.execute(select(TrendCount.__table__)).all(), "and no empty row is left"


def test_counts_are_those_of_the_transfers(sandbox: Flask) -> None:
    """Whatever happened to each: reorganised, refunded, announced only."""
    month = trend(part_of(sandbox, Database), part_of(sandbox, SnapshotSource), Period.MONTH)
    with reading(part_of(sandbox, Database).engine) as connection:
        rows = connection.execute(
            select(Transfer.status, Transfer.began_at).where(
                Transfer.began_at.is_not(None),
                Transfer.dst_chain_id.is_not(None),
                Transfer.status != Status.TRANSFER_UNKNOWN,
            )
        ).all()
    statuses = Counter(Status(row.status) for row in rows if row.began_at >= month.spans[0].at)
    assert month.total.begun == statuses.total() > 400
    assert month.total.completed == statuses[Status.TRANSFER_COMPLETED]
    assert month.total.refund == sum(statuses[status] for status in REFUND_STATUSES)
    assert month.total.failed == statuses[Status.TRANSFER_FAILED]
    assert month.total.under_way > 0


def test_trend_counts_unconfigured_token_without_amounts(
    database: Database, snapshots: SnapshotSource
) -> None:
    """Without its decimals nobody knows how many tokens the units are."""
    span = {"hours": 1, "span": hour_of(NOW)}  # the hour of NOW
    row = span | {"kind": "pool", "src_chain_id": 1, "dst_chain_id": 2}
    counts = {"begun": 3, "completed": 2, "refund": 0, "failed": 0, "sent": 9, "paid_for": 9, "received": 8}
    with writing(database.engine) as connection:
        connection.execute(insert(TrendCount).values(**row, symbol="GONE", **counts))
    day = trend(database, snapshots, Period.DAY)
    assert day.total.begun == counts["begun"]
    assert day.unmeasured == counts["begun"], "transfers whose amounts are left out"
    assert day.tokens == (), "amounts by token"


@pytest.mark.postgresql_alone
def test_trends_read_stored_sums_only(app: Flask, database: Database, snapshots: SnapshotSource) -> None:
    feed(app, sent(1))
    with plans(database.reads) as seen:
        trend(database, snapshots, Period.DAY)
        trend(database, snapshots, Period.MONTH)
    assert len(seen) >= 2
    for table in ("transfers", "events"):
        assert not [plan for plan in seen if f" on {table}" in plan], table
    assert not [plan for plan in seen if "Seq Scan on course_counts" in plan]


def pool(balance: int, total_cap: int | None = None, **more: int) -> PoolState:
    return PoolState(PoolCounters(added=balance), total_cap=total_cap, **more)


@pytest.mark.parametrize(
    ("state", "came", "went", "words"),
    [
        (pool(799_999, 1_000_000), 0, 0, ""),
        (pool(800_000, 1_000_000), 0, 0, "nearly at its cap"),
        (pool(1_000_000, 1_000_000), 0, 0, "at its cap: nothing more can be sent from this chain"),
        (pool(100, 1_000), 900, 0, "at its cap within 24.0 h"),
        (pool(100, 1_000), 899, 0, ""),
        (pool(100, 1_000), 3600, 0, "at its cap within 6.0 h"),
        (pool(100, 1_000), 0, 100, "empty within 24.0 h"),
        (pool(100), 500, 600, "empty within 24.0 h"),
        (pool(100), 10**40, 0, ""),
        (pool(0), 0, 0, "empty: nothing can be paid out"),
        (pool(10**40), 0, 1, ""),
        (pool(9, epoch_cap=10, epoch_volume=8), 0, 0, "epoch cap nearly used up"),
        (pool(9, epoch_cap=10, epoch_volume=11), 0, 0,
         "epoch cap used up: nothing more can be sent until the next epoch"),
        (pool(1, total_cap=0), 0, 0, "at its cap: nothing more can be sent from this chain"),
    ],
)  # fmt: skip
def test_early_warnings(state: PoolState, came: int, went: int, words: str) -> None:
    reported = [
        f"{each.words} within {each.within / timedelta(hours=1):.1f} h" if each.within else each.words
        for each in pool_warnings(state, came, went)
    ]
    assert "; ".join(reported) == words


def test_pools_warn_at_transfer_pace(app: Flask, database: Database, snapshots: SnapshotSource) -> None:
    opening = {"liquidity_sent": 0, "liquidity_relayed": 0, "liquidity_withdrawn": 0, "epoch_cap": None}
    opening |= {"epoch_seconds": 3600}
    with writing(database.engine) as connection:
        for chain_id, added, cap in ((1, 1000 * USDT, 4000 * USDT), (2, 3000 * 10**18, None)):
            row = {"chain_id": chain_id, "symbol": "USDT", "liquidity_added": added, "total_cap": cap}
            connection.execute(insert(Pool).values(**row | opening))
    assert not any(line.warnings for line in pool_lines(database, snapshots))
    for n in (1, 2):
        feed(app, sent(n, at=-n * HOUR), released(n, at=60 - n * HOUR))
    full, empty = sorted(pool_lines(database, snapshots), key=lambda line: line.chain.id)
    assert [(each.severity, each.words, each.within) for each in full.warnings] == [
        (Severity.NEAR, "at its cap", timedelta(hours=12))
    ]
    assert [(each.words, each.within) for each in empty.warnings] == [("empty", timedelta(hours=12))]
    later = replace(database, clock=lambda: NOW + timedelta(days=2))
    assert not any(line.warnings for line in pool_lines(later, snapshots))


def test_every_reason_of_an_estimate_has_words() -> None:
    """Those that the sources of estimates name."""
    sources = Path(app.estimates.__file__).parent.rglob("*.py")
    named = {name for path in sources for name in re.findall(r"Reason\.([A-Z_]+)", path.read_text())}
    assert len(named) > 20
    assert {Reason[name].value for name in named} <= REFUSAL_WORDS.keys()
