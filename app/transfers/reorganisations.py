"""Which accepted events are canonical.

An event is canonical from its acceptance until a reorg of its chain, accepted later, reaches its block,
or an operator retracts it. Accepted again, it is canonical again. This follows only from the log.
Between two reorgs of a chain the order of acceptance does not matter (docs/interface.md#standing).
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence, Set
from datetime import datetime
from typing import Any, Final, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from app.transfers.contents import agree, together
from app.transfers.event_fields import MAX_BLOCK
from app.transfers.events import (
    BlockEvent,
    ChainReorged,
    Event,
    EventsRetracted,
    PlacedEvent,
    TransferConfirmed,
    TransferEvent,
    TransferFailed,
    TransferSent,
    TransferSubmitted,
)
from app.transfers.ids import is_proven
from app.transfers.subjects import EventKey, Side
from app.values.identifiers import BlockNumber, ChainId

E_co = TypeVar("E_co", bound=Event, covariant=True)


class Logged(Struct, Generic[E_co], frozen=True):
    """One acceptance of an event; ``seq`` is its position in the log.

    ``chains`` are those that its reporter was limited to, None without a limit. Events of other chains do
    not count.
    """

    seq: int
    event: E_co
    chains: frozenset[int] | None = None


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


def as_reported_last(log: Sequence[Logged[E_co]]) -> Sequence[Logged[E_co]]:
    """Acceptances of one subject, each with its event as reported last.

    Among reporters with the same limits a later acceptance of an id can only add to an earlier one.
    """
    latest = {(logged.event.id, logged.chains): logged.event for logged in log}
    if len(latest) == len(log):
        return log
    return [Logged(logged.seq, latest[logged.event.id, logged.chains], logged.chains) for logged in log]


Retracted = Mapping[str, int]
"""Ids of events of one subject to the position in the log of the latest canonical retraction of each."""


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


class Origin(Struct, frozen=True):
    """A transfer's two chains: those of its send, else of its submission, canonical or not."""

    src_chain_id: ChainId | None = None
    dst_chain_id: ChainId | None = None
    is_sent: bool = False
    """Whether a send, which is on a chain, names them. A submission is only a claim."""
    is_proven: bool = False
    """Whether that send's fields give its id. Then no other event that names chains counts."""

    def own_chain_of(self, event: TransferEvent) -> ChainId | None:
        """The transfer's chain on which such an event happens; None where it is not known yet."""
        if event.side is Side.DESTINATION:
            return self.dst_chain_id
        return self.src_chain_id

    def chain_of(self, event: TransferEvent) -> ChainId | None:
        """The chain that the event's block belongs to; None where it is not known yet."""
        if isinstance(event, TransferSent):
            return event.src_chain_id
        if isinstance(event, PlacedEvent) and event.chain_id is not None:
            return event.chain_id
        return self.own_chain_of(event) if event.side is not None else None

    def is_misplaced(self, event: TransferEvent) -> bool:
        """Whether the event was read on another chain than the transfer's own."""
        if not isinstance(event, PlacedEvent) or event.chain_id is None:
            return False
        return self.own_chain_of(event) not in (None, event.chain_id)


def origin_of(log: Sequence[Logged[TransferEvent]]) -> Origin:
    """The origin that follows from all acceptances of one transfer.

    It is that of its send: a proven one first, then one of a reporter without limits, then the earliest in
    the chain. Without a send it is that of the first submission, of reporters without limits first.
    """
    sends: list[Logged[TransferSent]] = []
    submissions: list[Logged[TransferSubmitted]] = []
    for logged in log:
        if isinstance(logged.event, TransferSent):
            sends.append(logged)  # type: ignore[arg-type]  # its event was checked
        elif isinstance(logged.event, TransferSubmitted):
            submissions.append(logged)  # type: ignore[arg-type]  # as above
    if sends:
        first = sends[0] if len(sends) == 1 else min(sends, key=_rank)
        proven = _needs_proof(log) and is_proven(first.event)
        return Origin(first.event.src_chain_id, first.event.dst_chain_id, True, proven)
    if submissions:
        announced = min(submissions, key=lambda each: (each.chains is not None, each.event.order)).event
        return Origin(announced.src_chain_id, announced.dst_chain_id)
    return Origin()


