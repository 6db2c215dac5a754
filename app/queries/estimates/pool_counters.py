"""What have events moved through each pool?"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, select

from app.domain.keys import PoolKey
from app.domain.pools import PoolCounters
from app.models.pools import PoolCounter

_COLUMNS = (PoolCounter.added, PoolCounter.sent, PoolCounter.relayed, PoolCounter.withdrawn)


def pool_counters(connection: Connection) -> dict[PoolKey, PoolCounters]:
    """The counters of every pool that events moved: as many rows as there are pools."""
    rows = connection.execute(select(PoolCounter.chain_id, PoolCounter.symbol, *_COLUMNS))
    return {PoolKey(row.chain_id, row.symbol): _counters(row) for row in rows}


def counters_of(connection: Connection, pool: PoolKey) -> PoolCounters:
    """The counters of one pool; all 0 where no event moved it."""
    of_pool = (PoolCounter.chain_id == pool.chain_id, PoolCounter.symbol == pool.symbol)
    row = connection.execute(select(*_COLUMNS).where(*of_pool)).one_or_none()
    return PoolCounters() if row is None else _counters(row)


def _counters(row: Row[*tuple[Any, ...]]) -> PoolCounters:
    return PoolCounters(row.added, row.sent, row.relayed, row.withdrawn)
