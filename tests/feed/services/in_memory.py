"""What stands, worked out in memory from whole logs: what the databases must answer, too."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection
from typing import cast

from sqlalchemy import Connection, select

from app.feed.queries.pools import LIQUIDITY
from app.network.rules.pools import PoolCounters
from app.transfers.models import Event
from app.transfers.queries.logged import retracted_keys
from app.transfers.rules.events.codec import decode_event
from app.transfers.rules.events.counting import Logged
from app.transfers.rules.events.event_types import ChainReorged, LiquidityAdded, LiquidityWithdrawn
from app.transfers.rules.events.keys import EventKey, subject_of_chain
from app.transfers.rules.events.reorganisations import Reorg
from app.values.identifiers import ChainId


def every_reorg(connection: Connection, chain_ids: Collection[int], after_seq: int) -> list[Reorg]:
    """Every standing reorg of the chains that was accepted after a position in the log."""
    rows = connection.execute(
        select(Event.seq, Event.event_id, Event.chain_id, Event.block, Event.body)
        .where(Event.type == ChainReorged.type)
        .where(Event.chain_id.in_(chain_ids))
        .order_by(Event.seq)
    ).all()
    keys = [EventKey(subject_of_chain(row.chain_id), row.event_id) for row in rows]
    retracted = retracted_keys(connection, dict.fromkeys(keys))
    first: dict[EventKey, int] = {}
    found: list[Reorg] = []
    for key, row in zip(keys, rows, strict=True):
        if row.seq <= retracted.get(key, 0):
            continue
        if row.block is not None:
            found.append(Reorg(row.seq, row.chain_id, row.block))
            first.setdefault(key, row.seq)
        else:
            from_block = json.loads(row.body)["from_block"]
            found.append(Reorg(row.seq, row.chain_id, from_block, first.get(key, 0)))
    return [reorg for reorg in found if reorg.seq > after_seq]


def liquidity(connection: Connection, chain_id: ChainId) -> dict[str, PoolCounters]:
    """The sums of the chain's standing liquidity events, by symbol."""
    rows = connection.execute(
        select(Event.seq, Event.event_id, Event.type, Event.body)
        .where(Event.chain_id == chain_id, Event.type.in_(LIQUIDITY))
        .order_by(Event.seq)
    )
    first: dict[str, int] = {}
    latest: dict[str, Logged[LiquidityAdded | LiquidityWithdrawn]] = {}
    for row in rows:
        event = cast("LiquidityAdded | LiquidityWithdrawn", decode_event(row.event_id, row.type, row.body))
        first.setdefault(event.id, row.seq)
        latest[event.id] = Logged(row.seq, event, first=first[event.id])
    reorgs = every_reorg(connection, {chain_id}, 0)
    retracted = retracted_keys(connection, [logged.event.key for logged in latest.values()])
    sums: dict[str, PoolCounters] = defaultdict(PoolCounters)
    for logged in latest.values():
        event, is_retracted = logged.event, logged.seq <= retracted.get(logged.event.key, 0)
        if is_retracted or any(r.reaches(chain_id, event.block, logged) for r in reorgs):
            continue
        added = isinstance(event, LiquidityAdded)
        counted = PoolCounters(added=event.amount) if added else PoolCounters(withdrawn=event.amount)
        sums[event.symbol] += counted
    return sums
