"""Removing finished transfers from the log and the projections, and keeping their sums and digests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, insert

from app.db.upserts import upsert
from app.domain.keys import TransferId
from app.domain.transfer.effects import SharedChange
from app.domain.transfer.pruned import content_digest, id_digest, subject_digest
from app.domain.transfer.state import TransferState
from app.models import pruned as table
from app.models.anomalies import Anomaly, StuckAcknowledgement
from app.models.events import Event, TransferBlock
from app.models.pools import PoolVolume
from app.models.refund_asks import RefundAsk
from app.models.signatures import SignatureAside, SignatureNotNeeded
from app.models.transfers import Transfer, TransferHash, TransferNote
from app.queries.feed.codec import decode_event, encode_event
from app.queries.feed.histories import load_histories
from app.queries.feed.pruned import events_of_transfers, last_pruned_seqs, pruned_chains, pruned_pools
from app.services.feed.latency import write_latencies
from app.services.feed.projection import latencies_of, write_account_entries
from app.services.feed.sums import apply_courses, apply_volumes
from app.services.refunds.withdraw_ids import keep_paid_ids


def remove_transfers(
    connection: Connection, states: Mapping[TransferId, TransferState], moved: SharedChange, now: datetime
) -> None:
    """Remove finished transfers with their events. The caller is the only writer.

    :param states: what is projected of them now.
    :param moved: what they add to sums: the pools' counters go on to hold it, volumes and courses lose it.
    """
    ids = list(states)
    rows = events_of_transfers(connection, ids)
    _keep_readings(connection, ids)
    keep_reporters(connection, rows)
    _keep_sums(connection, moved)
    _keep_ids(connection, states, rows)
    keep_paid_ids(connection, ids)
    write_latencies(connection, latencies_of(states), {})
    write_account_entries(connection, states.values(), ())
    _withdraw_volumes(connection, moved)
    apply_courses(connection, moved.courses, -1)
    for model in (
        Event, SignatureAside, SignatureNotNeeded, Anomaly, RefundAsk, StuckAcknowledgement, TransferNote,
        TransferBlock, TransferHash, Transfer,
    ):  # fmt: skip
        connection.execute(delete(model).where(model.transfer_id.in_(ids)))


def _keep_ids(
    connection: Connection, states: Mapping[TransferId, TransferState], rows: Sequence[Row[*tuple[Any, ...]]]
) -> None:
    transfers = [{"transfer_id": i, "status": int(state.status)} for i, state in states.items()]
    connection.execute(insert(table.PrunedTransfer), transfers)
    # The last acceptance of an event tells the most of it.
    events = {(row.subject, row.event_id): row for row in rows}
    digests = [
        {
            "id_digest": id_digest(event_id),
            "subject_digest": subject_digest(subject),
            "content_digest": content_digest(decode_event(event_id, row.type, row.body), encode_event),
        }
        for (subject, event_id), row in events.items()
    ]
    connection.execute(insert(table.PrunedEvent), digests)


def _keep_sums(connection: Connection, moved: SharedChange) -> None:
    known = pruned_pools(connection)
    rows = []
    for key, change in moved.counters.items():
        sent, relayed = known.get(key, (0, 0))
        rows.append(
            {
                "chain_id": key[0],
                "symbol": key[1],
                "sent": sent + change.sent,
                "relayed": relayed + change.relayed,
            }
        )
    upsert(connection, table.PrunedPool, rows)


def _keep_readings(connection: Connection, ids: Sequence[bytes]) -> None:
    """Note the highest blocks and newest times: once the events are gone, nothing else has them."""
    stored = pruned_chains(connection)
    blocks = {row.chain_id: row.highest_block for row in stored if row.highest_block is not None}
    times = {row.chain_id: row.newest_at for row in stored if row.newest_at is not None}
    for history in load_histories(connection, ids).values():
        for chain_id, reading in history.readings():
            times[chain_id] = max(reading.newest_at, times.get(chain_id, reading.newest_at))
            if (block := reading.highest_block) is not None:
                blocks[chain_id] = max(block, blocks.get(chain_id, block))
    upsert(
        connection,
        table.PrunedChain,
        [
            {"chain_id": chain, "highest_block": blocks.get(chain), "newest_at": times.get(chain)}
            for chain in blocks.keys() | times.keys()
        ],
    )


def keep_reporters(connection: Connection, rows: Sequence[Row[*tuple[Any, ...]]]) -> None:
    """Keep the last of these entries of each reporter, in the order of the log."""
    known = last_pruned_seqs(connection)
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
            if known.get(reporter, 0) < row.seq
        ],
    )


def _withdraw_volumes(connection: Connection, moved: SharedChange) -> None:
    """Epochs whose volume is still asked for began after all of these sends."""
    apply_volumes(connection, {key: -amount for key, amount in moved.volumes.items() if amount})
    minutes = {minute for _, _, minute in moved.volumes}
    connection.execute(delete(PoolVolume).where(PoolVolume.minute.in_(minutes), PoolVolume.amount == 0))
