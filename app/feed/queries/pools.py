"""Reads the amounts that moved through the pools, and the reported base fees."""

from __future__ import annotations

import typing
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import (
    ColumnElement,
    Connection,
    Exists,
    Row,
    Select,
    Subquery,
    Text,
    and_,
    bindparam,
    case,
    cast,
    exists,
    func,
    null,
    or_,
    outerjoin,
    select,
    text,
    true,
    tuple_,
    union_all,
)
from sqlalchemy.orm import aliased

from app.db.types import ExactInteger, RowsOf, exact_sum, is_one_of
from app.estimates.models import PoolCounter, PoolVolume, ReportedFee
from app.feed.queries.chains import accepted_of_chain, canonical_of_chain
from app.network.models import Pool
from app.network.queries import load_configured_facts
from app.network.rules.pools import PoolCounters
from app.network.rules.validation_facts import NetworkFacts
from app.transfers.models import Event
from app.transfers.queries.logged import (
    IS_NOT_AHEAD,
    IS_NOT_RETRACTED,
    IS_REORG,
    of_body,
    with_keys,
)
from app.transfers.rules.events.codec import decode_event
from app.transfers.rules.events.event_types import (
    ChainReorged,
    FeeUpdated,
    LiquidityAdded,
    LiquidityWithdrawn,
)
from app.transfers.rules.events.keys import EventKey, route_of_subject, subject_of_chain, subject_of_route
from app.transfers.rules.sums import VolumeKey
from app.values.identifiers import ChainId, PoolKey, RouteKey

CHUNK = 500  # minutes named in one statement

LIQUIDITY = (LiquidityAdded.type, LiquidityWithdrawn.type)

_REORG = ChainReorged.type

_REPORTED = (PoolCounter.added, PoolCounter.sent, PoolCounter.relayed, PoolCounter.withdrawn)
_OPENING = (Pool.liquidity_added, Pool.liquidity_sent, Pool.liquidity_relayed, Pool.liquidity_withdrawn)

_COUNTERS: Final = RowsOf(
    select(PoolCounter.chain_id, PoolCounter.symbol, *_REPORTED), chain_ids=PoolCounter.chain_id
)
_OF_POOL: Final = (PoolCounter.chain_id == Pool.chain_id) & (PoolCounter.symbol == Pool.symbol)
_POOLS_NOW: Final = RowsOf(
    select(Pool.chain_id, Pool.symbol, *_OPENING, *_REPORTED).select_from(
        outerjoin(Pool, PoolCounter, _OF_POOL)
    ),
    chain_ids=Pool.chain_id,
)
_VOLUMES: Final = RowsOf(
    select(PoolVolume.minute, PoolVolume.amount).where(
        PoolVolume.chain_id == bindparam("chain_id"), PoolVolume.symbol == bindparam("symbol")
    ),
    minutes=PoolVolume.minute,
)


def load_counters(connection: Connection, pools: Collection[PoolKey]) -> dict[PoolKey, PoolCounters]:
    """The counters of the pools that events moved. Other pools are left out."""
    rows = _COUNTERS(connection, chain_ids={pool.chain_id for pool in pools})
    found = {PoolKey(row[0], row[1]): PoolCounters(*row[2:]) for row in rows}
    return {pool: found[pool] for pool in pools if pool in found}


def load_pools_now(connection: Connection, pools: Collection[PoolKey]) -> dict[PoolKey, PoolCounters]:
    """The configured pools among these: opening values and what events moved since."""
    rows = _POOLS_NOW(connection, chain_ids={pool.chain_id for pool in pools})
    found = {
        PoolKey(row[0], row[1]): PoolCounters(*row[2:6]) + PoolCounters(*(value or 0 for value in row[6:]))
        for row in rows
    }
    return {pool: found[pool] for pool in pools if pool in found}


def load_liquidity(connection: Connection, chain_id: ChainId) -> dict[str, PoolCounters]:
    """The stored sums that providers added to the chain's pools and withdrew from them, by symbol."""
    columns = (PoolCounter.symbol, PoolCounter.added, PoolCounter.withdrawn)
    rows = connection.execute(select(*columns).where(PoolCounter.chain_id == chain_id))
    return {row.symbol: PoolCounters(added=row.added, withdrawn=row.withdrawn) for row in rows}


