"""Rebuilding every projection from the log, and writing the log out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import Connection, Row, delete, func, select, update

from app.domain.audit import Actor
from app.domain.transfer.anomalies import AnomalyKind
from app.domain.transfer.state import ChainReading
from app.extensions import Base
from app.models import events as log
from app.models.anomalies import Anomaly
from app.models.engine import reading, reading_consistently, writing
from app.models.events import ChainProgress, RetractedEvent, TransferBlock
from app.models.pools import PoolCounter, PoolVolume, ReportedFee
from app.models.transfers import LatencyRecord, Refund, Transfer, TransferHash
from app.models.validators import ReportedValidatorSet
from app.runtime.gateway import Gateway
from app.services.audit.record import record
from app.services.feed import chains, pools
from app.services.feed.facts import load_network_facts
from app.services.feed.latencies import forget_counts, recount
from app.services.feed.made_up import refuse_made_up
from app.services.feed.projection import CHUNK, advance, refold
from app.services.feed.pruned import count_from_pruned, pruned_readings
from app.services.feed.retract import rebuild_retracted

PROJECTIONS: tuple[type[Base], ...] = (
    LatencyRecord, Refund, TransferBlock, TransferHash, Transfer, PoolCounter, PoolVolume, ReportedFee,
    ReportedValidatorSet, ChainProgress, RetractedEvent,
)  # fmt: skip
"""What follows from the log, in an order in which rows can be deleted."""


def replay(
    gateway: Gateway, progress: Callable[[int], None] = lambda _transfers: None, *, actor: Actor
) -> int:
    """Throw every projection away and fold the log anew, in one transaction, while ingest waits.

    Anomalies that hold again stay acknowledged; those that only a refused line told of stay.

    :param progress: told the number of transfers after each chunk of them.
    :returns: how many transfers there are.
    :raises MadeUpDatabase: there is no log that tells of them.
    """
    with writing(gateway.engine) as connection:
        refuse_made_up(connection)
        now = gateway.clock()
        pool_anomalies = _pool_anomalies(connection)
        forget_counts(connection)
        for model in PROJECTIONS:
            connection.execute(delete(model))
        count_from_pruned(connection)
        rebuild_retracted(connection)
        pools.fold_fees_again(connection)
        chain_ids = _replay_chains(connection, now)
        count = 0
        facts = load_network_facts(connection)
        for transfer_ids in _transfer_ids(connection):
            refold(connection, transfer_ids, facts, now)
            count += len(transfer_ids)
            progress(len(transfer_ids))
        recount(connection, now)
        for chain_id in chain_ids:
            chains.measure_again(connection, chain_id)
        _keep_acknowledged(connection, pool_anomalies)
        record(
            connection, gateway.audit_keys, actor, "events.replay", "event log",
            now=gateway.clock(), detail=f"folded {count} transfers anew",
        )  # fmt: skip
    return count


def count_transfers(gateway: Gateway) -> int:
    """How many transfers a replay will fold, about."""
    with reading(gateway.reads) as connection:
        return connection.scalar(select(func.count()).select_from(Transfer)) or 0


def _replay_chains(connection: Connection, now: datetime) -> Sequence[int]:
    rows = connection.execute(
        select(log.Event.chain_id, func.max(log.Event.at).label("newest_at"))
        .where(log.Event.chain_id.is_not(None))
        .group_by(log.Event.chain_id)
    ).all()
    readings = pruned_readings(connection)
    for row in rows:
        readings[row.chain_id] = ChainReading(None, row.newest_at).furthest(readings.get(row.chain_id))
    advance(connection, readings)
    chain_ids = sorted(readings)
    for chain_id in chain_ids:
        pools.recount_liquidity(connection, chain_id, now)
        chains.fold_validators(connection, chain_id, now)
    return chain_ids


def _transfer_ids(connection: Connection) -> Iterator[Sequence[bytes]]:
    last = b""
    while True:
        query = select(log.Event.transfer_id).where(log.Event.transfer_id.is_not(None)).distinct()
        if last:
            query = query.where(log.Event.transfer_id > last)
        found = [i for i in connection.scalars(query.order_by(log.Event.transfer_id).limit(CHUNK)) if i]
        if not found:
            return
        yield found
        last = found[-1]


def _pool_anomalies(connection: Connection) -> Sequence[Row[*tuple[Any, ...]]]:
    columns = (Anomaly.subject, Anomaly.first_at, Anomaly.acknowledged_at, Anomaly.acknowledged_by)
    kind = AnomalyKind.POOL_UNDER_ZERO.value
    return connection.execute(select(*columns).where(Anomaly.kind == kind)).all()


def _keep_acknowledged(connection: Connection, before: Sequence[Row[*tuple[Any, ...]]]) -> None:
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


def export_log(gateway: Gateway) -> Iterator[bytes]:
    """The log as lines of JSON in its order, each with its ``seq``, ``reporter`` and ``received_at``.

    ``events ingest`` takes the lines again: into an empty database with the same network it gives
    the same answers.
    """
    with reading_consistently(gateway.engine) as connection:
        last = 0
        while rows := connection.execute(
            select(log.Event.__table__).where(log.Event.seq > last).order_by(log.Event.seq).limit(CHUNK)
        ).all():
            for row in rows:
                kept = {
                    "seq": row.seq,
                    "id": row.event_id,
                    "type": row.type,
                    "reporter": row.reporter,
                    "received_at": row.received_at.isoformat(),
                }
                yield orjson.dumps(kept | orjson.loads(row.body), option=orjson.OPT_APPEND_NEWLINE)
            last = rows[-1].seq
