"""Loading what is known about the events of one segment, before any of them is judged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from sqlalchemy import Connection

from app.domain.keys import ChainId
from app.domain.network_facts import NetworkFacts
from app.domain.transfer.events import (
    EVENT_CLASSES,
    ChainEvent,
    ChainReorged,
    Event,
    EventsRetracted,
    EventType,
    TransferEvent,
)
from app.domain.transfer.judge import ChainLimits, Known, LatestAcceptance, ReporterScope
from app.domain.transfer.pruned import Pruned
from app.domain.transfer.standing import Logged
from app.queries.feed.chain_progress import load_progress
from app.queries.feed.codec import decode_event
from app.queries.feed.facts import load_network_facts
from app.queries.feed.histories import load_histories
from app.queries.feed.latest import latest_acceptances
from app.queries.feed.positions import load_positions
from app.queries.feed.pruned import load_pruned, pruned_up_to
from app.queries.feed.retracted import retracted_ids
from app.queries.feed.standing import standing_of_chain


def load_known(
    connection: Connection, events: Collection[Event], scope: ReporterScope, max_reorg_blocks: int
) -> Known:
    """Everything that judging these events asks for. What none of them needs is not read.

    :param events: one segment: between two barriers.
    """
    positions = load_positions(connection)
    latest = latest_acceptances(connection, {event.id for event in events})
    about_transfers = [event for event in events if isinstance(event, TransferEvent)]
    transfer_ids = {event.transfer_id for event in about_transfers}
    return Known(
        scope=scope,
        max_reorg_blocks=max_reorg_blocks,
        next_seq=positions.last_seq + 1,
        last_reversal=positions.last_reversal,
        latest=latest,
        histories=load_histories(connection, transfer_ids, about_transfers) if transfer_ids else {},
        fallen=_fallen(connection, latest, positions.last_reversal),
        pruned=_pruned(connection, events, latest, transfer_ids) if positions.any_pruned else Pruned(),
        facts=load_network_facts(connection) if transfer_ids else NetworkFacts(),
        chain_limits=_chain_limits(connection, events),
    )


def _pruned(
    connection: Connection,
    events: Iterable[Event],
    latest: Collection[str],
    transfer_ids: Collection[bytes],
) -> Pruned:
    """What was pruned of the unknown ids, of those that retractions name, and of the transfers."""
    event_ids: list[str] = []
    for event in events:
        if event.id not in latest:
            event_ids.append(event.id)
        if isinstance(event, EventsRetracted):
            event_ids.extend(event.targets)
    return load_pruned(connection, event_ids, transfer_ids)


def _fallen(
    connection: Connection, latest: dict[str, LatestAcceptance], last_reversal: int
) -> frozenset[str]:
    """Ids of known events about no transfer that no longer stand: only a reversal since can have done it."""
    of_chain: dict[ChainId, list[Logged[ChainEvent]]] = defaultdict(list)
    others: dict[str, int] = {}
    for event_id, acceptance in latest.items():
        event_class = EVENT_CLASSES[EventType(acceptance.type)]
        if acceptance.seq > last_reversal or issubclass(event_class, TransferEvent):
            continue
        event = decode_event(event_id, acceptance.type, acceptance.body)
        if isinstance(event, ChainEvent):
            of_chain[event.chain_id].append(Logged(acceptance.seq, event))
        else:
            others[event_id] = acceptance.seq
    retracted = retracted_ids(connection, others)
    fallen = {event_id for event_id, seq in others.items() if seq <= retracted.get(event_id, 0)}
    for chain_id, accepted in of_chain.items():
        standing = {logged.event.id for logged in standing_of_chain(connection, chain_id, accepted)}
        fallen |= {logged.event.id for logged in accepted if logged.event.id not in standing}
    return frozenset(fallen)


def _chain_limits(connection: Connection, events: Iterable[Event]) -> dict[int, ChainLimits]:
    chain_ids = {event.chain_id for event in events if isinstance(event, ChainReorged)}
    progress = load_progress(connection, chain_ids) if chain_ids else {}
    return {
        chain_id: ChainLimits(
            progress[chain_id].highest_block if chain_id in progress else None,
            pruned_up_to(connection, chain_id),
        )
        for chain_id in chain_ids
    }
