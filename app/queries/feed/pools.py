"""What have transfers and liquidity providers moved through the pools, and when?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Text,
    and_,
    case,
    cast,
    exists,
    func,
    or_,
    outerjoin,
    select,
)
from sqlalchemy.dialects.postgresql import JSON
from sqlalchemy.orm import aliased

from app.domain.keys import ChainId, PoolKey
from app.domain.pools import PoolCounters
from app.domain.transfer.effects import VolumeKey
from app.domain.transfer.events import EventType
from app.models.choice import is_one_of
from app.models.events import Event
from app.models.network import Pool
from app.models.pools import PoolCounter, PoolVolume
from app.models.types import ExactInteger, exact_sum
from app.queries.feed.standing import IS_NOT_RETRACTED

CHUNK = 500
"""Minutes named in one statement."""

LIQUIDITY = (EventType.LIQUIDITY_ADDED, EventType.LIQUIDITY_WITHDRAWN)

_TYPES = tuple(each.value for each in LIQUIDITY)
_REORG = EventType.CHAIN_REORGED.value

_REPORTED = (PoolCounter.added, PoolCounter.sent, PoolCounter.relayed, PoolCounter.withdrawn)
_OPENING = (Pool.liquidity_added, Pool.liquidity_sent, Pool.liquidity_relayed, Pool.liquidity_withdrawn)


def load_counters(connection: Connection, pools: Collection[PoolKey]) -> dict[PoolKey, PoolCounters]:
    """What events moved through those of the pools that they moved anything through."""
    of_chains = is_one_of(connection, PoolCounter.chain_id, {pool.chain_id for pool in pools})
    rows = connection.execute(select(PoolCounter.chain_id, PoolCounter.symbol, *_REPORTED).where(of_chains))
    found = {PoolKey(row[0], row[1]): PoolCounters(*row[2:]) for row in rows}
    return {pool: found[pool] for pool in pools if pool in found}


def load_pools_now(connection: Connection, pools: Collection[PoolKey]) -> dict[PoolKey, PoolCounters]:
    """The counters of those pools that are configured: opening values and what events moved since."""
    of_pool = (PoolCounter.chain_id == Pool.chain_id) & (PoolCounter.symbol == Pool.symbol)
    of_chains = is_one_of(connection, Pool.chain_id, {pool.chain_id for pool in pools})
    rows = connection.execute(
        select(Pool.chain_id, Pool.symbol, *_OPENING, *_REPORTED)
        .select_from(outerjoin(Pool, PoolCounter, of_pool))
        .where(of_chains)
    )
    found = {
        PoolKey(row[0], row[1]): PoolCounters(*row[2:6]) + PoolCounters(*(value or 0 for value in row[6:]))
        for row in rows
    }
    return {pool: found[pool] for pool in pools if pool in found}


def load_liquidity(connection: Connection, chain_id: ChainId) -> dict[str, PoolCounters]:
    """What providers added to each pool of a chain and withdrew from it, by symbol."""
    columns = (PoolCounter.symbol, PoolCounter.added, PoolCounter.withdrawn)
    rows = connection.execute(select(*columns).where(PoolCounter.chain_id == chain_id))
    return {row.symbol: PoolCounters(added=row.added, withdrawn=row.withdrawn) for row in rows}


def standing_liquidity(connection: Connection, chain_id: ChainId) -> dict[str, PoolCounters]:
    """The sums of a chain's standing deposits and withdrawals, by symbol.

    The database adds them up, in one walk from the end of the log: on the way it knows the lowest block that
    any later reorg reaches. Neither the log nor the reorgs are held in this process.
    """
    later = aliased(Event)
    told_again = exists().where(
        later.event_id == Event.event_id,
        later.subject == Event.subject,
        later.seq > Event.seq,
        later.type.in_(_TYPES),
    )
    is_reorg = Event.type == _REORG
    walked = (
        select(
            Event.type,
            Event.block,
            case((is_reorg, None), else_=_of_body(connection, "symbol")).label("symbol"),
            case((is_reorg, None), else_=_of_body(connection, "amount")).label("amount"),
            func.min(case((is_reorg, Event.block))).over(order_by=Event.seq.desc()).label("reached_from"),
        )
        .where(Event.chain_id == chain_id, Event.type.in_((*_TYPES, _REORG)), IS_NOT_RETRACTED)
        .where(or_(is_reorg, ~told_again))
        .subquery()
    )
    told = walked.c
    stands = or_(told.block.is_(None), told.reached_from.is_(None), told.block < told.reached_from)
    rows = connection.execute(
        select(told.type, told.symbol, exact_sum(cast(told.amount, ExactInteger)))
        .where(and_(told.type.in_(_TYPES), stands))
        .group_by(told.type, told.symbol)
    )
    sums: dict[str, PoolCounters] = defaultdict(PoolCounters)
    for kind, symbol, amount in rows:
        added = kind == EventType.LIQUIDITY_ADDED.value
        sums[symbol] += PoolCounters(added=amount) if added else PoolCounters(withdrawn=amount)
    return sums


def load_volumes(connection: Connection, minutes: Collection[VolumeKey]) -> dict[VolumeKey, int]:
    """The volumes of pools by the minute, of those minutes that have any.

    A statement a pool, so that both databases find the minutes by the primary key.
    """
    of_pools: dict[PoolKey, list[int]] = defaultdict(list)
    for chain_id, symbol, minute in minutes:
        of_pools[PoolKey(chain_id, symbol)].append(minute)
    found: dict[VolumeKey, int] = {}
    for (chain_id, symbol), asked in of_pools.items():
        of_pool = (PoolVolume.chain_id == chain_id, PoolVolume.symbol == symbol)
        for start in range(0, len(asked), CHUNK):
            chunk = is_one_of(connection, PoolVolume.minute, asked[start : start + CHUNK])
            rows = connection.execute(select(PoolVolume.minute, PoolVolume.amount).where(*of_pool, chunk))
            found |= {(chain_id, symbol, row.minute): row.amount for row in rows}
    return found


def _of_body(connection: Connection, name: str) -> ColumnElement[Any]:
    """A text of the event's body."""
    if connection.dialect.name == "postgresql":
        return func.json_extract_path_text(cast(Event.body, JSON), name, type_=Text)
    return func.json_extract(Event.body, f"$.{name}", type_=Text)
