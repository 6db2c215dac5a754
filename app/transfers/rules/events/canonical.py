"""Which accepted events are canonical.

An event is canonical from its acceptance until a reorg of its chain, accepted later, reaches its block,
or an operator retracts it. Accepted again, it is canonical again. This follows only from the log.
Between two reorgs of a chain the order of acceptance does not matter (docs/interface/events.md#standing).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from app.transfers.rules.events.counting import Logged, Origin, Retracted, is_retracted, most_trusted
from app.transfers.rules.events.event_types import (
    BlockEvent,
    ChainReorged,
    Event,
    EventsRetracted,
    TransferConfirmed,
    TransferEvent,
    TransferSent,
)
from app.transfers.rules.events.keys import EventKey
from app.transfers.rules.events.reorganisations import Reorg
from app.values.identifiers import BlockNumber, ChainId


def is_ahead(event: Event, now: datetime) -> bool:
    """Whether the event has no effect yet, because its time is in the future. Reorgs and retractions take
    effect at once: otherwise both the old and the new blocks of a chain would count.
    """
    return event.at > now and not isinstance(event, ChainReorged | EventsRetracted)


class Retraction(Struct, frozen=True):
    """One ``events.retracted``, its position in the log, and the events it names."""

    seq: int
    key: EventKey
    targets: Collection[EventKey]


def retracted_by(retractions: Iterable[Retraction]) -> Mapping[EventKey, int]:
    """The events that canonical retractions name, with the position in the log of the latest of these
    (docs/interface/events.md#retractions).
    """
    retracted: dict[EventKey, int] = {}
    # The latest first: a retraction is canonical unless a later canonical one names it.
    for retraction in sorted(retractions, key=lambda r: r.seq, reverse=True):
        if not is_retracted(retraction.seq, retraction.key, retracted):
            for target in retraction.targets:
                retracted.setdefault(target, retraction.seq)
    return retracted


class ChainReading(Struct, frozen=True):
    """How far a chain was read, as canonical events show."""

    highest_block: BlockNumber | None
    newest_at: datetime

    def furthest(self, other: ChainReading | None) -> ChainReading:
        if other is None:
            return self
        blocks = [block for block in (self.highest_block, other.highest_block) if block is not None]
        return ChainReading(max(blocks, default=None), max(self.newest_at, other.newest_at))


def canonical_of_transfer(
    log: Sequence[Logged[TransferEvent]], reorgs: Sequence[Reorg], origin: Origin
) -> list[TransferEvent]:
    """The canonical events of one transfer; parameters as in :func:`canonical_acceptances`."""
    return [logged.event for logged in most_trusted(canonical_acceptances(log, reorgs, origin))]


def canonical_acceptances(
    log: Sequence[Logged[TransferEvent]], reorgs: Sequence[Reorg], origin: Origin
) -> Sequence[Logged[TransferEvent]]:
    """The acceptances of one transfer's events that no reorg reached.

    :param log: every acceptance that counts, of all events of the transfer, in the order of the log.
    :param reorgs: at least those of the transfer's chains accepted after its first event.
    """
    if not reorgs:
        return log
    sends = (logged for logged in log if isinstance(logged.event, TransferSent))
    sends_gone = [gone for send in sends if (gone := _orphaning(send, origin, reorgs)) is not None]
    return [
        logged
        for logged in log
        if not orphaned_by(logged, origin, reorgs) and not _confirms_any(logged, sends_gone)
    ]


def _confirms_any(logged: Logged[TransferEvent], sends_gone: Iterable[Reorg]) -> bool:
    """Whether it is a confirmation that is invalid without its send."""
    return isinstance(logged.event, TransferConfirmed) and any(gone.takes(logged) for gone in sends_gone)


def orphaned_by(logged: Logged[TransferEvent], origin: Origin, reorgs: Sequence[Reorg]) -> int:
    """The position in the log of the first reorg that reaches this acceptance, 0 if none does."""
    reorg = _orphaning(logged, origin, reorgs)
    return 0 if reorg is None else reorg.seq


def _orphaning(logged: Logged[TransferEvent], origin: Origin, reorgs: Sequence[Reorg]) -> Reorg | None:
    event = logged.event
    if not isinstance(event, BlockEvent) or event.block is None:
        return None
    chain_id = origin.chain_of(event)
    reaching = (reorg for reorg in reorgs if reorg.reaches(chain_id, event.block, logged))
    return min(reaching, key=lambda reorg: reorg.seq, default=None)


def not_retracted(
    log: Sequence[Logged[TransferEvent]], retracted: Retracted, reorgs: Sequence[Reorg] = ()
) -> Sequence[Logged[TransferEvent]]:
    """The acceptances that no canonical retraction names. As with a reorg, a retracted send invalidates the
    confirmations accepted before its retraction. If a reorg orphaned the send earlier, only the confirmations
    before that reorg are invalid: later ones belong to another send.
    """
    if not retracted:
        return log
    sends = (logged for logged in log if isinstance(logged.event, TransferSent))
    sends_gone = [gone for send in sends if (gone := _gone(send, retracted, reorgs)) is not None]
    return [
        logged
        for logged in log
        if not is_retracted(logged.seq, logged.event.id, retracted) and not _confirms_any(logged, sends_gone)
    ]


def _gone(send: Logged[TransferEvent], retracted: Retracted, reorgs: Sequence[Reorg]) -> Reorg | None:
    """What first invalidated a retracted send, its retraction as if it were a reorg; None if none did."""
    if not is_retracted(send.seq, send.event.id, retracted):
        return None
    by_operator = retracted[send.event.id]
    by_reorg = _orphaning(send, Origin(), reorgs)  # a send names its own chain
    if by_reorg is not None and by_reorg.seq < by_operator:
        return by_reorg
    return Reorg(by_operator, ChainId(0), BlockNumber(0))


def highest_blocks(
    events: Iterable[TransferEvent], origin: Origin
) -> tuple[tuple[ChainId, BlockNumber], ...]:
    highest: dict[ChainId, BlockNumber] = {}
    for event in _block_events(events):
        chain_id = origin.chain_of(event)
        if chain_id is not None and event.block is not None:
            highest[chain_id] = max(event.block, highest.get(chain_id, event.block))
    return tuple(sorted(highest.items()))


def readings(canonical: Iterable[TransferEvent], origin: Origin) -> tuple[tuple[ChainId, ChainReading], ...]:
    """How far the chains were read, by these events. Empty until the send is known: a submission may name
    other chains (docs/interface/events.md#reorgs).
    """
    if not origin.is_sent:
        return ()
    found: dict[ChainId, ChainReading] = {}
    for event in _block_events(canonical):
        chain_id = origin.chain_of(event)
        if chain_id is not None:
            found[chain_id] = ChainReading(event.block, event.at).furthest(found.get(chain_id))
    return tuple(sorted(found.items()))


def _block_events(events: Iterable[TransferEvent]) -> Iterable[BlockEvent]:
    return (event for event in events if isinstance(event, BlockEvent))
