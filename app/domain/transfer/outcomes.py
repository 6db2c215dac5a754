"""What became of each acceptance of a transfer's events: it stands, or why it does not.

What stands is decided by ``standing`` alone. This module finds the reason for the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from app.domain.keys import ChainId
from app.domain.transfer.events import BlockEvent, TransferConfirmed, TransferEvent
from app.domain.transfer.standing import Logged, Origin, origin_of, standing_of_transfer
from app.domain.transfer.state import TransferHistory


class EventOutcome(StrEnum):
    """Why an acceptance counts or does not."""

    STANDS = "stands"
    REORGANISED = "reorganised"
    RETRACTED = "retracted"
    SEND_GONE = "send_gone"
    REPEATED = "repeated"
    AHEAD = "ahead"


@dataclass(frozen=True, slots=True)
class AcceptanceOutcome:
    """One acceptance and what became of it.

    ``chain_id`` is the chain of its block, None where that is not known. ``by`` is the position in the log
    of the reorg or retraction that reached it, or of the later acceptance that counts instead.
    """

    seq: int
    event: TransferEvent
    outcome: EventOutcome
    chain_id: ChainId | None = None
    by: int | None = None

    @property
    def stands(self) -> bool:
        """Whether it counts."""
        return self.outcome is EventOutcome.STANDS


def event_outcomes(history: TransferHistory) -> Iterator[AcceptanceOutcome]:
    """Every acceptance in the order of the log."""
    standing = {event.id for event in standing_of_transfer(history.kept(), history.reorgs)}
    latest = {logged.event.id: logged.seq for logged in history.log}
    origin = origin_of(logged.event for logged in history.log)
    for logged in history.log:
        event = logged.event
        chain_id = origin.chain_of(event) if isinstance(event, BlockEvent) else None
        if event.id in standing and latest[event.id] == logged.seq:
            yield AcceptanceOutcome(logged.seq, event, EventOutcome.STANDS, chain_id)
        else:
            outcome, by = _why_not_standing(history, logged, origin, latest[event.id])
            yield AcceptanceOutcome(logged.seq, event, outcome, chain_id, by)


def _why_not_standing(
    history: TransferHistory, logged: Logged[TransferEvent], origin: Origin, latest: int
) -> tuple[EventOutcome, int | None]:
    event, seq = logged.event, logged.seq
    reorg = _reorg_reaching(history, logged, origin)
    retraction = history.retracted.get(event.id, 0)
    if reorg and (not retraction > seq or reorg < retraction):
        return EventOutcome.REORGANISED, reorg
    if retraction > seq:
        return EventOutcome.RETRACTED, retraction
    if latest > seq:
        return EventOutcome.REPEATED, latest
    if seq in history.ahead:
        return EventOutcome.AHEAD, None
    assert isinstance(event, TransferConfirmed)  # noqa: S101  no other kind falls with another event
    return EventOutcome.SEND_GONE, None


def _reorg_reaching(history: TransferHistory, logged: Logged[TransferEvent], origin: Origin) -> int:
    """The position in the log of the first reorg that reaches the acceptance; 0: none."""
    event = logged.event
    if not isinstance(event, BlockEvent):
        return 0
    chain_id = origin.chain_of(event)
    reaching = (r.seq for r in history.reorgs if r.reaches(chain_id, event.block, logged.seq))
    return min(reaching, default=0)
