"""All reports about one transfer, which of them count, and the outcome of each.

Only ``canonical`` decides which events are canonical. This module finds why the others are not.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from datetime import datetime
from enum import StrEnum

from msgspec import Struct, field

from app.transfers.rules.events.canonical import (
    ChainReading,
    canonical_acceptances,
    canonical_of_transfer,
    not_retracted,
    orphaned_by,
    readings,
)
from app.transfers.rules.events.counting import (
    Logged,
    Origin,
    Retracted,
    admitted,
    announcing_only,
    concerned_chain,
    contradicting,
    counting,
    is_retracted,
    most_trusted,
    origin_of,
)
from app.transfers.rules.events.event_types import (
    BlockEvent,
    NetworkStatus,
    PlacedEvent,
    RefundCompleted,
    RefundDelayed,
    RefundPrepared,
    RefundSubmitted,
    TransferConfirmed,
    TransferEvent,
    TransferSent,
    TransferSubmitted,
)
from app.transfers.rules.events.reorganisations import Reorg
from app.transfers.rules.refunds.request_message import PaidIds
from app.transfers.rules.status import CanonicalEvents
from app.values.codes import XferStatus
from app.values.identifiers import ChainId, TransferId


class TransferHistory(Struct, frozen=True):
    """The whole log of one transfer, with the reorgs and retractions that may reach its events."""

    transfer_id: TransferId
    log: Sequence[Logged[TransferEvent]]
    reorgs: Sequence[Reorg] = ()
    retracted: Retracted = field(default_factory=dict)
    paid_ids: PaidIds = field(default_factory=dict)
    """The withdraw ids of its requests that were paid for other transfers."""
    requested_at: datetime | None = None
    """When its user requested the refund. That request is no event, so it is stored outside the log."""
    ahead: frozenset[int] = frozenset()
    """Positions in the log of acceptances whose time is in the future."""

    def with_log(self, log: Sequence[Logged[TransferEvent]]) -> TransferHistory:
        """A copy with another log. Made for each event of the feed: ``replace`` takes much longer."""
        return TransferHistory(
            self.transfer_id,
            log,
            self.reorgs,
            self.retracted,
            self.paid_ids,
            self.requested_at,
            self.ahead,
        )

    def so_far(self) -> Sequence[Logged[TransferEvent]]:
        """The acceptances whose time has passed."""
        return [each for each in self.log if each.seq not in self.ahead] if self.ahead else self.log

    def valid(self) -> Sequence[Logged[TransferEvent]]:
        """The acceptances whose time has passed and that no operator retracted."""
        return not_retracted(self.so_far(), self.retracted, self.reorgs)

    def origin(self) -> Origin:
        return origin_of(self.so_far(), self.retracted)

    def counted(self, origin: Origin | None = None) -> Sequence[Logged[TransferEvent]]:
        """Reports are merged before retractions are applied: what either of two reporters said of a fact
        stays known, whichever is retracted.
        """
        merged = counting(self.so_far(), origin or self.origin())
        return not_retracted(merged, self.retracted, self.reorgs)

    def canonical(self, origin: Origin | None = None) -> CanonicalEvents:
        """The canonical events. ``origin`` is the result of :meth:`origin`, if the caller has it."""
        origin = origin or self.origin()
        counted = self.counted(origin)
        return canonical_events(counted, canonical_of_transfer(counted, self.reorgs, origin))

    def canonical_acceptances(self) -> Sequence[Logged[TransferEvent]]:
        """The acceptances that count and that nothing reached since, of reporters with any limits."""
        origin = self.origin()
        return canonical_acceptances(self.counted(origin), self.reorgs, origin)

    def describing(self, origin: Origin | None = None) -> Sequence[Logged[TransferEvent]]:
        return describing(self.counted(origin))

    def readings(self) -> tuple[tuple[ChainId, ChainReading], ...]:
        origin = self.origin()
        return readings(self.canonical(origin).events(), origin)

    def misplaced(self, origin: Origin) -> Sequence[TransferEvent]:
        """Events that were read on another chain than the transfer's, each once."""
        valid = not_retracted(admitted(self.so_far(), origin), self.retracted, self.reorgs)
        return list(dict.fromkeys(each.event for each in valid if origin.is_misplaced(each.event)))

    def contradicting(self) -> Sequence[TransferEvent]:
        """Sends whose fields contradict their id. They count for nothing."""
        return contradicting(self.valid())

    @property
    def is_known(self) -> bool:
        """Whether the log has more than quarantined events that wait for the transfer's send."""
        naming = TransferSent | TransferSubmitted
        return any(logged.chains is None or isinstance(logged.event, naming) for logged in self.log)

    def disputed_chains(self) -> frozenset[ChainId]:
        """All chains that its events name, canonical or not, if they disagree about its chains; else none.

        They disagree where sends and submissions name different chains, where an event was read on a chain
        that none of them names, and where a limited reporter has the send in another block than a reporter
        without limits.
        """
        naming = [
            each.event
            for each in self.log
            if isinstance(each.event, TransferSent)
            or (isinstance(each.event, TransferSubmitted) and each.chains is None)
        ]
        sources = {event.src_chain_id for event in naming}
        destinations = {event.dst_chain_id for event in naming}
        if any(isinstance(event, TransferSent) for event in naming):
            destinations.discard(None)  # a submission without a destination does not contradict a send
        placed = {each.event.chain_id for each in self.log if isinstance(each.event, PlacedEvent)}
        others = placed - sources - destinations - {None} if naming else set()
        if len(sources) < 2 and len(destinations) < 2 and not others and not self._has_other_blocks():
            return frozenset()
        named = sources | destinations | others
        return frozenset(chain_id for chain_id in named if chain_id is not None)

    def _has_other_blocks(self) -> bool:
        sends = [(each.event.block, each.chains) for each in self.log if isinstance(each.event, TransferSent)]
        blocks = {block for block, chains in sends if chains is None}
        return bool(blocks) and any(block not in blocks for block, _ in sends)

    @property
    def has_request(self) -> bool:
        """Whether a refund request was ever accepted."""
        return any(isinstance(logged.event, RefundPrepared) for logged in self.log)

    @property
    def requests(self) -> set[bytes]:
        """Every refund request that was ever accepted."""
        return {each.event.wd_onchain for each in self.log if isinstance(each.event, RefundPrepared)}

    @property
    def may_be_withdrawn(self) -> bool:
        """Whether it was ever reported that the contract took the user's withdraw, canonical or not. Without
        such a report none of its withdraw ids is paid.
        """
        return any(
            isinstance(each.event, RefundSubmitted | RefundDelayed | RefundCompleted)
            or (isinstance(each.event, NetworkStatus) and each.event.xfer_status is XferStatus.REFUND_DONE)
            for each in self.log
        )

    def origin_event(self, canonical: CanonicalEvents) -> TransferSent | TransferSubmitted | None:
        """The event that describes the transfer: a send before a submission, a canonical one first."""
        if (send := canonical.first(TransferSent)) is not None:
            return send
        ever = CanonicalEvents.of(dict.fromkeys(logged.event for logged in self.describing()))
        return ever.first(TransferSent) or canonical.first(TransferSubmitted) or ever.first(TransferSubmitted)


