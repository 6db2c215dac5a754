"""Taking transfers out of the log and the projections, and keeping what they leave behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select

from app.domain.keys import TransferId
from app.domain.transfer.effects import SharedChange
from app.domain.transfer.state import TransferState, transfer_state
from app.extensions import Base
from app.models import pruned as table
from app.models.anomalies import Anomaly
from app.models.events import Event, TransferBlock
from app.models.pools import PoolVolume
from app.models.transfers import Transfer, TransferHash
from app.models.upsert import upsert
from app.services.feed.facts import load_network_facts
from app.services.feed.latencies import write_latencies
from app.services.feed.log import load_histories
from app.services.feed.projection import apply_volumes, latencies_of
from app.services.feed.pruned import content_digest, id_digest


def remove_transfers(
    connection: Connection, states: Mapping[TransferId, TransferState], moved: SharedChange, now: datetime
) -> None:
    """Remove finished transfers with their events. The caller is the only writer.

    :param states: what is projected of them now.
    :param moved: what they add to the pools: counters go on to hold it, volumes lose it.
    """
    ids = list(states)
    rows = connection.execute(
        select(Event.__table__).where(Event.transfer_id.in_(ids)).order_by(Event.seq)
    ).all()
    _keep_readings(connection, ids)
    _keep_reporters(connection, rows)
    _keep_sums(connection, moved)
    _keep_ids(connection, states, rows)
    write_latencies(connection, latencies_of(states), {})
    _withdraw_volumes(connection, moved)
    for model in (Event, Anomaly, TransferBlock, TransferHash, Transfer):
        connection.execute(delete(model).where(model.transfer_id.in_(ids)))


def _keep_ids(
    connection: Connection, states: Mapping[TransferId, TransferState], rows: Sequence[Row[*tuple[Any, ...]]]
) -> None:
    transfers = [{"transfer_id": i, "status": int(state.status)} for i, state in states.items()]
    connection.execute(insert(table.PrunedTransfer), transfers)
    # Acceptances of one id have one content.
    contents = {id_digest(row.event_id): content_digest(row.type, row.body) for row in rows}
    events = [{"id_digest": i, "content_digest": content} for i, content in contents.items()]
    connection.execute(insert(table.PrunedEvent), events)


def _keep_sums(connection: Connection, moved: SharedChange) -> None:
    known = _by_key(connection, table.PrunedPool)
    rows = []
    for key, change in moved.counters.items():
        before = known.get(key)
        rows.append(
            {
                "chain_id": key[0],
                "symbol": key[1],
                "sent": change.sent + (before.sent if before else 0),
                "relayed": change.relayed + (before.relayed if before else 0),
            }
        )
    upsert(connection, table.PrunedPool, rows)


def _by_key(connection: Connection, model: type[Base]) -> dict[Any, Row[*tuple[Any, ...]]]:
    """All rows of a small table by primary key."""
    names = [column.name for column in model.__table__.primary_key]
    rows = connection.execute(select(model.__table__))
    return {tuple(getattr(row, name) for name in names): row for row in rows}


def _keep_readings(connection: Connection, ids: Sequence[bytes]) -> None:
    """Note the highest blocks, of which measuring a chain again would know nothing, and newest times."""
    facts = load_network_facts(connection)
    stored = connection.execute(select(table.PrunedChain.__table__)).all()
    blocks = {row.chain_id: row.highest_block for row in stored if row.highest_block is not None}
    times = {row.chain_id: row.newest_at for row in stored if row.newest_at is not None}
    for history in load_histories(connection, ids).values():
        state = transfer_state(history, facts)
        for chain_id, block in state.blocks:
            blocks[chain_id] = max(block, blocks.get(chain_id, block))
        for chain_id, reading in state.readings:
            times[chain_id] = max(reading.newest_at, times.get(chain_id, reading.newest_at))
    upsert(
        connection,
        table.PrunedChain,
        [
            {"chain_id": chain, "highest_block": blocks.get(chain), "newest_at": times.get(chain)}
            for chain in blocks.keys() | times.keys()
        ],
    )


def _keep_reporters(connection: Connection, rows: Sequence[Row[*tuple[Any, ...]]]) -> None:
    known = _by_key(connection, table.PrunedReporter)
    last: dict[str, Any] = {row.reporter: row for row in rows}  # in the order of the log
    upsert(
        connection,
        table.PrunedReporter,
        [
            {
                "reporter": reporter,
                "seq": row.seq,
                "event_id": row.event_id,
                "type": row.type,
                "at": row.at,
                "received_at": row.received_at,
            }
            for reporter, row in last.items()
            if (reporter,) not in known or known[reporter,].seq < row.seq
        ],
    )


def _withdraw_volumes(connection: Connection, moved: SharedChange) -> None:
    """Epochs whose volume is still asked for began after all of these sends."""
    apply_volumes(connection, {key: -amount for key, amount in moved.volumes.items() if amount})
    minutes = {minute for _, _, minute in moved.volumes}
    connection.execute(delete(PoolVolume).where(PoolVolume.minute.in_(minutes), PoolVolume.amount == 0))
