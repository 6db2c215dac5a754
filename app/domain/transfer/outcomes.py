"""What became of each acceptance of a transfer's events: it stands, or why it does not.

What stands is decided by ``standing`` alone. This module finds the reason for the others.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from enum import StrEnum

from app.domain.keys import ChainId
from app.domain.transfer.events import BlockEvent, TransferConfirmed, TransferEvent
from app.domain.transfer.history import TransferHistory
from app.domain.transfer.standing import Logged, Origin, concerned_chain, standing_of_transfer


class EventOutcome(StrEnum):
    """Why an acceptance counts or does not."""

    STANDS = "stands"
    REORGANISED = "reorganised"
    RETRACTED = "retracted"
    SEND_GONE = "send_gone"
    REPEATED = "repeated"
    QUARANTINED = "quarantined"
    """Its reporter is limited to some chains, and no send says that the transfer is one of theirs."""
    NOT_COUNTED = "not_counted"
    """It is about other chains than the transfer's send: of a limited reporter, or read on another chain."""
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
    origin = history.origin()
    counted = {logged.seq: logged for logged in history.counted(origin)}
    standing = standing_of_transfer(list(counted.values()), history.reorgs, origin)
    stands = {(event.id, type(event)) for event in standing}
    latest = {(logged.event.id, type(logged.event)): logged.seq for logged in history.log}
    for logged in history.log:
        event = logged.event
        key = event.id, type(event)
        chain_id = origin.chain_of(event) if isinstance(event, BlockEvent) else None
        if key in stands and latest[key] == logged.seq and logged.seq in counted:
            yield AcceptanceOutcome(logged.seq, event, EventOutcome.STANDS, chain_id)
        else:
            outcome, by = _why_not_standing(history, logged, origin, latest[key], counted)
            yield AcceptanceOutcome(logged.seq, event, outcome, chain_id, by)


def _why_not_standing(
    history: TransferHistory,
    logged: Logged[TransferEvent],
    origin: Origin,
    latest: int,
    counted: Container[int],
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
    if seq not in counted and logged.chains is not None and concerned_chain(event, origin) is None:
        return EventOutcome.QUARANTINED, None
    if isinstance(event, TransferConfirmed) and seq in counted:
        return EventOutcome.SEND_GONE, None
    return EventOutcome.NOT_COUNTED, None


def _reorg_reaching(history: TransferHistory, logged: Logged[TransferEvent], origin: Origin) -> int:
    """The position in the log of the first reorg that reaches the acceptance; 0: none."""
    event = logged.event
    if not isinstance(event, BlockEvent):
        return 0
    chain_id = origin.chain_of(event)
    reaching = (r.seq for r in history.reorgs if r.reaches(chain_id, event.block, logged.seq))
    return min(reaching, default=0)
