"""The facts of estimates that change with every transfer, and counts of their outcomes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    bindparam,
    literal,
    or_,
    select,
    true,
)
from sqlalchemy.orm import aliased

from app.db.types import exact_sum
from app.estimates.models import EstimateCount, PoolCounter, PoolVolume, ReportedFee
from app.network.rules.pools import PoolCounters
from app.transfers.models import Transfer
from app.values.codes import SendKind
from app.values.identifiers import ChainId, PoolKey, RouteKey
from app.values.times import Epoch

_MINUTE_SECONDS: Final = 60


class EstimateFacts(Struct, frozen=True):
    """Reported facts of one route; ``reported_fee`` is its latest canonical fee and the fee's time."""

    src: PoolCounters
    dst: PoolCounters
    epoch_volume: int
    reported_fee: tuple[int, datetime] | None


_SYMBOL: BindParameter[str] = bindparam("symbol")
_SRC: BindParameter[int] = bindparam("src_chain_id")
_DST: BindParameter[int] = bindparam("dst_chain_id")

_SUM_OF_MINUTES = (
    select(exact_sum(PoolVolume.amount))
    .where(
        PoolVolume.chain_id == _SRC,
        PoolVolume.symbol == _SYMBOL,
        PoolVolume.minute >= bindparam("first_minute"),
        PoolVolume.minute < bindparam("end_minute"),
    )
    .scalar_subquery()
)
_SUM_OF_SENDS = (
    select(exact_sum(Transfer.amount))
    .where(
        Transfer.src_chain_id == _SRC,
        Transfer.symbol == _SYMBOL,
        Transfer.kind == SendKind.POOL.value,
        Transfer.sent_at >= bindparam("start"),
        Transfer.sent_at < bindparam("end"),
    )
    .scalar_subquery()
)


def _statement(volume: ColumnElement[Any]) -> Select[*tuple[Any, ...]]:
    """Always one row: counters of the source, of the destination, volume, fee and its time."""
    src, dst = aliased(PoolCounter), aliased(PoolCounter)
    one = select(literal(1).label("one")).subquery()
    return select(
        src.added, src.sent, src.relayed, src.withdrawn,
        dst.added, dst.sent, dst.relayed, dst.withdrawn,
        volume, ReportedFee.base_fee, ReportedFee.at,
    ).select_from(
        one.outerjoin(src, (src.chain_id == _SRC) & (src.symbol == _SYMBOL))
        .outerjoin(dst, (dst.chain_id == _DST) & (dst.symbol == _SYMBOL))
        .outerjoin(
            ReportedFee,
            (ReportedFee.symbol == _SYMBOL)
            & (ReportedFee.src_chain_id == _SRC)
            & (ReportedFee.dst_chain_id == _DST),
        )
    )  # fmt: skip


def _facts(*row: Any) -> EstimateFacts:
    counters = [value or 0 for value in row[:8]]
    volume, fee, since = row[8:]
    return EstimateFacts(
        src=PoolCounters(*counters[:4]),
        dst=PoolCounters(*counters[4:]),
        epoch_volume=volume or 0,
        reported_fee=None if fee is None else (fee, since),
    )


# Built once: building a statement costs more than running it.
_WITHOUT_VOLUME = _statement(literal(0))
_BY_MINUTES = _statement(_SUM_OF_MINUTES)
_BY_SENDS = _statement(_SUM_OF_SENDS)


def estimate_facts(connection: Connection, route: RouteKey, epoch: Epoch | None) -> EstimateFacts:
    """The counters of both pools, the source pool's volume in the epoch (0 without one), and the reported
    fee, in one statement.
    """
    statement, values = _with_epoch(epoch)
    values |= route._asdict()
    return _facts(*connection.execute(statement, values).one())


def pool_use(connection: Connection, pool: PoolKey, epoch: Epoch | None) -> tuple[PoolCounters, int]:
    """The counters of a pool, and what was sent from it in the epoch; 0 without one."""
    facts = estimate_facts(connection, RouteKey(pool.symbol, pool.chain_id, pool.chain_id), epoch)
    return facts.src, facts.epoch_volume


def _with_epoch(epoch: Epoch | None) -> tuple[Select[*tuple[Any, ...]], dict[str, Any]]:
    """Sums by the minute where the epoch begins and ends with one, else the sends themselves."""
    if epoch is None:
        return _WITHOUT_VOLUME, {}
    if _is_of_minutes(epoch):
        first, end = epoch.start // _MINUTE_SECONDS, epoch.end // _MINUTE_SECONDS
        return _BY_MINUTES, {"first_minute": first, "end_minute": end}
    return _BY_SENDS, {"start": epoch.starts_at, "end": epoch.ends_at}