class Part(Struct, frozen=True):
    """A part of a chain's liquidity events: those that one change may make canonical, or no longer so.

    :param from_block: all in this block and above; None: none by their block.
    :param ids: in addition, the events of these ids.
    """

    from_block: int | None = None
    ids: Collection[str] = ()


def canonical_liquidity(
    connection: Connection, chain_id: ChainId, part: Part | None = None, before: int | None = None
) -> dict[str, PoolCounters]:
    """The sums of a chain's canonical deposits and withdrawals, by the symbol as it is configured.

    :param part: only these events are read and summed.
    :param before: the sums as they were before this position of the log.
    """
    conditions = [true()] if part is None else conditions_of(connection, chain_id, part)
    rows = [
        row for each in conditions for row in connection.execute(_sums(connection, chain_id, each, before))
    ]
    sums: dict[str, PoolCounters] = defaultdict(PoolCounters)
    facts = load_configured_facts(connection) if rows else NetworkFacts()
    for row in rows:
        added = row.type == LiquidityAdded.type
        moved = PoolCounters(added=row.amount) if added else PoolCounters(withdrawn=row.amount)
        sums[facts.spelled(chain_id, row.symbol)] += moved
    return sums


def conditions_of(connection: Connection, chain_id: ChainId, part: Part) -> Iterator[ColumnElement[bool]]:
    """Conditions for the events of the part. Each event meets exactly one of them."""
    lower: ColumnElement[bool] = true()
    if part.from_block is not None:
        yield Event.block >= part.from_block
        lower = or_(Event.block.is_(None), Event.block < part.from_block)
    keys = (EventKey(subject_of_chain(chain_id), each) for each in part.ids)
    for of_keys in with_keys(connection, Event.event_id, Event.subject, keys):
        yield and_(of_keys, lower)


def _sums(
    connection: Connection, chain_id: ChainId, condition: ColumnElement[bool], before: int | None
) -> Select[Any]:
    """The sums of the chain's canonical liquidity events that meet a condition, by type and symbol.

    The database sums them in one pass from the end of the log, with the lowest block that any later reorg
    reaches. This process holds neither the log nor the reorgs. Reorgs from before the first of the events
    reach none of them and are left out. What was accepted again, which is little, is compared here.
    """
    if taken := _taken_again(connection, chain_id, condition, before):
        condition = condition & Event.seq.not_in(taken)
    walked = _walked(connection, chain_id, condition, before)
    from_block = case((walked.c.type == _REORG, walked.c.block))
    reached_from = func.min(from_block).over(order_by=walked.c.seq.desc()).label("reached_from")
    last = select(walked, reached_from).subquery().c
    canonical = or_(last.block.is_(None), last.reached_from.is_(None), last.block < last.reached_from)
    return (
        select(last.type, last.symbol, exact_sum(cast(last.amount, ExactInteger)).label("amount"))
        .where(last.type.in_(LIQUIDITY), canonical)
        .group_by(last.type, last.symbol)
    )


def _taken_again(
    connection: Connection, chain_id: ChainId, condition: ColumnElement[bool], before: int | None
) -> Collection[int]:
    """The positions of liquidity events that meet a condition, were accepted again, and are not canonical."""
    is_again = and_(condition, Event.occurrence > 0, _so_far(before), ~_reported_again(before))
    again = accepted_of_chain(connection, chain_id, LIQUIDITY, is_again)
    canonical = canonical_of_chain(connection, chain_id, again, before)
    return {each.seq for each in again}.difference(each.seq for each in canonical)


def _walked(
    connection: Connection, chain_id: ChainId, condition: ColumnElement[bool], before: int | None
) -> Subquery:
    """The liquidity events that meet a condition, as reported last, and the reorgs that may reach them."""
    of_chain = Event.chain_id == chain_id
    so_far = _so_far(before)
    symbol, amount = of_body(connection, "symbol"), of_body(connection, "amount")
    liquidity = (
        select(Event.type, Event.block, Event.seq, symbol.label("symbol"), amount.label("amount"))
        .where(
            of_chain,
            Event.type.in_(LIQUIDITY),
            condition,
            so_far,
            IS_NOT_RETRACTED,
            IS_NOT_AHEAD,
            ~_reported_again(before),
        )
        .cte()
    )
    nothing = [cast(null(), Text).label(name) for name in ("symbol", "amount")]
    reorgs = select(Event.type, Event.block, Event.seq, *nothing).where(
        of_chain,
        IS_REORG,
        Event.seq > select(func.min(liquidity.c.seq)).scalar_subquery(),
        so_far,
        IS_NOT_RETRACTED,
    )
    return union_all(select(liquidity), reorgs).subquery()


