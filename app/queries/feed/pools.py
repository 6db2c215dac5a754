"""What have transfers and liquidity providers moved through the pools, and when?"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TypeVar

from sqlalchemy import Connection, outerjoin, select, tuple_

from app.domain.keys import ChainId, PoolKey
from app.domain.pools import PoolCounters
from app.domain.transfer.effects import VolumeKey
from app.models.network import Pool
from app.models.pools import PoolCounter, PoolVolume

CHUNK = 500
"""Keys named in one statement."""

K = TypeVar("K")

_REPORTED = (PoolCounter.added, PoolCounter.sent, PoolCounter.relayed, PoolCounter.withdrawn)
_OPENING = (Pool.liquidity_added, Pool.liquidity_sent, Pool.liquidity_relayed, Pool.liquidity_withdrawn)


def load_counters(connection: Connection, pools: Collection[PoolKey]) -> dict[PoolKey, PoolCounters]:
    """What events moved through those of the pools that they moved anything through."""
    statement = select(PoolCounter.chain_id, PoolCounter.symbol, *_REPORTED)
    found: dict[PoolKey, PoolCounters] = {}
    for keys in _chunks(pools):
        of_pools = tuple_(PoolCounter.chain_id, PoolCounter.symbol).in_(keys)
        for chain_id, symbol, *counters in connection.execute(statement.where(of_pools)):
            found[PoolKey(ChainId(chain_id), symbol)] = PoolCounters(*counters)
    return found


def load_pools_now(connection: Connection, pools: Collection[PoolKey]) -> dict[PoolKey, PoolCounters]:
    """The counters of those pools that are configured: opening values and what events moved since."""
    of_pool = (PoolCounter.chain_id == Pool.chain_id) & (PoolCounter.symbol == Pool.symbol)
    statement = select(Pool.chain_id, Pool.symbol, *_OPENING, *_REPORTED).select_from(
        outerjoin(Pool, PoolCounter, of_pool)
    )
    found: dict[PoolKey, PoolCounters] = {}
    for keys in _chunks(pools):
        for chain_id, symbol, *counters in connection.execute(
            statement.where(tuple_(Pool.chain_id, Pool.symbol).in_(keys))
        ):
            opening, reported = counters[:4], (value or 0 for value in counters[4:])
            found[PoolKey(ChainId(chain_id), symbol)] = PoolCounters(*opening) + PoolCounters(*reported)
    return found


def load_liquidity(connection: Connection, chain_id: ChainId) -> dict[str, PoolCounters]:
    """What providers added to each pool of a chain and withdrew from it, by symbol."""
    columns = (PoolCounter.symbol, PoolCounter.added, PoolCounter.withdrawn)
    rows = connection.execute(select(*columns).where(PoolCounter.chain_id == chain_id))
    return {row.symbol: PoolCounters(added=row.added, withdrawn=row.withdrawn) for row in rows}


def load_volumes(connection: Connection, minutes: Collection[VolumeKey]) -> dict[VolumeKey, int]:
    """The volumes of pools by the minute, of those minutes that have any."""
    key = (PoolVolume.chain_id, PoolVolume.symbol, PoolVolume.minute)
    found: dict[VolumeKey, int] = {}
    for keys in _chunks(minutes):
        rows = connection.execute(select(*key, PoolVolume.amount).where(tuple_(*key).in_(keys)))
        found |= {(ChainId(row.chain_id), row.symbol, row.minute): row.amount for row in rows}
    return found


def _chunks(keys: Collection[K]) -> Iterator[list[K]]:
    ordered = list(keys)
    return (ordered[start : start + CHUNK] for start in range(0, len(ordered), CHUNK))
