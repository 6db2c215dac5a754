"""Removing what decides no answer any more: finished transfers, outranked fees, retracted liquidity.

Nothing of them is stored: what is sent again is accepted again, with the same result as before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Connection, Row, delete, insert

from app.db.upserts import upsert
from app.estimates.models import PoolVolume
from app.feed import models as table
from app.feed.models import TransferBlock
from app.feed.projection.journal import remove_rows
from app.feed.projection.latencies import write_latencies
from app.feed.projection.sums import apply_trends, apply_volumes
from app.feed.projection.transfers import latencies_of, write_account_entries
from app.feed.queries.chains import canonical_of_chain
from app.feed.queries.log import latest_acceptances
from app.feed.queries.pools import old_fees, outranked_fees
from app.feed.queries.pruned import (
    entries_at,
    events_of_transfers,
    last_pruned_seqs,
    liquidity_before,
    pruned_chains,
    pruned_pools,
)
from app.refunds.models import SignatureAside, SignatureNotNeeded, UserRefundRequest
from app.refunds.queries import load_histories
from app.refunds.used_ids import store_paid_ids
from app.transfers import models as log
from app.transfers.codec import decode_event, encode_event
from app.transfers.contents import content_digest, id_digest, subject_digest
from app.transfers.effects import SharedChange
from app.transfers.events import ChainEvent
from app.transfers.models import Anomaly, Event, StuckAcknowledgement, Transfer, TransferHash, TransferNote
from app.transfers.reorganisations import Logged
from app.transfers.state import TransferState
from app.transfers.subjects import EventKey
from app.values.identifiers import ChainId, TransferId


def remove_transfers(
    connection: Connection, states: Mapping[TransferId, TransferState], moved: SharedChange, now: datetime
) -> None:
    """Remove finished transfers with their events. The caller is the only writer.

    :param states: their present projections.
    :param moved: what they add to sums: it stays in the pools' counters, and leaves volumes and trends.
    """
    ids = list(states)
    rows = events_of_transfers(connection, ids)
    _retain_readings(connection, ids)
    retain_reporters(connection, rows)
    _retain_sums(connection, moved)
    _retain_ids(connection, states, rows)
    store_paid_ids(connection, ids)
    write_latencies(connection, latencies_of(states), {})
    write_account_entries(connection, states.values(), ())
    _withdraw_volumes(connection, moved)
    apply_trends(connection, moved.courses, -1)
    remove_rows(connection, ids, now)
    for model in (
        Event, SignatureAside, SignatureNotNeeded, Anomaly, UserRefundRequest, StuckAcknowledgement,
        TransferNote, TransferBlock, TransferHash, Transfer,
    ):  # fmt: skip
        connection.execute(delete(model).where(model.transfer_id.in_(ids)))


def _retain_ids(
    connection: Connection, states: Mapping[TransferId, TransferState], rows: Sequence[Row[*tuple[Any, ...]]]
) -> None:
    transfers = [{"transfer_id": i, "status": int(state.status)} for i, state in states.items()]
    connection.execute(insert(log.PrunedTransfer), transfers)
    # The last acceptance of an event has the most fields.
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


def _retain_sums(connection: Connection, moved: SharedChange) -> None:
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
    upsert(connection, log.PrunedPool, rows)


def _retain_readings(connection: Connection, ids: Sequence[bytes]) -> None:
    """Store the highest blocks and newest times, which are lost with the events otherwise."""
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


def retain_reporters(connection: Connection, rows: Sequence[Row[*tuple[Any, ...]]]) -> None:
    """Store each reporter's last one of these entries, by the order of the log."""
    known = last_pruned_seqs(connection)
    last: dict[str, Any] = {row.reporter: row for row in rows}  # in the order of the log
    upsert(
        connection,
        log.PrunedReporter,
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
    """Remove the volumes of these sends. Epochs whose volume is still needed began after all of them."""
    apply_volumes(connection, {key: -amount for key, amount in moved.volumes.items() if amount})
    minutes = {minute for _, _, minute in moved.volumes}
    connection.execute(delete(PoolVolume).where(PoolVolume.minute.in_(minutes), PoolVolume.amount == 0))


Rows = Sequence[Row[*tuple[Any, ...]]]


class Kind(Struct, frozen=True):
    """A kind of events about no transfer that can be removed.

    ``candidates`` returns the positions in the log of events from before a time. ``decided`` returns the
    entries at some of these positions that decide nothing any more.
    """

    name: str
    candidates: Callable[[Connection, datetime], Sequence[int]]
    decided: Callable[[Connection, Sequence[int]], Rows]


def _taken_back(connection: Connection, positions: Sequence[int]) -> Rows:
    """The entries at these positions whose event about a chain is not canonical."""
    rows = entries_at(connection, positions)
    latest = latest_acceptances(connection, {EventKey(row.subject, row.event_id) for row in rows})
    of_chain: dict[ChainId, list[Logged[ChainEvent]]] = defaultdict(list)
    for acceptance in latest.values():
        if isinstance(event := acceptance.event, ChainEvent):
            of_chain[event.chain_id].append(Logged(acceptance.seq, event))
    canonical = {
        logged.event.key
        for chain_id, entries in of_chain.items()
        for logged in canonical_of_chain(connection, chain_id, entries)
    }
    return [row for row in rows if EventKey(row.subject, row.event_id) not in canonical]


KINDS: Final = (Kind("fees", old_fees, outranked_fees), Kind("liquidity", liquidity_before, _taken_back))


def remove_entries(connection: Connection, rows: Rows) -> None:
    """Remove entries of the log. The caller is the only writer."""
    retain_reporters(connection, rows)
    connection.execute(delete(Event).where(Event.seq.in_([row.seq for row in rows])))
