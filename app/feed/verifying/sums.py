"""Sums over many transfers: pools, volumes by the minute, trends, latencies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from msgspec.structs import asdict
from sqlalchemy import Connection, select

from app.estimates.models import PoolCounter, PoolVolume
from app.feed.projection.anomalies import under_zero, validate_pools
from app.feed.projection.latencies import counted_after, counted_since, recount
from app.feed.projection.sums import add_to_spans, apply_shared, spans_of
from app.feed.queries.pools import load_pools_now
from app.feed.queries.pruned import pruned_pools
from app.feed.queries.transfers import states_where
from app.feed.verifying.mismatches import Difference, differences, rows_of
from app.latency.models import WIDTHS, LatencyCount
from app.network.models import Pool
from app.network.pools import PoolCounters
from app.transfers.anomalies import AnomalyKind
from app.transfers.effects import SharedChange, Trends
from app.transfers.models import Anomaly, Transfer, TrendCount
from app.transfers.queries.trends import SpanKey, trends_between
from app.values.codes import SendKind
from app.values.identifiers import ChainId, PoolKey

_IS_POOL: Final = Transfer.kind == SendKind.POOL.value


def compare_sent(connection: Connection, pool: PoolKey) -> list[Difference]:
    """The differences of what was sent into a pool, in all and by the minute."""
    of_pool = (Transfer.src_chain_id == pool.chain_id, Transfer.symbol == pool.symbol)
    change = SharedChange()
    for state in states_where(connection, _IS_POOL, *of_pool):
        change.add(state)
    sent = change.counters[pool].sent + pruned_pools(connection).get(pool, (0, 0))[0]
    stored = select(PoolVolume.__table__).where(
        PoolVolume.chain_id == pool.chain_id, PoolVolume.symbol == pool.symbol, PoolVolume.amount != 0
    )
    expected = [
        {"chain_id": key[0], "symbol": key[1], "minute": key[2], "amount": amount}
        for key, amount in change.volumes.items()
        if amount
    ]
    return [
        *_counter(connection, pool, "sent", sent),
        *differences(PoolVolume, rows_of(connection, stored), expected),
    ]


def compare_relayed(connection: Connection, pool: PoolKey) -> list[Difference]:
    """The differences of what was paid out of a pool."""
    of_pool = (Transfer.dst_chain_id == pool.chain_id, Transfer.symbol == pool.symbol)
    change = SharedChange()
    for state in states_where(connection, _IS_POOL, *of_pool, Transfer.relayed_amount.is_not(None)):
        change.add(state)
    relayed = change.counters[pool].relayed + pruned_pools(connection).get(pool, (0, 0))[1]
    return _counter(connection, pool, "relayed", relayed)


def _counter(connection: Connection, pool: PoolKey, name: str, expected: int) -> list[Difference]:
    column = getattr(PoolCounter, name)
    of_pool = (PoolCounter.chain_id == pool.chain_id, PoolCounter.symbol == pool.symbol)
    stored = connection.scalar(select(column).where(*of_pool)) or 0
    rows = ([{**pool._asdict(), name: value}] for value in (stored, expected))
    return list(differences(PoolCounter, *rows))


def repair_pools(connection: Connection, found: Iterable[Difference], now: datetime) -> None:
    """Add what is missing in counters and volumes."""
    change = SharedChange()
    for each in found:
        pool = PoolKey(each.key["chain_id"], each.key["symbol"])
        if each.table == PoolVolume.__tablename__:
            change.volumes[pool.chain_id, pool.symbol, each.key["minute"]] += each.more("amount")
        else:
            change.counters[pool] += PoolCounters(sent=each.more("sent"), relayed=each.more("relayed"))
    apply_shared(connection, change, now)


def compare_trends(connection: Connection, first: datetime | None, end: datetime | None) -> list[Difference]:
    """The trends of the transfers that began from one day on, before another one. None: no bound."""
    change = SharedChange()
    bounds = [] if first is None else [Transfer.began_at >= first]
    bounds += [] if end is None else [Transfer.began_at < end]
    for state in states_where(connection, Transfer.began_at.is_not(None), *bounds):
        change.add(state)
    stored, expected = (
        [{**span._asdict(), **asdict(trends)} for span, trends in found.items() if trends]
        for found in (trends_between(connection, first, end), spans_of(change.courses))
    )
    return list(differences(TrendCount, stored, expected))


def repair_trends(connection: Connection, found: Iterable[Difference], _now: datetime) -> None:
    """Add what is missing in them."""
    names = tuple(asdict(Trends()))
    add_to_spans(
        connection,
        {SpanKey(**each.key): Trends(**{name: each.more(name) for name in names}) for each in found},
    )


def compare_latencies(connection: Connection) -> list[Difference]:
    """The counts of latencies by bucket."""
    since = counted_since(connection)
    if since is None:
        return []  # nothing is counted until the next event: medians are found from the records
    stored = rows_of(connection, select(LatencyCount.__table__).where(LatencyCount.n != 0))
    names = [column.name for column in LatencyCount.__table__.columns]
    expected = [
        dict(zip(names, row, strict=True))
        for width in WIDTHS
        for row in connection.execute(counted_after(since, width))
    ]
    return list(differences(LatencyCount, stored, expected))


def repair_latencies(connection: Connection, _found: Iterable[Difference], now: datetime) -> None:
    """Count again."""
    recount(connection, now)


def compare_pools_under_zero(connection: Connection) -> list[Difference]:
    """The anomalies of pools under zero. The time they were raised is not compared."""
    pools = {PoolKey(*row) for row in connection.execute(select(Pool.chain_id, Pool.symbol))}
    kind = AnomalyKind.POOL_UNDER_ZERO.value
    stored = rows_of(connection, select(Anomaly.__table__).where(Anomaly.kind == kind))
    expected = [
        {"subject": f"pool:{pool.chain_id}:{pool.symbol}", "kind": kind, "detail": under}
        for pool, counters in load_pools_now(connection, pools).items()
        if (under := under_zero(counters))
    ]
    return list(differences(Anomaly, stored, expected, key=("subject", "kind")))


def repair_pools_under_zero(connection: Connection, found: Iterable[Difference], now: datetime) -> None:
    """Validate them again."""
    subjects: Sequence[list[str]] = [each.key["subject"].split(":", 2) for each in found]
    validate_pools(connection, [PoolKey(ChainId(int(chain)), symbol) for _, chain, symbol in subjects], now)
