"""What became of each accepted event of a transfer: it stands, or why it fell.

What stands is decided by ``standing`` alone; here it is only told apart why an acceptance does not.
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


@dataclass(frozen=True, slots=True)
class EventWithOutcome:
    """One acceptance and what became of it.

    ``chain_id`` is the chain of its block, None where that is not known. ``by``: the place in the log
    of the reorg or retraction that took it back, or of the later acceptance that counts in its stead.
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


def event_outcomes(history: TransferHistory) -> Iterator[EventWithOutcome]:
    """Every acceptance in the order of the log."""
    standing = {event.id for event in standing_of_transfer(history.kept(), history.reorgs)}
    latest = {logged.event.id: logged.seq for logged in history.log}
    origin = origin_of(logged.event for logged in history.log)
    for logged in history.log:
        event = logged.event
        chain_id = origin.chain_of(event) if isinstance(event, BlockEvent) else None
        if event.id in standing and latest[event.id] == logged.seq:
            yield EventWithOutcome(logged.seq, event, EventOutcome.STANDS, chain_id)
        else:
            outcome, by = _why_fallen(history, logged, origin, latest[event.id])
            yield EventWithOutcome(logged.seq, event, outcome, chain_id, by)


def _why_fallen(
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
    assert isinstance(event, TransferConfirmed)  # noqa: S101  the only kind that falls with another
    return EventOutcome.SEND_GONE, None


def _reorg_reaching(history: TransferHistory, logged: Logged[TransferEvent], origin: Origin) -> int:
    """The first reorg that reaches the acceptance, by its place in the log; 0: none."""
    event = logged.event
    if not isinstance(event, BlockEvent):
        return 0
    chain_id = origin.chain_of(event)
    reaching = (r.seq for r in history.reorgs if r.reaches(chain_id, event.block, logged.seq))
    return min(reaching, default=0)
