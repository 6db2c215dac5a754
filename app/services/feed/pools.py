"""Folding what the feed says about pools and fees."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import cast

from sqlalchemy import ColumnElement, Connection, delete

from app.domain.transfer.effects import CounterChange, FeeKey, SharedChange, fee_key
from app.domain.transfer.events import EventType, FeeUpdated, LiquidityAdded, LiquidityWithdrawn
from app.models.pools import ReportedFee
from app.models.upsert import upsert
from app.queries.feed.fees import counting_fees, standing_fees
from app.queries.feed.pools import load_liquidity
from app.queries.feed.standing import load_chain_events
from app.services.feed.sums import apply_shared

LIQUIDITY = (EventType.LIQUIDITY_ADDED, EventType.LIQUIDITY_WITHDRAWN)
Liquidity = LiquidityAdded | LiquidityWithdrawn


def fold_liquidity(connection: Connection, accepted: Iterable[Liquidity], now: datetime) -> None:
    """Add newly standing deposits and withdrawals of liquidity providers to the pools."""
    change = SharedChange()
    for event in accepted:
        _count(change.counters[event.chain_id, event.symbol], event)
    apply_shared(connection, change, now)


def recount_liquidity(connection: Connection, chain_id: int, now: datetime) -> None:
    """Sum the chain's standing liquidity events anew."""
    sums: dict[str, CounterChange] = {}
    for event in cast("list[Liquidity]", load_chain_events(connection, chain_id, LIQUIDITY)):
        _count(sums.setdefault(event.symbol, CounterChange()), event)
    counted = load_liquidity(connection, chain_id)
    change = SharedChange()
    for symbol in counted.keys() | sums.keys():
        standing = sums.get(symbol, CounterChange())
        added, withdrawn = counted.get(symbol, (0, 0))
        moved = change.counters[chain_id, symbol]
        moved.added, moved.withdrawn = standing.added - added, standing.withdrawn - withdrawn
    apply_shared(connection, change, now)


def _count(counter: CounterChange, event: Liquidity) -> None:
    if isinstance(event, LiquidityAdded):
        counter.added += event.amount
    else:
        counter.withdrawn += event.amount


def fold_fees(connection: Connection, accepted: Iterable[FeeUpdated]) -> None:
    """Let the latest fee of each route count."""
    latest: dict[FeeKey, FeeUpdated] = {}
    for event in accepted:
        known = latest.setdefault(fee_key(event), event)
        if known.order < event.order:
            latest[fee_key(event)] = event
    counting = counting_fees(connection, latest) if latest else {}
    newer = [event for key, event in latest.items() if key not in counting or counting[key] < event.order]
    upsert(connection, ReportedFee, [_fee_row(event) for event in newer])


def fold_fees_again(connection: Connection, routes: set[FeeKey] | None = None) -> None:
    """Find the latest standing fee of some routes (or all) anew, after fees were retracted."""
    standing = standing_fees(connection, routes)
    for key in routes or ():
        connection.execute(delete(ReportedFee).where(*_of_route(key)))
    fold_fees(connection, standing)


def _of_route(key: FeeKey) -> tuple[ColumnElement[bool], ...]:
    symbol, src_chain_id, dst_chain_id = key
    return (
        ReportedFee.symbol == symbol,
        ReportedFee.src_chain_id == src_chain_id,
        ReportedFee.dst_chain_id == dst_chain_id,
    )


def _fee_row(event: FeeUpdated) -> dict[str, object]:
    return {
        "symbol": event.symbol,
        "src_chain_id": event.src_chain_id,
        "dst_chain_id": event.dst_chain_id,
        "base_fee": event.base_fee,
        "at": event.at,
        "event_id": event.id,
    }
