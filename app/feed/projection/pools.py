"""Projects what is reported about pools and fees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, delete

from app.db.upserts import upsert
from app.estimates.models import ReportedFee
from app.feed.projection.shared import apply_shared
from app.feed.queries.pools import Part, canonical_liquidity, counting_fees, latest_fee, load_liquidity
from app.network.queries import load_configured_facts
from app.network.rules.pools import PoolCounters
from app.transfers.rules.events.event_types import FeeUpdated, LiquidityAdded, LiquidityWithdrawn
from app.transfers.rules.sums import SharedChange
from app.values.identifiers import ChainId, PoolKey, RouteKey

Liquidity = LiquidityAdded | LiquidityWithdrawn


def project_liquidity(connection: Connection, accepted: Iterable[Liquidity], now: datetime) -> None:
    change, facts = SharedChange(), load_configured_facts(connection)
    for event in accepted:
        symbol = facts.spelled(event.chain_id, event.symbol)
        is_added = isinstance(event, LiquidityAdded)
        counted = PoolCounters(added=event.amount) if is_added else PoolCounters(withdrawn=event.amount)
        change.counters[PoolKey(event.chain_id, symbol)] += counted
    apply_shared(connection, change, now)


def recount_liquidity(connection: Connection, chain_id: ChainId, now: datetime) -> None:
    before, after = (
        {PoolKey(chain_id, symbol): sums for symbol, sums in found.items()}
        for found in (load_liquidity(connection, chain_id), canonical_liquidity(connection, chain_id))
    )
    move_liquidity(connection, before, after, now)


def spell_again(connection: Connection, named: Iterable[PoolKey], now: datetime) -> None:
    """Sum the liquidity of chains again whose configuration now spells the symbol of some of it differently.

    :param named: tokens that were added to the configuration, altered or removed.
    """
    symbols = {key.in_any_case for key in named}
    for chain_id in sorted({key.chain_id for key in symbols}):
        counted = (symbol for symbol, sums in load_liquidity(connection, chain_id).items() if sums)
        keys = [
            key for key in (PoolKey(chain_id, symbol) for symbol in counted) if key.in_any_case in symbols
        ]
        spellings = load_configured_facts(connection).spellings if keys else {}
        if any(spellings.get(key.in_any_case) != key.symbol for key in keys):
            recount_liquidity(connection, chain_id, now)


def take_back_liquidity(
    connection: Connection, chain_id: ChainId, from_block: int, before: int, now: datetime
) -> None:
    """Subtract what was canonical before this position of the log in this block of the chain and above."""
    move_liquidity(connection, sums_of_parts(connection, {chain_id: Part(from_block)}, before), {}, now)


Sums = Mapping[PoolKey, PoolCounters]


def sums_of_parts(
    connection: Connection, parts: Mapping[ChainId, Part], before: int | None = None
) -> dict[PoolKey, PoolCounters]:
    """The canonical sums of parts of the chains' logs, as :func:`canonical_liquidity` sums it."""
    return {
        PoolKey(chain_id, symbol): sums
        for chain_id, part in parts.items()
        for symbol, sums in canonical_liquidity(connection, chain_id, part, before).items()
    }


def move_liquidity(connection: Connection, before: Sums, after: Sums, now: datetime) -> None:
    change = SharedChange()
    for pool in before.keys() | after.keys():
        change.counters[pool] = after.get(pool, PoolCounters()) - before.get(pool, PoolCounters())
    apply_shared(connection, change, now)


def project_fees(connection: Connection, accepted: Iterable[FeeUpdated]) -> None:
    latest: dict[RouteKey, FeeUpdated] = {}
    for event in accepted:
        known = latest.setdefault(event.route_key, event)
        if known.order < event.order:
            latest[event.route_key] = event
    counting = counting_fees(connection, latest) if latest else {}
    newer = [event for key, event in latest.items() if key not in counting or counting[key] < event.order]
    upsert(connection, ReportedFee, [fee_row(event) for event in newer])


def project_fees_again(connection: Connection, routes: Iterable[RouteKey]) -> None:
    """Find the latest canonical fee of some routes again, after fees were retracted."""
    for key in sorted(routes):
        fee = latest_fee(connection, key)
        if fee is None:
            connection.execute(delete(ReportedFee).where(*_of_route(key)))
        else:
            upsert(connection, ReportedFee, [fee_row(fee)])


def _of_route(key: RouteKey) -> tuple[ColumnElement[bool], ...]:
    symbol, src_chain_id, dst_chain_id = key
    return (
        ReportedFee.symbol == symbol,
        ReportedFee.src_chain_id == src_chain_id,
        ReportedFee.dst_chain_id == dst_chain_id,
    )


def fee_row(event: FeeUpdated) -> dict[str, object]:
    return {
        "symbol": event.symbol,
        "src_chain_id": event.src_chain_id,
        "dst_chain_id": event.dst_chain_id,
        "base_fee": event.base_fee,
        "at": event.at,
        "event_id": event.id,
    }