def _rank(send: Logged[TransferSent]) -> tuple[Any, ...]:
    """The order of sends, the one that decides first."""
    return not is_proven(send.event), send.chains is not None, send.event.order


def _needs_proof(log: Sequence[Logged[TransferEvent]]) -> bool:
    """Whether other events than the send name chains, so that a proof decides something."""
    return sum(isinstance(each.event, TransferSent | TransferSubmitted) for each in log) > 1


def concerned_chain(event: TransferEvent, origin: Origin) -> ChainId | None:
    """The chain that the event's reporter must be admitted to for it to count; None where it is not known.

    For a send or submission it is the source chain. For other events it is the chain that they happen on,
    and the source chain for those without a block (the network's status, the steps of a refund). A
    submission is only an announcement: its chains only count for a failure, which no send precedes.
    """
    if isinstance(event, TransferSubmitted | TransferSent):
        return event.src_chain_id
    if origin.is_sent or isinstance(event, TransferFailed):
        return origin.own_chain_of(event)
    return None


def counting(log: Sequence[Logged[TransferEvent]], origin: Origin) -> Sequence[Logged[TransferEvent]]:
    """The acceptances that count for the transfer, by the chain they were read on and their reporter.

    Where reporters with different limits used one id and agree, it is one event. Otherwise the report without
    limits counts, or else the one with the lowest chains.
    """
    placed = [each for each in log if _counts(each, origin)]
    if all(each.chains is None for each in placed):
        return placed
    merged: dict[str, TransferEvent] = {}
    for each in sorted(placed, key=_trust):
        known = merged.setdefault(each.event.id, each.event)
        if known is not each.event and agree(known, each.event):
            merged[each.event.id] = together(known, each.event)
    return [
        Logged(each.seq, merged[each.event.id], each.chains)
        for each in placed
        if agree(merged[each.event.id], each.event)
    ]


def _trust(logged: Logged[TransferEvent]) -> tuple[Any, ...]:
    return logged.chains is not None, sorted(logged.chains or ()), logged.seq


def _counts(logged: Logged[TransferEvent], origin: Origin) -> bool:
    event = logged.event
    if origin.is_misplaced(event):
        return False
    if origin.is_proven and isinstance(event, TransferSubmitted) and not _names(event, origin):
        return False
    if logged.chains is None:
        return True
    if isinstance(event, TransferSent) and not is_proven(event):
        return False
    return concerned_chain(event, origin) in logged.chains


def _names(submission: TransferSubmitted, origin: Origin) -> bool:
    """Whether a submission names the chains of the origin, as far as it names any."""
    return submission.src_chain_id == origin.src_chain_id and submission.dst_chain_id in (
        None,
        origin.dst_chain_id,
    )


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
    """The canonical events of one transfer.

    :param log: every acceptance that counts, of all events of the transfer, in the order of the log.
    :param reorgs: at least those of the transfer's chains accepted after its first event.
    """
    latest = {logged.event.id: logged for logged in log}
    standing = list(latest.values()) if not reorgs else _not_orphaned(latest.values(), log, reorgs, origin)
    return [logged.event for logged in trusted(standing)]


def trusted(standing: Sequence[Logged[TransferEvent]]) -> Sequence[Logged[TransferEvent]]:
    """Without the sends of limited reporters, where a send of a reporter without limits is proven."""
    sends = [each for each in standing if isinstance(each.event, TransferSent)]
    if len(sends) < 2 or all(each.chains is None for each in sends):
        return standing
    if not any(each.chains is None and is_proven(each.event) for each in sends):
        return standing
    return [each for each in standing if each.chains is None or not isinstance(each.event, TransferSent)]


def _not_orphaned(
    latest: Iterable[Logged[TransferEvent]],
    log: Sequence[Logged[TransferEvent]],
    reorgs: Sequence[Reorg],
    origin: Origin,
) -> list[Logged[TransferEvent]]:
    sends = (logged for logged in log if isinstance(logged.event, TransferSent))
    sends_gone = [gone for send in sends if (gone := _orphaning(send, origin, reorgs)) is not None]
    return [
        logged
        for logged in latest
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
