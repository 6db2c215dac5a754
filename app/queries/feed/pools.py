"""What have transfers and liquidity providers moved through the pools, and when?"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, TypeVar

from sqlalchemy import Connection, Row, select, tuple_

from app.domain.transfer.effects import PoolKey, VolumeKey
from app.models.network import Pool
from app.models.pools import PoolCounter, PoolVolume

CHUNK = 500
"""Keys named in one statement."""

K = TypeVar("K")

PoolRow = Row[*tuple[Any, ...]]


def load_counters(connection: Connection, pools: Collection[PoolKey]) -> dict[PoolKey, PoolRow]:
    """The counters of those pools that have any; columns ``added, sent, relayed, withdrawn``."""
    return _rows_of_pools(connection, PoolCounter, pools)


def load_openings(connection: Connection, pools: Collection[PoolKey]) -> dict[PoolKey, PoolRow]:
    """The configured rows of those pools that are configured, opening counters included."""
    return _rows_of_pools(connection, Pool, pools)


def _rows_of_pools(
    connection: Connection, model: type[Pool | PoolCounter], pools: Collection[PoolKey]
) -> dict[PoolKey, PoolRow]:
    found: dict[PoolKey, PoolRow] = {}
    for keys in _chunks(pools):
        of_pools = tuple_(model.chain_id, model.symbol).in_(keys)
        rows = connection.execute(select(model.__table__).where(of_pools))
        found |= {(row.chain_id, row.symbol): row for row in rows}
    return found


def load_liquidity(connection: Connection, chain_id: int) -> dict[str, tuple[int, int]]:
    """What was added to and withdrawn from each pool of a chain, by symbol."""
    columns = (PoolCounter.symbol, PoolCounter.added, PoolCounter.withdrawn)
    rows = connection.execute(select(*columns).where(PoolCounter.chain_id == chain_id))
    return {row.symbol: (row.added, row.withdrawn) for row in rows}


def load_volumes(connection: Connection, minutes: Collection[VolumeKey]) -> dict[VolumeKey, int]:
    """The volumes of pools by the minute, of those minutes that have any."""
    key = (PoolVolume.chain_id, PoolVolume.symbol, PoolVolume.minute)
    found: dict[VolumeKey, int] = {}
    for keys in _chunks(minutes):
        rows = connection.execute(select(*key, PoolVolume.amount).where(tuple_(*key).in_(keys)))
        found |= {(row.chain_id, row.symbol, row.minute): row.amount for row in rows}
    return found


def _chunks(keys: Collection[K]) -> Iterator[list[K]]:
    ordered = list(keys)
    return (ordered[start : start + CHUNK] for start in range(0, len(ordered), CHUNK))
