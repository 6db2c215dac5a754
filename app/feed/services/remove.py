"""Removing what decides no answer any more: finished transfers, outranked fees, retracted liquidity.

A removed transfer leaves digests of its events. Fees and liquidity that are sent again are accepted again,
with the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from itertools import chain
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Connection, Delete, Row, delete

from app.cooperation import in_turns
from app.db.types import is_in_array, is_one_of
from app.db.upserts import append, upsert
from app.estimates.models import PoolVolume
from app.feed import models as table
from app.feed.projection.journal import take_next_number
from app.feed.projection.latencies import write_latencies
from app.feed.projection.shared import apply_trends, apply_volumes
from app.feed.projection.transfers import latencies_of, write_account_entries
from app.feed.queries.chains import orphaned_keys
from app.feed.queries.log import latest_acceptances
from app.feed.queries.pools import old_fees, outranked_fees
from app.feed.queries.pruned import (
    EventSpan,
    entries_at,
    entries_of,
    last_pruned_seqs,
    liquidity_before,
    pruned_chains,
    pruned_pools,
)
from app.refunds.models import SignatureAside, SignatureNotNeeded, UserRefundRequest
from app.refunds.queries import load_histories
from app.refunds.used_ids import store_paid_ids
from app.transfers import models as log
from app.transfers.models import (
    Anomaly,
    ContradictedReport,
    Event,
    StuckAcknowledgement,
    Transfer,
    TransferNote,
)
from app.transfers.rules.events.canonical import ChainReading
from app.transfers.rules.events.codec import encode_event
from app.transfers.rules.events.keys import EventKey, subject_of_transfer
from app.transfers.rules.events.merging import content_digest, id_digest, subject_digest
from app.transfers.rules.history import TransferHistory
from app.transfers.rules.projected import TransferState
from app.transfers.rules.sums import SharedChange
from app.values.identifiers import ChainId, TransferId


class Remains(Struct, frozen=True):
    """The facts that remain of a transfer's events when they are removed.

    Rows of events are never updated, so the facts can be read before the writer's turn.
    """

    digests: Sequence[dict[str, bytes]]
    has_request: bool
    readings: Sequence[tuple[ChainId, ChainReading]]


def remains_of(connection: Connection, ids: Collection[bytes]) -> dict[bytes, Remains]:
    histories = load_histories(connection, ids, every_signature=True)
    return {
        i: Remains(_digests(history), history.has_request, history.readings())
        for i, history in in_turns(histories.items())
    }


def _digests(history: TransferHistory) -> list[dict[str, bytes]]:
    # The last acceptance of an event has the most fields.
    events = {logged.event.id: logged.event for logged in history.log}
    of_subject = subject_digest(subject_of_transfer(history.transfer_id))
    return [
        {
            "id_digest": id_digest(event_id),
            "subject_digest": of_subject,
            "content_digest": content_digest(event, encode_event),
        }
        for event_id, event in events.items()
    ]


def remove_transfers(
    connection: Connection,
    states: Mapping[TransferId, TransferState],
    spans: Mapping[TransferId, EventSpan],
    remains: Mapping[bytes, Remains],
    moved: SharedChange,
    now: datetime,
) -> None:
    """Remove finished transfers with their events. The caller is the only writer.

    :param states: their present projections.
    :param spans: of each, with all of its present events.
    :param moved: what they add to sums: it stays in the pools' counters, and leaves volumes and trends.
    """
    ids = list(states)
    _retain_readings(connection, (remains[i].readings for i in ids))
    retain_reporters(connection, entries_at(connection, _last_of_reporters(spans[i] for i in ids)))
    _retain_sums(connection, moved)
    transfers = [{"transfer_id": i, "status": int(state.status)} for i, state in states.items()]
    append(connection, log.PrunedTransfer, transfers)
    append(connection, table.PrunedEvent, [row for i in ids for row in remains[i].digests])
    if refunds := [i for i in ids if remains[i].has_request]:
        store_paid_ids(connection, refunds)
    write_latencies(connection, latencies_of(states), {})
    write_account_entries(connection, states.values(), ())
    _withdraw_volumes(connection, moved)
    apply_trends(connection, moved.trends, -1)
    take_next_number(connection, now)  # their rows of the journal go: no number may be given again
    _delete_transfers(connection, ids)


_OF_TRANSFERS: Final = (
    Event, ContradictedReport, SignatureAside, SignatureNotNeeded, Anomaly, UserRefundRequest,
    StuckAcknowledgement, TransferNote, table.JournalRow, Transfer,
)  # fmt: skip
"""What holds rows of transfers. Those of other tables go with that of the transfer, by their reference."""


def _delete_transfers(connection: Connection, ids: Sequence[bytes]) -> None:
    """Delete all rows of transfers. On PostgreSQL that is one statement: each costs as much as some rows."""
    if connection.dialect.name == "postgresql":
        connection.execute(_deletion(), {"ids": ids})
        return
    for model in _OF_TRANSFERS:
        connection.execute(delete(model).where(is_one_of(connection, model.transfer_id, ids)))


@cache
def _deletion() -> Delete:
    *first, last = (delete(model).where(is_in_array(model.transfer_id, "ids")) for model in _OF_TRANSFERS)
    return last.add_cte(*(each.cte(f"deleted_{number}") for number, each in enumerate(first)))


def _last_of_reporters(spans: Iterable[EventSpan]) -> Collection[int]:
    last: dict[str, int] = {}
    for span in spans:
        for reporter, seq in span.last.items():
            last[reporter] = max(seq, last.get(reporter, seq))
    return last.values()


def _retain_sums(connection: Connection, moved: SharedChange) -> None:
    known = pruned_pools(connection)
    rows = []
    for key, change in moved.counters.items():
        sent, relayed = known.get(key, (0, 0))
        sums = {"sent": sent + change.sent, "relayed": relayed + change.relayed}
        rows.append({"chain_id": key[0], "symbol": key[1], **sums})
    upsert(connection, log.PrunedPool, rows)


def _retain_readings(
    connection: Connection, readings: Iterable[Sequence[tuple[ChainId, ChainReading]]]
) -> None:
    """Store the highest blocks and newest times, which are lost with the events otherwise."""
    stored = pruned_chains(connection)
    blocks = {row.chain_id: row.highest_block for row in stored if row.highest_block is not None}
    times = {row.chain_id: row.newest_at for row in stored if row.newest_at is not None}
    for chain_id, reading in chain.from_iterable(readings):
        times[chain_id] = max(reading.newest_at, times.get(chain_id, reading.newest_at))
        if (block := reading.highest_block) is not None:
            blocks[chain_id] = max(block, blocks.get(chain_id, block))
    upsert(
        connection,
        table.PrunedChain,
        [
            {"chain_id": chain_id, "highest_block": blocks.get(chain_id), "newest_at": times.get(chain_id)}
            for chain_id in blocks.keys() | times.keys()
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

    :param candidates: the positions in the log of events from before a time.
    :param decided: the entries at some of these positions that decide nothing any more.
    """

    name: str
    candidates: Callable[[Connection, datetime], Sequence[int]]
    decided: Callable[[Connection, Sequence[int]], Rows]


def _taken_back(connection: Connection, positions: Sequence[int]) -> Rows:
    """The entries of events about chains that are not canonical, and whose last one is at these positions.

    All of an event go at once: the first one may decide whether the others count.
    """
    rows = entries_at(connection, positions)
    latest = latest_acceptances(connection, {EventKey(row.subject, row.event_id) for row in rows})
    here = set(positions)
    return entries_of(
        connection, orphaned_keys(connection, (each for each in latest.values() if each.seq in here))
    )


KINDS: Final = (Kind("fees", old_fees, outranked_fees), Kind("liquidity", liquidity_before, _taken_back))


def remove_entries(connection: Connection, rows: Rows) -> None:
    """Remove entries of the log. The caller is the only writer."""
    retain_reporters(connection, rows)
    connection.execute(delete(Event).where(Event.seq.in_([row.seq for row in rows])))
