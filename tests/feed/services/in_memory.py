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
from app.transfers.rules.events.canonical import Reorg
from app.transfers.rules.events.codec import decode_event
from app.transfers.rules.events.counting import Logged
from app.transfers.rules.events.event_types import ChainReorged, LiquidityAdded, LiquidityWithdrawn
from app.transfers.rules.events.keys import EventKey, subject_of_chain
from app.values.identifiers import ChainId


def every_reorg(connection: Connection, chain_ids: Collection[int], after_seq: int) -> list[Reorg]:
    """Every standing reorg of the chains that was accepted after a position in the log.

    Belated ones know what of the whole log they may take back.
    """
    rows = connection.execute(
        select(Event.seq, Event.event_id, Event.chain_id, Event.block, Event.body)
        .where(Event.type == ChainReorged.type)
        .where(Event.chain_id.in_(chain_ids))
        .order_by(Event.seq)
    ).all()
    keys = [EventKey(subject_of_chain(row.chain_id), row.event_id) for row in rows]
    retracted = retracted_keys(connection, dict.fromkeys(keys))
    columns = connection.execute(select(Event.subject, Event.event_id, Event.limited_to, Event.seq)).all()
    positions = [((row.subject, row.event_id, row.limited_to), row.seq) for row in columns]
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
            found.append(Reorg(row.seq, row.chain_id, from_block, first.get(key, 0)).among(positions))
    return [reorg for reorg in found if reorg.seq > after_seq]


def liquidity(connection: Connection, chain_id: ChainId) -> dict[str, PoolCounters]:
    """The sums of the chain's standing liquidity events, by symbol."""
    rows = connection.execute(
        select(Event.seq, Event.event_id, Event.type, Event.body)
        .where(Event.chain_id == chain_id, Event.type.in_(LIQUIDITY))
        .order_by(Event.seq)
    )
    latest: dict[str, Logged[LiquidityAdded | LiquidityWithdrawn]] = {}
    for row in rows:
        event = cast("LiquidityAdded | LiquidityWithdrawn", decode_event(row.event_id, row.type, row.body))
        latest[event.id] = Logged(row.seq, event)
    reorgs = every_reorg(connection, {chain_id}, 0)
    retracted = retracted_keys(connection, [logged.event.key for logged in latest.values()])
    sums: dict[str, PoolCounters] = defaultdict(PoolCounters)
    for seq, event in ((logged.seq, logged.event) for logged in latest.values()):
        if seq <= retracted.get(event.key, 0) or any(r.reaches(chain_id, event.block, seq) for r in reorgs):
            continue
        added = isinstance(event, LiquidityAdded)
        counted = PoolCounters(added=event.amount) if added else PoolCounters(withdrawn=event.amount)
        sums[event.symbol] += counted
    return sums
