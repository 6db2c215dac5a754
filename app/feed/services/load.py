"""Loads what is known about the events of one segment, before any of them is validated."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from operator import attrgetter
from typing import Final

from sqlalchemy import Connection

from app.credentials.rules.ingest_token import EVERYTHING, OWN_REPORTERS
from app.db.engine import HandedIn
from app.feed.queries.belated import take_again
from app.feed.queries.chains import load_progress, orphaned_keys
from app.feed.queries.log import acceptances_of, count_rotations, latest_acceptances, taken_from
from app.feed.queries.pruned import (
    load_positions,
    pruned_contents,
    pruned_targets,
    pruned_transfers,
    pruned_up_to,
)
from app.feed.queries.transfers import load_not_needed
from app.feed.services.log import dropped_before
from app.network.queries import load_network_facts
from app.network.rules.validation_facts import NetworkFacts
from app.refunds.queries import load_histories
from app.transfers.queries.logged import outranked_keys, retracted_keys
from app.transfers.rules.certainty import WATCHER
from app.transfers.rules.events.bounds import MAX_REQUESTS, EventCounts
from app.transfers.rules.events.codec import encode_event
from app.transfers.rules.events.counting import Logged, is_retracted
from app.transfers.rules.events.event_types import (
    ChainEvent,
    ChainReorged,
    Event,
    EventsRetracted,
    PlacedEvent,
    RefundSigned,
    TransferEvent,
    ValidatorsUpdated,
)
from app.transfers.rules.events.keys import EventKey
from app.transfers.rules.events.merging import Pruned
from app.transfers.rules.events.reorganisations import ChainLimits, repeated_too_late
from app.transfers.rules.history import TransferHistory
from app.transfers.rules.validation import Known, LatestAcceptance, ReporterScope
from app.values.identifiers import BlockNumber, ChainId

IN_DOUBT: Final = HandedIn[[ChainId, Set[BlockNumber]], Set[BlockNumber]]("in_doubt")
"""Those of a chain's blocks from which the watcher may still take something back."""


def load_known(
    connection: Connection, events: Collection[Event], reporter: str, max_reorg_blocks: int
) -> Known:
    """Everything that is needed to validate these events. What none of them needs is not read.

    :param events: one segment, between two barriers.
    :param reporter: who reports the heads among them.
    """
    positions = load_positions(connection)
    about_transfers = [event for event in events if isinstance(event, TransferEvent)]
    transfer_ids = {event.transfer_id for event in about_transfers}
    histories = load_histories(connection, transfer_ids, about_transfers) if transfer_ids else {}
    of_others = latest_acceptances(connection, {e.key for e in events if not isinstance(e, TransferEvent)})
    refunded = [event for event in about_transfers if histories[event.transfer_id].has_request]
    not_needed = load_not_needed(connection, refunded) if refunded else {}
    limits = _chain_limits(connection, events)
    latest = of_others | _latest_of(about_transfers, histories, not_needed)
    repeated = [event for event in events if isinstance(event, ChainReorged) and event.key in of_others]
    belated = repeated_too_late(repeated, limits, max_reorg_blocks)
    return Known(
        scope=EVERYTHING,
        max_reorg_blocks=max_reorg_blocks,
        next_seq=positions.last_seq + 1,
        last_reversal=positions.last_reversal,
        latest=latest,
        not_needed=not_needed,
        histories=histories,
        orphaned=_orphaned(connection, of_others, positions.last_reversal),
        outranked=outranked_keys(connection, latest) if latest else frozenset(),
        only_watched=_only_watched(connection, about_transfers, histories, latest),
        dropped=dropped_before(
            connection, (e for e in events if e.key not in of_others), reporter, max_reorg_blocks
        ),
        pruned=_pruned(connection, events, transfer_ids) if positions.any_pruned else Pruned(),
        facts=load_network_facts(connection) if transfer_ids else NetworkFacts(),
        chain_limits=limits,
        belated=take_again(connection, belated, positions.last_seq + 1),
    )


def note_sender(
    connection: Connection, known: Known, events: Collection[Event], reporter: str, scope: ReporterScope
) -> None:
    """Set who reports those events of the segment that are validated next.

    :param reporter: the gateway's own may report any number, as they may restore a log.
    """
    known.reporter, known.scope, known.accepted = reporter, scope, None
    if reporter not in OWN_REPORTERS:
        known.accepted = _accepted(connection, events, known.histories, reporter)


