"""Folding what the feed says about chains, pools, fees and validator sets."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, delete, select, update

from app.domain.codes import TransferHistoryStatus
from app.domain.effects import CounterChange, SharedChange
from app.domain.events import (
    ChainEvent,
    ChainReorged,
    EventType,
    FeeUpdated,
    LiquidityAdded,
    LiquidityWithdrawn,
    ValidatorsUpdated,
)
from app.domain.transfer_state import ChainReading
from app.models import events as log
from app.models.events import ChainProgress, TransferBlock
from app.models.pools import FedFee, PoolCounter
from app.models.transfers import Transfer
from app.models.upsert import upsert
from app.models.validators import FedValidatorSet
from app.services.feed.facts import load_network_facts
from app.services.feed.log import load_chain_events
from app.services.feed.projection import advance, apply_shared, refold

_LIQUIDITY = (EventType.LIQUIDITY_ADDED, EventType.LIQUIDITY_WITHDRAWN)
_REFUND_OPEN = (
    TransferHistoryStatus.TRANSFER_REQUESTING_REFUND,
    TransferHistoryStatus.TRANSFER_REFUND_TO_BE_CONFIRMED,
)


def fold_chain_readings(connection: Connection, accepted: Iterable[ChainEvent]) -> None:
    """Note blocks and times of events about chains."""
    readings: dict[int, ChainReading] = {}
    for event in accepted:
        reading = ChainReading(event.block, event.at)
        readings[event.chain_id] = reading.furthest(readings.get(event.chain_id))
    advance(connection, readings)


def fold_liquidity(connection: Connection, accepted: Iterable[LiquidityAdded | LiquidityWithdrawn]) -> None:
    """Add newly standing deposits and withdrawals of liquidity providers to the pools."""
    change = SharedChange()
    for event in accepted:
        counter = change.counters[event.chain_id, event.symbol]
        if isinstance(event, LiquidityAdded):
            counter.added += event.amount
        else:
            counter.withdrawn += event.amount
    apply_shared(connection, change)


def fold_fees(connection: Connection, accepted: Iterable[FeeUpdated]) -> None:
    """Let the latest fee of each route count."""
    for event in accepted:
        key = {
            "symbol": event.symbol,
            "src_chain_id": event.src_chain_id,
            "dst_chain_id": event.dst_chain_id,
        }
        standing = connection.execute(select(FedFee.at, FedFee.event_id).filter_by(**key)).first()
        if standing is None or (standing.at, standing.event_id) < event.order:
            upsert(
                connection, FedFee, [key | {"base_fee": event.base_fee, "at": event.at, "event_id": event.id}]
            )


def fold_validators(connection: Connection, chain_id: int) -> None:
    """Let the chain's latest standing set count, and judge its open refunds again."""
    standing = sorted(
        load_chain_events(connection, chain_id, [EventType.VALIDATORS_UPDATED]), key=lambda e: e.order
    )
    if standing:
        latest = standing[-1]
        assert isinstance(latest, ValidatorsUpdated)  # noqa: S101  narrows what was selected by type
        members = sorted(
            zip(latest.signers, map(str, latest.powers), strict=True), key=lambda m: m[0].lower()
        )
        row = {
            "chain_id": chain_id,
            "version": len(standing),
            "members": [list(member) for member in members],
            "at": latest.at,
            "event_id": latest.id,
        }
        upsert(connection, FedValidatorSet, [row])
    else:
        connection.execute(delete(FedValidatorSet).where(FedValidatorSet.chain_id == chain_id))
    judge_open_refunds(connection, {chain_id})


def judge_open_refunds(connection: Connection, chain_ids: Iterable[int]) -> None:
    """Fold again the refunds whose answer depends on these chains' validators."""
    open_refunds = connection.scalars(
        select(Transfer.transfer_id).where(
            Transfer.src_chain_id.in_(list(chain_ids)), Transfer.status.in_([int(s) for s in _REFUND_OPEN])
        )
    ).all()
    refold(connection, open_refunds, load_network_facts(connection))


def fold_reorg(connection: Connection, reorg: ChainReorged) -> None:
    """Take back what stood in the orphaned blocks and fold again everything it touched.

    The reorg itself is in the log already: what stands is told by the log alone.
    """
    at_or_above = (ChainProgress.highest_block >= reorg.from_block, ChainProgress.chain_id == reorg.chain_id)
    connection.execute(update(ChainProgress).where(*at_or_above).values(highest_block=reorg.from_block - 1))
    advance(connection, {reorg.chain_id: ChainReading(None, reorg.at)})
    touched = connection.execute(
        select(log.Event.type, log.Event.body)
        .where(log.Event.chain_id == reorg.chain_id, log.Event.block >= reorg.from_block)
        .where(log.Event.type.in_([t.value for t in (*_LIQUIDITY, EventType.VALIDATORS_UPDATED)]))
    ).all()
    if any(row.type != EventType.VALIDATORS_UPDATED for row in touched):
        recount_liquidity(connection, reorg.chain_id)
    if any(row.type == EventType.VALIDATORS_UPDATED for row in touched):
        fold_validators(connection, reorg.chain_id)
    reached = connection.scalars(
        select(TransferBlock.transfer_id).where(
            TransferBlock.chain_id == reorg.chain_id, TransferBlock.highest >= reorg.from_block
        )
    ).all()
    refold(connection, reached, load_network_facts(connection))


def recount_liquidity(connection: Connection, chain_id: int) -> None:
    """Sum the chain's standing liquidity events anew."""
    sums: dict[str, CounterChange] = {}
    for event in load_chain_events(connection, chain_id, _LIQUIDITY):
        assert isinstance(event, LiquidityAdded | LiquidityWithdrawn)  # noqa: S101  selected by type
        counter = sums.setdefault(event.symbol, CounterChange())
        if isinstance(event, LiquidityAdded):
            counter.added += event.amount
        else:
            counter.withdrawn += event.amount
    change = SharedChange()
    rows = connection.execute(select(PoolCounter.__table__).where(PoolCounter.chain_id == chain_id))
    for row in rows:
        standing = sums.get(row.symbol, CounterChange())
        moved = change.counters[chain_id, row.symbol]
        moved.added = standing.added - row.added
        moved.withdrawn = standing.withdrawn - row.withdrawn
    apply_shared(connection, change)
