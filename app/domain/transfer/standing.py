"""Which accepted events stand.

An event stands from its acceptance until a reorg of its chain, accepted later, reaches its block,
or an operator retracts it. Accepted again, it stands again. What stands follows from the log alone;
between two reorgs of a chain the order of acceptance does not matter (docs/interface.md#standing).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from app.domain.keys import BlockNumber, ChainId
from app.domain.transfer.events import (
    BlockEvent,
    Event,
    Side,
    TransferConfirmed,
    TransferEvent,
    TransferSent,
    TransferSubmitted,
)
from app.domain.transfer.subjects import EventKey

E_co = TypeVar("E_co", bound=Event, covariant=True)


@dataclass(frozen=True, slots=True)
class Logged(Generic[E_co]):
    """One acceptance of an event; ``seq`` is its position in the log."""

    seq: int
    event: E_co


@dataclass(frozen=True, slots=True)
class Reorg:
    """A standing ``chain.reorged`` and its position in the log."""

    seq: int
    chain_id: ChainId
    from_block: BlockNumber

    def reaches(self, chain_id: ChainId | None, block: BlockNumber | None, accepted: int) -> bool:
        """Whether it orphans an event of that chain and block that was accepted at that position."""
        return (
            block is not None
            and chain_id == self.chain_id
            and accepted < self.seq
            and block >= self.from_block
        )


def as_told_last(log: Sequence[Logged[E_co]]) -> Sequence[Logged[E_co]]:
    """Acceptances of one subject, each with all that is known of its event now.

    A later acceptance of an id can only add to what an earlier one says.
    """
    latest = {logged.event.id: logged.event for logged in log}
    if len(latest) == len(log):
        return log
    return [Logged(logged.seq, latest[logged.event.id]) for logged in log]


Retracted = Mapping[str, int]
"""Ids of events of one subject to the position in the log of the latest standing retraction of each."""


@dataclass(frozen=True, slots=True)
class Retraction:
    """One ``events.retracted``, its position in the log, and what it names."""

    seq: int
    key: EventKey
    targets: Collection[EventKey]


def retracted_by(retractions: Iterable[Retraction]) -> Mapping[EventKey, int]:
    """What the standing retractions retract, and the position in the log of the latest that does.

    A retraction stands unless a later one that stands names it, so the latest is looked at first
    (docs/interface.md#retractions).
    """
    retracted: dict[EventKey, int] = {}
    for retraction in sorted(retractions, key=lambda r: r.seq, reverse=True):
        if retracted.get(retraction.key, 0) < retraction.seq:
            for target in retraction.targets:
                retracted.setdefault(target, retraction.seq)
    return retracted


@dataclass(frozen=True, slots=True)
class Origin:
    """A transfer's two chains: those of its send, else of its submission, standing or not."""

    src_chain_id: ChainId | None = None
    dst_chain_id: ChainId | None = None
    is_sent: bool = False
    """Whether a send tells them, which a chain has. What a submission says is a claim."""

    def chain_of(self, event: TransferEvent) -> ChainId | None:
        """The chain that the event's block belongs to; None where it is not known yet."""
        if isinstance(event, TransferSent):
            return event.src_chain_id
        if event.side is Side.SOURCE:
            return self.src_chain_id
        return self.dst_chain_id if event.side is Side.DESTINATION else None


def origin_of(events: Iterable[TransferEvent]) -> Origin:
    """The origin that all events of one transfer tell together: the earliest send, else submission."""
    sends: list[TransferSent] = []
    submissions: list[TransferSubmitted] = []
    for event in events:
        if isinstance(event, TransferSent):
            sends.append(event)
        elif isinstance(event, TransferSubmitted):
            submissions.append(event)
    send = min(sends, key=lambda e: e.order, default=None)
    first = send or min(submissions, key=lambda e: e.order, default=None)
    return Origin(first.src_chain_id, first.dst_chain_id, send is not None) if first else Origin()


@dataclass(frozen=True, slots=True)
class ChainReading:
    """How far standing events show that a chain was read."""

    highest_block: BlockNumber | None
    newest_at: datetime

    def furthest(self, other: ChainReading | None) -> ChainReading:
        """The higher block and the newer time of the two."""
        if other is None:
            return self
        blocks = [block for block in (self.highest_block, other.highest_block) if block is not None]
        return ChainReading(max(blocks, default=None), max(self.newest_at, other.newest_at))


def standing_of_transfer(
    log: Sequence[Logged[TransferEvent]], reorgs: Sequence[Reorg]
) -> list[TransferEvent]:
    """The events of one transfer that stand.

    :param log: every acceptance of every event of the transfer, in the order of the log.
    :param reorgs: at least those of the transfer's chains accepted after its first event.
    """
    latest = {logged.event.id: logged for logged in log}
    if not reorgs:
        return [logged.event for logged in latest.values()]
    origin = origin_of(logged.event for logged in log)
    send_orphaned = max(
        (_orphaned_by(logged, origin, reorgs) for logged in log if isinstance(logged.event, TransferSent)),
        default=0,
    )
    return [
        logged.event
        for logged in latest.values()
        if not _orphaned_by(logged, origin, reorgs)
        and not (isinstance(logged.event, TransferConfirmed) and logged.seq < send_orphaned)
    ]


def _orphaned_by(logged: Logged[TransferEvent], origin: Origin, reorgs: Sequence[Reorg]) -> int:
    """The position in the log of the first reorg that reaches this acceptance; 0: none."""
    event = logged.event
    if not isinstance(event, BlockEvent) or event.block is None:
        return 0
    chain_id = origin.chain_of(event)
    return min((r.seq for r in reorgs if r.reaches(chain_id, event.block, logged.seq)), default=0)


def not_retracted(
    log: Sequence[Logged[TransferEvent]], retracted: Retracted, reorgs: Sequence[Reorg] = ()
) -> Sequence[Logged[TransferEvent]]:
    """The acceptances that no standing retraction names.

    As with a reorg, the confirmations accepted before a retracted send's retraction fall with it. A send
    that a reorg had taken back before took its confirmations then: later ones are another send's.
    """
    if not retracted:
        return log
    send_gone = max(
        (_gone_at(logged, retracted, reorgs) for logged in log if isinstance(logged.event, TransferSent)),
        default=0,
    )
    return [
        logged
        for logged in log
        if logged.seq > retracted.get(logged.event.id, 0)
        and not (isinstance(logged.event, TransferConfirmed) and logged.seq < send_gone)
    ]


def _gone_at(logged: Logged[TransferEvent], retracted: Retracted, reorgs: Sequence[Reorg]) -> int:
    """The position in the log at which a send that was retracted stopped standing; 0: it was not."""
    by_operator = retracted.get(logged.event.id, 0)
    if by_operator <= logged.seq:
        return 0
    by_reorg = _orphaned_by(logged, origin_of([logged.event]), reorgs)
    return min(by_reorg or by_operator, by_operator)


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
    """How far the standing events show that chains were read; nothing before the send is known.

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
