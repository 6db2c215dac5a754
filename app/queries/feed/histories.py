"""What has the log about these transfers, and which reorgs and retractions may reach it?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import cast

from sqlalchemy import Connection, select

from app.domain.transfer.events import TransferEvent, TransferSent
from app.domain.transfer.standing import Logged, Reorg, origin_of
from app.domain.transfer.state import TransferHistory
from app.models.events import Event
from app.queries.feed.codec import decode_event
from app.queries.feed.retracted import retracted_of_transfers
from app.queries.feed.standing import load_reorgs


def load_histories(connection: Connection, transfer_ids: Iterable[bytes]) -> dict[bytes, TransferHistory]:
    """The whole log of each transfer, with the reorgs that may reach it; empty for unknown ones."""
    ids = set(transfer_ids)
    logs: dict[bytes, list[Logged[TransferEvent]]] = {transfer_id: [] for transfer_id in ids}
    rows = connection.execute(
        select(Event.seq, Event.transfer_id, Event.event_id, Event.type, Event.body)
        .where(Event.transfer_id.in_(ids))
        .order_by(Event.seq)
    )
    for row in rows:
        event = cast("TransferEvent", decode_event(row.event_id, row.type, row.body))
        logs[row.transfer_id].append(Logged(row.seq, event))
    reorgs = _reorgs_reaching(connection, logs)
    retracted = retracted_of_transfers(connection, ids)
    return {
        transfer_id: TransferHistory(transfer_id, events, reorgs[transfer_id], retracted[transfer_id])
        for transfer_id, events in logs.items()
    }


def _reorgs_reaching(
    connection: Connection, logs: dict[bytes, list[Logged[TransferEvent]]]
) -> dict[bytes, list[Reorg]]:
    chains: dict[bytes, set[int]] = {}
    first_seq: dict[int, int] = {}
    for transfer_id, events in logs.items():
        chains[transfer_id] = _chains_of(events)
        for chain_id in chains[transfer_id]:
            first_seq[chain_id] = min(events[0].seq, first_seq.get(chain_id, events[0].seq))
    by_chain: dict[int, list[Reorg]] = defaultdict(list)
    if first_seq:
        for reorg in load_reorgs(connection, set(first_seq), min(first_seq.values())):
            by_chain[reorg.chain_id].append(reorg)
    return {
        transfer_id: [
            reorg
            for chain_id in sorted(chains[transfer_id])
            for reorg in by_chain[chain_id]
            if reorg.seq > events[0].seq
        ]
        for transfer_id, events in logs.items()
    }


def _chains_of(events: list[Logged[TransferEvent]]) -> set[int]:
    """The chains whose reorgs may reach one of the events."""
    origin = origin_of(logged.event for logged in events)
    sent_from = {logged.event.src_chain_id for logged in events if isinstance(logged.event, TransferSent)}
    return sent_from | {chain for chain in (origin.src_chain_id, origin.dst_chain_id) if chain is not None}