def _accepted(
    connection: Connection,
    events: Collection[Event],
    histories: Mapping[bytes, TransferHistory],
    reporter: str,
) -> EventCounts:
    """How many of the reporter's events were accepted, about what may come near a bound."""
    arriving = Counter(event.transfer_id for event in events if isinstance(event, TransferEvent))
    # Signatures that are not needed are in no history.
    signed = {event.transfer_id for event in events if isinstance(event, RefundSigned)}
    long = [i for i, count in arriving.items() if i in signed or len(histories[i].log) + count > MAX_REQUESTS]
    counts: EventCounts = {**taken_from(connection, reporter, long)} if long else {}
    for chain_id in {event.chain_id for event in events if isinstance(event, ValidatorsUpdated)}:
        counts[chain_id, ValidatorsUpdated.type] = count_rotations(connection, chain_id, reporter)
    return counts


def _latest_of(
    events: Iterable[TransferEvent],
    histories: Mapping[bytes, TransferHistory],
    not_needed: Mapping[EventKey, Sequence[Logged[TransferEvent]]],
) -> dict[EventKey, LatestAcceptance]:
    """The latest acceptances of events about transfers, from what is loaded already."""
    wanted: dict[bytes, set[str]] = defaultdict(set)
    for event in events:
        wanted[event.transfer_id].add(event.id)
    accepted = defaultdict(list, {key: [*logged] for key, logged in not_needed.items()})
    for transfer_id, ids in wanted.items():
        for logged in histories[transfer_id].log:
            if logged.event.id in ids:
                accepted[logged.event.key].append(logged)
    latest: dict[EventKey, LatestAcceptance] = {}
    for key, of_key in accepted.items():
        newest = max(of_key, key=attrgetter("seq"))
        latest[key] = LatestAcceptance(newest.seq, len(of_key) - 1, newest.event)
    return latest


def _only_watched(
    connection: Connection,
    events: Iterable[TransferEvent],
    histories: Mapping[bytes, TransferHistory],
    latest: Mapping[EventKey, LatestAcceptance],
) -> Set[EventKey]:
    """Repeated events in blocks in doubt that only the watcher has reported so far."""
    of_chains: dict[ChainId, dict[EventKey, BlockNumber]] = defaultdict(dict)
    for event in events:
        known = latest[event.key].event if event.key in latest else None
        if isinstance(known, PlacedEvent) and known.block is not None:
            chain_id = histories[event.transfer_id].origin().chain_of(known)
            if chain_id is not None:
                of_chains[chain_id][event.key] = known.block
    found: set[EventKey] = set()
    for chain_id, blocks in of_chains.items():
        doubted = IN_DOUBT(connection, chain_id, {*blocks.values()})
        found |= {key for key, block in blocks.items() if block in doubted}
    others = (row for row in acceptances_of(connection, found) if row.reporter != WATCHER)
    return found.difference(EventKey(row.subject, row.event_id) for row in others)


def _pruned(connection: Connection, events: Iterable[Event], transfer_ids: Collection[bytes]) -> Pruned:
    """The pruned ones of the transfers, of their events, and of the events that retractions name."""
    transfers = pruned_transfers(connection, transfer_ids)
    keys = [e.key for e in events if isinstance(e, TransferEvent) and e.transfer_id in transfers]
    targets = [target for e in events if isinstance(e, EventsRetracted) for target in _targets(e)]
    return Pruned(
        pruned_contents(connection, keys), transfers, pruned_targets(connection, targets), encode_event
    )


def _targets(event: EventsRetracted) -> Iterable[tuple[str | None, str]]:
    subjects = event.subjects or (None,) * len(event.targets)
    return zip(subjects, event.targets, strict=True)


def _orphaned(
    connection: Connection, latest: Mapping[EventKey, LatestAcceptance], last_reversal: int
) -> frozenset[EventKey]:
    """Known events about no transfer that are no longer canonical, because of a later reversal."""
    earlier = {key: each for key, each in latest.items() if each.seq <= last_reversal}
    others = {key for key, each in earlier.items() if not isinstance(each.event, ChainEvent)}
    retracted = retracted_keys(connection, others)
    gone = {key for key in others if is_retracted(earlier[key].seq, key, retracted)}
    return frozenset(gone | orphaned_keys(connection, earlier.values()))


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
