"""Which accepted events are canonical.

An event is canonical from its acceptance until a reorg of its chain, accepted later, reaches its block,
or an operator retracts it. Accepted again, it is canonical again. This follows only from the log.
Between two reorgs of a chain the order of acceptance does not matter (docs/interface.md#standing).
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence, Set
from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from app.transfers.rules.events.counting import Logged, Origin, Retracted, most_trusted
from app.transfers.rules.events.event_types import (
    BlockEvent,
    ChainReorged,
    Event,
    EventsRetracted,
    TransferConfirmed,
    TransferEvent,
    TransferSent,
)
from app.transfers.rules.events.fields import MAX_BLOCK
from app.transfers.rules.events.keys import EventKey
from app.values.identifiers import BlockNumber, ChainId


def is_ahead(event: Event, now: datetime) -> bool:
    """Whether the event has no effect yet, because its time is in the future.

    Reorgs and retractions take effect at once. Otherwise both the old and the new blocks of a chain would
    count.
    """
    return event.at > now and not isinstance(event, ChainReorged | EventsRetracted)


BELATED_REACH: Final = 10_000
"""Blocks above its first one that a belated reorg reaches. What logs mean depends on it: never change it."""


class Reorg(Struct, frozen=True):
    """A canonical ``chain.reorged`` and its position in the log.

    ``before``, of a belated one (docs/interface.md#reorgs): the position of its first acceptance. It takes
    back what was first accepted before that. ``only`` are the positions of this (:meth:`among`).
    """

    seq: int
    chain_id: ChainId
    from_block: BlockNumber
    before: int | None = None
    only: Set[int] = frozenset()

    def reaches(self, chain_id: ChainId | None, block: BlockNumber | None, accepted: int) -> bool:
        """Whether it orphans an event of that chain and block that was accepted at that position."""
        return (
            block is not None
            and chain_id == self.chain_id
            and self.takes(accepted)
            and block >= self.from_block
            and (self.before is None or block <= self.to_block)
        )

    @property
    def to_block(self) -> BlockNumber:
        """The last block that it reaches if it is belated."""
        return BlockNumber(min(self.from_block + BELATED_REACH, MAX_BLOCK))

    def takes(self, accepted: int) -> bool:
        """Whether it is after that position, and takes back what was accepted there if it is belated."""
        return accepted < self.seq and (self.before is None or accepted in self.only)

    def among(self, acceptances: Collection[tuple[Hashable, int]]) -> Reorg:
        """A belated reorg with what it may take back of some events.

        :param acceptances: what identifies the event, and the position, of all their acceptances.
        """
        first: dict[Hashable, int] = {}
        for key, seq in acceptances:
            first[key] = min(seq, first.get(key, seq))
        known_before = (seq for key, seq in acceptances if first[key] < (self.before or 0))
        return replace(self, only=frozenset(known_before))


class Retraction(Struct, frozen=True):
    """One ``events.retracted``, its position in the log, and the events it names."""

    seq: int
    key: EventKey
    targets: Collection[EventKey]


def retracted_by(retractions: Iterable[Retraction]) -> Mapping[EventKey, int]:
    """The events that canonical retractions name, with the position in the log of the latest of these.

    A retraction is canonical unless a later canonical one names it, so the latest is checked first
    (docs/interface.md#retractions).
    """
    retracted: dict[EventKey, int] = {}
    for retraction in sorted(retractions, key=lambda r: r.seq, reverse=True):
        if retracted.get(retraction.key, 0) < retraction.seq:
            for target in retraction.targets:
                retracted.setdefault(target, retraction.seq)
    return retracted


class ChainReading(Struct, frozen=True):
    """How far a chain was read, as canonical events show."""

    highest_block: BlockNumber | None
    newest_at: datetime

    def furthest(self, other: ChainReading | None) -> ChainReading:
        """The higher block and the newer time of the two."""
        if other is None:
            return self
        blocks = [block for block in (self.highest_block, other.highest_block) if block is not None]
        return ChainReading(max(blocks, default=None), max(self.newest_at, other.newest_at))


def standing_of_transfer(
    log: Sequence[Logged[TransferEvent]], reorgs: Sequence[Reorg], origin: Origin
) -> list[TransferEvent]:
    """The canonical events of one transfer; parameters as in :func:`standing_acceptances`."""
    return [logged.event for logged in most_trusted(standing_acceptances(log, reorgs, origin))]


def standing_acceptances(
    log: Sequence[Logged[TransferEvent]], reorgs: Sequence[Reorg], origin: Origin
) -> Sequence[Logged[TransferEvent]]:
    """The acceptances of one transfer's events that no reorg took back.

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
    """Whether it is a confirmation that was taken back with its send."""
    return isinstance(logged.event, TransferConfirmed) and any(gone.takes(logged.seq) for gone in sends_gone)


def orphaned_by(logged: Logged[TransferEvent], origin: Origin, reorgs: Sequence[Reorg]) -> int:
    """The position in the log of the first reorg that reaches this acceptance, 0 if none does."""
    reorg = _orphaning(logged, origin, reorgs)
    return 0 if reorg is None else reorg.seq


def _orphaning(logged: Logged[TransferEvent], origin: Origin, reorgs: Sequence[Reorg]) -> Reorg | None:
    """The first reorg that reaches this acceptance."""
    event = logged.event
    if not isinstance(event, BlockEvent) or event.block is None:
        return None
    chain_id = origin.chain_of(event)
    reaching = (reorg for reorg in reorgs if reorg.reaches(chain_id, event.block, logged.seq))
    return min(reaching, key=lambda reorg: reorg.seq, default=None)


def not_retracted(
    log: Sequence[Logged[TransferEvent]], retracted: Retracted, reorgs: Sequence[Reorg] = ()
) -> Sequence[Logged[TransferEvent]]:
    """The acceptances that no canonical retraction names.

    As with a reorg, a retracted send invalidates the confirmations accepted before its retraction. If a reorg
    orphaned the send earlier, only the confirmations before that reorg are invalid: later ones belong to
    another send.
    """
    if not retracted:
        return log
    sends = (logged for logged in log if isinstance(logged.event, TransferSent))
    sends_gone = [gone for send in sends if (gone := _gone(send, retracted, reorgs)) is not None]
    return [
        logged
        for logged in log
        if logged.seq > retracted.get(logged.event.id, 0) and not _confirms_any(logged, sends_gone)
    ]


def _gone(send: Logged[TransferEvent], retracted: Retracted, reorgs: Sequence[Reorg]) -> Reorg | None:
    """What first took a retracted send back, its retraction as if it were a reorg; None if none did."""
    by_operator = retracted.get(send.event.id, 0)
    if by_operator <= send.seq:
        return None
    by_reorg = _orphaning(send, Origin(), reorgs)  # a send names its own chain
    if by_reorg is not None and by_reorg.seq < by_operator:
        return by_reorg
    return Reorg(by_operator, ChainId(0), BlockNumber(0))


def highest_blocks(
    events: Iterable[TransferEvent], origin: Origin
) -> tuple[tuple[ChainId, BlockNumber], ...]:
    """The highest block of the events by chain."""
    highest: dict[ChainId, BlockNumber] = {}
    for event in _block_events(events):
        chain_id = origin.chain_of(event)
        if chain_id is not None and event.block is not None:
            highest[chain_id] = max(event.block, highest.get(chain_id, event.block))
    return tuple(sorted(highest.items()))


def readings(standing: Iterable[TransferEvent], origin: Origin) -> tuple[tuple[ChainId, ChainReading], ...]:
    """How far chains were read, as the canonical events show; nothing before the send is known.

    A submission may name other chains than the send (docs/interface.md#reorgs).
    """
    if not origin.is_sent:
        return ()
    found: dict[ChainId, ChainReading] = {}
    for event in _block_events(standing):
        chain_id = origin.chain_of(event)
        if chain_id is not None:
            found[chain_id] = ChainReading(event.block, event.at).furthest(found.get(chain_id))
    return tuple(sorted(found.items()))


def _block_events(events: Iterable[TransferEvent]) -> Iterable[BlockEvent]:
    return (event for event in events if isinstance(event, BlockEvent))