def _so_far(before: int | None) -> ColumnElement[bool]:
    # An expression that no index has, so that SQLite finds the events by their block.
    return true() if before is None else Event.seq + 0 < before


def _reported_again(before: int | None) -> Exists:
    """Whether the log has the same liquidity event again, later and before this position."""
    later = aliased(Event)
    return exists().where(
        later.event_id == Event.event_id,
        later.subject == Event.subject,
        later.seq > Event.seq,
        later.type.in_(LIQUIDITY),
        true() if before is None else later.seq < before,
    )


def load_volumes(connection: Connection, minutes: Collection[VolumeKey]) -> dict[VolumeKey, int]:
    """The volumes of pools by the minute. Minutes without any are left out.

    There is one statement for each pool, so that both databases find the minutes by the primary key.
    """
    of_pools: dict[PoolKey, list[int]] = defaultdict(list)
    for chain_id, symbol, minute in minutes:
        of_pools[PoolKey(chain_id, symbol)].append(minute)
    found: dict[VolumeKey, int] = {}
    for (chain_id, symbol), wanted in of_pools.items():
        for start in range(0, len(wanted), CHUNK):
            chunk = wanted[start : start + CHUNK]
            rows = _VOLUMES(connection, chain_id=chain_id, symbol=symbol, minutes=chunk)
            found |= {(chain_id, symbol, row.minute): row.amount for row in rows}
    return found


IS_FEE: Final = text("type = 'fee.updated'")  # spelled like the partial index, so that it serves


def counting_fees(connection: Connection, routes: Iterable[RouteKey]) -> dict[RouteKey, tuple[datetime, str]]:
    """Time and id of the event whose fee counts, for each of the routes that has one."""
    route = (ReportedFee.symbol, ReportedFee.src_chain_id, ReportedFee.dst_chain_id)
    rows = connection.execute(
        select(*route, ReportedFee.at, ReportedFee.event_id).where(tuple_(*route).in_(list(routes)))
    )
    return {
        RouteKey(row.symbol, ChainId(row.src_chain_id), ChainId(row.dst_chain_id)): (row.at, row.event_id)
        for row in rows
    }


def latest_fee(connection: Connection, route: RouteKey) -> FeeUpdated | None:
    """The latest canonical fee event of a route. One index read, however many were reported."""
    counts = (IS_FEE, Event.subject == subject_of_route(route), IS_NOT_AHEAD, IS_NOT_RETRACTED)
    newest = connection.scalar(select(Event.at).where(*counts).order_by(Event.at.desc()).limit(1))
    if newest is None:
        return None
    # The database may sort ids in another order than the rule.
    rows = connection.execute(
        select(Event.event_id, Event.type, Event.body).where(*counts, Event.at == newest)
    )
    events = (typing.cast("FeeUpdated", decode_event(row.event_id, row.type, row.body)) for row in rows)
    return max(events, key=lambda event: event.order)


def old_fees(connection: Connection, before: datetime) -> Sequence[int]:
    """Positions in the log of the fees whose time is before this one."""
    return connection.scalars(select(Event.seq).where(IS_FEE, Event.at < before)).all()


def outranked_fees(connection: Connection, positions: Collection[int]) -> list[Row[*tuple[Any, ...]]]:
    """The entries at these positions that are older than the fee that counts for their route."""
    rows = connection.execute(
        select(Event.__table__).where(is_one_of(connection, Event.seq, positions)).order_by(Event.seq)
    ).all()
    routes = {row.subject: route_of_subject(row.subject) for row in rows}
    counting = counting_fees(connection, routes.values()) if routes else {}
    return [row for row in rows if (fee := counting.get(routes[row.subject])) and row.at < fee[0]]


def routes_with_fees(connection: Connection) -> set[RouteKey]:
    return set(map(route_of_subject, connection.scalars(select(Event.subject).where(IS_FEE).distinct())))