class EventOutcome(StrEnum):
    CANONICAL = "canonical"
    REORGANISED = "reorganised"
    RETRACTED = "retracted"
    SEND_GONE = "send_gone"
    REPEATED = "repeated"
    QUARANTINED = "quarantined"
    """Its reporter is limited to some chains, and no send shows that the transfer is on one of them."""
    NOT_COUNTED = "not_counted"
    """Its reporter is limited to other chains than the transfer's, or it was read on another chain."""
    AHEAD = "ahead"


class AcceptanceOutcome(Struct, frozen=True):
    """``chain_id`` is the chain of its block, None where that is not known. ``by`` is the position in the log
    of the reorg or retraction that reached it, or of the later acceptance that replaced it.
    """

    seq: int
    event: TransferEvent
    outcome: EventOutcome
    chain_id: ChainId | None = None
    by: int | None = None

    @property
    def is_canonical(self) -> bool:
        return self.outcome is EventOutcome.CANONICAL


def describing(counted: Sequence[Logged[TransferEvent]]) -> Sequence[Logged[TransferEvent]]:
    """The acceptances that count, without those that only announce the transfer."""
    announcing = announcing_only(counted)
    return [each for each in counted if each.event.id not in announcing] if announcing else counted


def canonical_events(
    counted: Sequence[Logged[TransferEvent]], canonical: Sequence[TransferEvent]
) -> CanonicalEvents:
    """``counted``: all acceptances of the transfer that count."""
    announcing = announcing_only(counted)
    if not announcing:
        return CanonicalEvents.of(canonical)
    announced_at = min((each.at for each in canonical if each.id in announcing), default=None)
    return CanonicalEvents.of((each for each in canonical if each.id not in announcing), announced_at)


def event_outcomes(history: TransferHistory) -> Iterator[AcceptanceOutcome]:
    """The outcome of every acceptance, in the order of the log."""
    origin = history.origin()
    counted = history.counted(origin)
    canonical = most_trusted(canonical_acceptances(counted, history.reorgs, origin))
    positions = {each.seq for each in canonical}
    contents = {each.seq: each.event for each in counted}  # the same for all reports of a fact
    facts = [contents.get(logged.seq, logged.event) for logged in history.log]
    latest = {fact: logged.seq for fact, logged in zip(facts, history.log, strict=True)}
    latest |= {each.event: each.seq for each in canonical}
    for logged, fact in zip(history.log, facts, strict=True):
        event = logged.event
        chain_id = origin.chain_of(event) if isinstance(event, BlockEvent) else None
        if logged.seq in positions:
            yield AcceptanceOutcome(logged.seq, event, EventOutcome.CANONICAL, chain_id)
        else:
            outcome, by = _why_not_canonical(history, logged, origin, latest[fact], contents)
            yield AcceptanceOutcome(logged.seq, event, outcome, chain_id, by)


def _why_not_canonical(
    history: TransferHistory,
    logged: Logged[TransferEvent],
    origin: Origin,
    latest: int,
    counted: Container[int],
) -> tuple[EventOutcome, int | None]:
    event, seq = logged.event, logged.seq
    reorg = orphaned_by(logged, origin, history.reorgs)
    retraction = history.retracted[event.id] if is_retracted(seq, event.id, history.retracted) else None
    if reorg and (retraction is None or reorg < retraction):
        return EventOutcome.REORGANISED, reorg
    if retraction is not None:
        return EventOutcome.RETRACTED, retraction
    if latest > seq or (latest != seq and seq in counted):
        return EventOutcome.REPEATED, latest
    if seq in history.ahead:
        return EventOutcome.AHEAD, None
    if seq not in counted and logged.chains is not None and concerned_chain(event, origin) is None:
        return EventOutcome.QUARANTINED, None
    if isinstance(event, TransferConfirmed) and seq in counted:
        return EventOutcome.SEND_GONE, None
    return EventOutcome.NOT_COUNTED, None
