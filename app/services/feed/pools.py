"""Folding what the feed says about pools and fees."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import cast

from sqlalchemy import ColumnElement, Connection, delete, select

from app.domain.keys import ChainId, PoolKey
from app.domain.pools import PoolCounters
from app.domain.transfer.effects import SharedChange
from app.domain.transfer.events import EventType, FeeUpdated, LiquidityAdded, LiquidityWithdrawn
from app.domain.transfer.standing import Logged
from app.models import events as log
from app.models.pools import PoolCounter, ReportedFee
from app.models.upsert import upsert
from app.services.feed.codec import decode_event
from app.services.feed.log import load_chain_events, retracted_ids
from app.services.feed.projection import apply_shared

LIQUIDITY = (EventType.LIQUIDITY_ADDED, EventType.LIQUIDITY_WITHDRAWN)
Liquidity = LiquidityAdded | LiquidityWithdrawn

FeeKey = tuple[str, int, int]
"""Symbol, source and destination chain of a route."""


def fold_liquidity(connection: Connection, accepted: Iterable[Liquidity], now: datetime) -> None:
    """Add newly standing deposits and withdrawals of liquidity providers to the pools."""
    change = SharedChange()
    for event in accepted:
        change.counters[PoolKey(event.chain_id, event.symbol)] += _counted(event)
    apply_shared(connection, change, now)


def recount_liquidity(connection: Connection, chain_id: int, now: datetime) -> None:
    """Sum the chain's standing liquidity events anew."""
    sums: dict[str, PoolCounters] = defaultdict(PoolCounters)
    for event in cast("list[Liquidity]", load_chain_events(connection, chain_id, LIQUIDITY)):
        sums[event.symbol] += _counted(event)
    rows = connection.execute(select(PoolCounter.__table__).where(PoolCounter.chain_id == chain_id))
    counted = {row.symbol: PoolCounters(added=row.added, withdrawn=row.withdrawn) for row in rows}
    change = SharedChange()
    for symbol in counted.keys() | sums.keys():
        standing = sums.get(symbol, PoolCounters())
        change.counters[PoolKey(ChainId(chain_id), symbol)] = standing - counted.get(symbol, PoolCounters())
    apply_shared(connection, change, now)


def _counted(event: Liquidity) -> PoolCounters:
    if isinstance(event, LiquidityAdded):
        return PoolCounters(added=event.amount)
    return PoolCounters(withdrawn=event.amount)


def fold_fees(connection: Connection, accepted: Iterable[FeeUpdated]) -> None:
    """Let the latest fee of each route count."""
    latest: dict[FeeKey, FeeUpdated] = {}
    for event in accepted:
        known = latest.setdefault(fee_key(event), event)
        if known.order < event.order:
            latest[fee_key(event)] = event
    for key, event in latest.items():
        standing = connection.execute(
            select(ReportedFee.at, ReportedFee.event_id).where(*_of_route(key))
        ).first()
        if standing is None or (standing.at, standing.event_id) < event.order:
            _write_fee(connection, event)


def fold_fees_again(connection: Connection, routes: set[FeeKey] | None = None) -> None:
    """Find the latest standing fee of some routes (or all) anew, after fees were taken back."""
    rows = connection.execute(
        select(log.Event.seq, log.Event.event_id, log.Event.type, log.Event.body)
        .where(log.Event.chain_id.is_(None), log.Event.type == EventType.FEE_UPDATED.value)
        .order_by(log.Event.seq)
    )
    latest: dict[str, Logged[FeeUpdated]] = {}
    for row in rows:
        event = cast("FeeUpdated", decode_event(row.event_id, row.type, row.body))
        if routes is None or fee_key(event) in routes:
            latest[event.id] = Logged(row.seq, event)
    retracted = retracted_ids(connection, latest)
    for key in routes or ():
        connection.execute(delete(ReportedFee).where(*_of_route(key)))
    fold_fees(connection, (e.event for i, e in latest.items() if e.seq > retracted.get(i, 0)))


def fee_key(event: FeeUpdated) -> FeeKey:
    """The route that a fee is of."""
    return event.symbol, event.src_chain_id, event.dst_chain_id


def _of_route(key: FeeKey) -> tuple[ColumnElement[bool], ...]:
    symbol, src_chain_id, dst_chain_id = key
    return (
        ReportedFee.symbol == symbol,
        ReportedFee.src_chain_id == src_chain_id,
        ReportedFee.dst_chain_id == dst_chain_id,
    )


def _write_fee(connection: Connection, event: FeeUpdated) -> None:
    row = {
        "symbol": event.symbol,
        "src_chain_id": event.src_chain_id,
        "dst_chain_id": event.dst_chain_id,
        "base_fee": event.base_fee,
        "at": event.at,
        "event_id": event.id,
    }
    upsert(connection, ReportedFee, [row])
