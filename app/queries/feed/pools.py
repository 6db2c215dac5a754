"""What have transfers and liquidity providers moved through the pools, and when?"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Connection, Row, outerjoin, select, tuple_

from app.domain.transfer.effects import PoolKey, VolumeKey
from app.models.network import Pool
from app.models.pools import PoolCounter, PoolVolume

CHUNK = 500
"""Keys named in one statement."""

K = TypeVar("K")

PoolRow = Row[*tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class PoolLiquidity:
    """What a configured pool holds and can pay out, in smallest units. Each may be under zero."""

    balance: int
    inbound_limit: int


def load_counters(connection: Connection, pools: Collection[PoolKey]) -> dict[PoolKey, PoolRow]:
    """The counters of those pools that have any; columns ``added, sent, relayed, withdrawn``."""
    found: dict[PoolKey, PoolRow] = {}
    for keys in _chunks(pools):
        of_pools = tuple_(PoolCounter.chain_id, PoolCounter.symbol).in_(keys)
        rows = connection.execute(select(PoolCounter.__table__).where(of_pools))
        found |= {(row.chain_id, row.symbol): row for row in rows}
    return found


def load_pool_liquidity(connection: Connection, pools: Collection[PoolKey]) -> dict[PoolKey, PoolLiquidity]:
    """What those of the pools hold that are configured: opening values and everything reported since."""
    of_pool = (PoolCounter.chain_id == Pool.chain_id) & (PoolCounter.symbol == Pool.symbol)
    columns = (
        Pool.chain_id, Pool.symbol,
        Pool.liquidity_added, Pool.liquidity_sent, Pool.liquidity_relayed, Pool.liquidity_withdrawn,
        PoolCounter.added, PoolCounter.sent, PoolCounter.relayed, PoolCounter.withdrawn,
    )  # fmt: skip
    statement = select(*columns).select_from(outerjoin(Pool, PoolCounter, of_pool))
    found: dict[PoolKey, PoolLiquidity] = {}
    for keys in _chunks(pools):
        for row in connection.execute(statement.where(tuple_(Pool.chain_id, Pool.symbol).in_(keys))):
            added = row.liquidity_added + (row.added or 0)
            relayed = row.liquidity_relayed + (row.relayed or 0)
            inbound_limit = added - relayed - row.liquidity_withdrawn - (row.withdrawn or 0)
            balance = inbound_limit + row.liquidity_sent + (row.sent or 0)
            found[row.chain_id, row.symbol] = PoolLiquidity(balance, inbound_limit)
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
