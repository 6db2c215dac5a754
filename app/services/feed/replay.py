"""Rebuilding every projection from the log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from sqlalchemy import Connection, delete, insert, update

from app.domain.audit import Actor
from app.domain.keys import ChainId
from app.domain.transfer.anomalies import AnomalyKind
from app.extensions import Base
from app.models.anomalies import Anomaly
from app.models.engine import reading, writing
from app.models.events import ChainProgress, RetractedEvent, TransferBlock
from app.models.pools import CourseCount, PoolCounter, PoolVolume, ReportedFee
from app.models.signatures import SignatureNotNeeded
from app.models.transfers import (
    LatencyRecord,
    Refund,
    RefundBasis,
    Transfer,
    TransferAccount,
    TransferHash,
    WithdrawDone,
    WithdrawId,
)
from app.models.validators import ReportedValidatorSet
from app.queries.feed import transfers
from app.queries.feed.anomalies import AnomalyRow, pool_anomalies
from app.queries.feed.chain_progress import logged_readings
from app.queries.feed.facts import load_network_facts
from app.queries.feed.fees import routes_with_fees
from app.queries.feed.pruned import pruned_pools, pruned_readings
from app.runtime.gateway import Gateway
from app.services.audit.record import record
from app.services.feed import chains, pools
from app.services.feed.ahead import settle
from app.services.feed.grown import refuse_grown
from app.services.feed.latency.counts import forget_counts, recount
from app.services.feed.projection import CHUNK, refold
from app.services.feed.retract import rebuild_retracted
from app.services.feed.sums import advance, find_progress
from app.services.webhooks.outbox import tell_nothing

PROJECTIONS: tuple[type[Base], ...] = (
    LatencyRecord, Refund, RefundBasis, WithdrawId, TransferAccount, TransferBlock, TransferHash, Transfer,
    PoolCounter, PoolVolume, CourseCount, ReportedFee, ReportedValidatorSet, WithdrawDone, ChainProgress,
    RetractedEvent, SignatureNotNeeded,
)  # fmt: skip
"""What follows from the log, in an order in which rows can be deleted."""


def replay(
    gateway: Gateway, progress: Callable[[int], None] = lambda _transfers: None, *, actor: Actor
) -> int:
    """Throw every projection away and fold the log anew, in one transaction, while ingest waits.

    Anomalies that hold again stay acknowledged. Those that came from a refused line stay: the log has no
    trace of them.

    :param progress: called after each chunk of transfers with their number.
    :returns: how many transfers there are.
    :raises NoEventLog: the transfers have no events.
    """
    with writing(gateway.engine) as connection:
        refuse_grown(connection)
        tell_nothing(connection)
        now = gateway.clock()
        settle(connection, now)
        acknowledged = pool_anomalies(connection)
        forget_counts(connection)
        for model in PROJECTIONS:
            connection.execute(delete(model))
        _count_from_pruned(connection)
        rebuild_retracted(connection)
        pools.fold_fees_again(connection, routes_with_fees(connection))
        chain_ids = _replay_chains(connection, now)
        count = 0
        facts = load_network_facts(connection)
        for transfer_ids in transfers.logged_transfers(connection, CHUNK):
            refold(connection, transfer_ids, facts, now)
            count += len(transfer_ids)
            progress(len(transfer_ids))
        recount(connection, now)
        for chain_id in chain_ids:
            find_progress(connection, chain_id)
        _keep_acknowledged(connection, acknowledged)
        record(
            connection, gateway.audit_keys, actor, "events.replay", "event log",
            now=gateway.clock(), detail=f"rebuilt {count} transfers",
        )  # fmt: skip
    return count


def count_transfers(gateway: Gateway) -> int:
    """How many transfers a replay will fold, about."""
    with reading(gateway.reads) as connection:
        return transfers.count_transfers(connection)


def _count_from_pruned(connection: Connection) -> None:
    """Start the pools' counters, which must be empty, from what pruned transfers moved."""
    rows = [
        {"chain_id": chain_id, "symbol": symbol, "sent": sent, "relayed": relayed, "added": 0, "withdrawn": 0}
        for (chain_id, symbol), (sent, relayed) in pruned_pools(connection).items()
    ]
    if rows:
        connection.execute(insert(PoolCounter), rows)


def _replay_chains(connection: Connection, now: datetime) -> Sequence[ChainId]:
    readings = pruned_readings(connection)
    for chain_id, logged in logged_readings(connection).items():
        readings[chain_id] = logged.furthest(readings.get(chain_id))
    advance(connection, readings)
    chain_ids = sorted(readings)
    for chain_id in chain_ids:
        pools.recount_liquidity(connection, chain_id, now)
        chains.fold_withdraws(connection, chain_id, None, now)
        chains.fold_validators(connection, chain_id, now)
    return chain_ids


def _keep_acknowledged(connection: Connection, before: Sequence[AnomalyRow]) -> None:
    """A pool passes through other balances while it is folded anew: what held before is not new."""
    for row in before:
        connection.execute(
            update(Anomaly)
            .where(Anomaly.kind == AnomalyKind.POOL_UNDER_ZERO.value, Anomaly.subject == row.subject)
            .values(
                first_at=row.first_at,
                acknowledged_at=row.acknowledged_at,
                acknowledged_by=row.acknowledged_by,
            )
        )