def _is_of_minutes(epoch: Epoch) -> bool:
    return epoch.start % _MINUTE_SECONDS == 0 == epoch.end % _MINUTE_SECONDS


_POOLS_AT_ONCE: Final = 100


def epoch_volumes(connection: Connection, epochs: Mapping[PoolKey, Epoch]) -> dict[PoolKey, int]:
    """The amount sent from each pool in its epoch; pools without sends are left out."""
    volumes: dict[PoolKey, int] = {}
    for statement in _volume_statements(epochs):
        volumes |= {PoolKey(row[0], row[1]): int(row[2] or 0) for row in connection.execute(statement)}
    return volumes


def _volume_statements(epochs: Mapping[PoolKey, Epoch]) -> Iterator[Select[*tuple[Any, ...]]]:
    of_minutes = [(key, epoch) for key, epoch in epochs.items() if _is_of_minutes(epoch)]
    others = [(key, epoch) for key, epoch in epochs.items() if not _is_of_minutes(epoch)]
    for start in range(0, len(of_minutes), _POOLS_AT_ONCE):
        some = of_minutes[start : start + _POOLS_AT_ONCE]
        minutes = (
            and_(
                PoolVolume.chain_id == key.chain_id,
                PoolVolume.symbol == key.symbol,
                PoolVolume.minute >= epoch.start // _MINUTE_SECONDS,
                PoolVolume.minute < epoch.end // _MINUTE_SECONDS,
            )
            for key, epoch in some
        )
        pool = PoolVolume.chain_id, PoolVolume.symbol
        yield select(*pool, exact_sum(PoolVolume.amount)).where(or_(*minutes)).group_by(*pool)
    for start in range(0, len(others), _POOLS_AT_ONCE):
        sends = (
            and_(
                Transfer.src_chain_id == key.chain_id,
                Transfer.symbol == key.symbol,
                Transfer.kind == SendKind.POOL.value,
                Transfer.sent_at >= epoch.starts_at,
                Transfer.sent_at < epoch.ends_at,
            )
            for key, epoch in others[start : start + _POOLS_AT_ONCE]
        )
        source = Transfer.src_chain_id, Transfer.symbol
        yield select(*source, exact_sum(Transfer.amount)).where(or_(*sends)).group_by(*source)


def estimate_counts(connection: Connection, first_minute: int) -> Sequence[Row[*tuple[Any, ...]]]:
    """How many estimates (``requested``) ended with each code and reason, by minute, from a minute (Unix
    time // 60) on.
    """
    counts = select(
        EstimateCount.minute, EstimateCount.code, EstimateCount.reason, EstimateCount.count.label("requested")
    )
    return connection.execute(
        counts.where(EstimateCount.minute >= first_minute).order_by(EstimateCount.minute)
    ).all()


_COLUMNS = (PoolCounter.added, PoolCounter.sent, PoolCounter.relayed, PoolCounter.withdrawn)


def pool_counters(connection: Connection) -> dict[PoolKey, PoolCounters]:
    """The counters of every pool that events moved."""
    rows = connection.execute(select(PoolCounter.chain_id, PoolCounter.symbol, *_COLUMNS))
    return {PoolKey(row.chain_id, row.symbol): _counters(row) for row in rows}


def counters_of(connection: Connection, pool: PoolKey) -> PoolCounters:
    """The counters of a pool; all 0 if no event moved it."""
    of_pool = (PoolCounter.chain_id == pool.chain_id, PoolCounter.symbol == pool.symbol)
    row = connection.execute(select(*_COLUMNS).where(*of_pool)).one_or_none()
    return PoolCounters() if row is None else _counters(row)


def _counters(row: Row[*tuple[Any, ...]]) -> PoolCounters:
    return PoolCounters(row.added, row.sent, row.relayed, row.withdrawn)


def reported_fees(
    connection: Connection, chain_id: ChainId | None = None
) -> dict[RouteKey, tuple[int, datetime]]:
    """The latest canonical fee of every route that has one, in destination units, and its time; only of the
    routes from and to ``chain_id`` where it is given.
    """
    ends = ReportedFee.src_chain_id, ReportedFee.dst_chain_id
    rows = connection.execute(
        select(ReportedFee.symbol, *ends, ReportedFee.base_fee, ReportedFee.at).where(
            true() if chain_id is None else or_(*(end == chain_id for end in ends))
        )
    )
    return {RouteKey(symbol, ChainId(src), ChainId(dst)): (fee, at) for symbol, src, dst, fee, at in rows}
