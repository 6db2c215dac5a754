"""What the bearer of an ingest token may report: which event types, of which chains."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from app.domain.transfer.events import (
    ChainEvent,
    ChainReorged,
    Event,
    EventType,
    FeeUpdated,
    Side,
    TransferEvent,
    TransferFailed,
    TransferSent,
    TransferSubmitted,
)

UNKNOWN_YET = (
    "transfer_id: this token is limited to some chains, and the chain of this event follows from the "
    "transfer's send, which is not known yet; send it again after the send"
)


@dataclass(frozen=True, slots=True)
class Scope:
    """Event types and chains; None is all of them."""

    types: frozenset[EventType] | None = None
    chains: frozenset[int] | None = None

    def refusal(self, event: Event, known: Iterable[TransferEvent]) -> str | None:
        """Why the event is outside of the scope; None where it is inside.

        What cannot be shown to be of an allowed chain is outside.

        :param known: for an event about a transfer, what is known of the transfer, standing or not.
        """
        if self.types is not None and event.type not in self.types:
            return f"type: {event.type} is outside this token's scope"
        if self.chains is None:
            return None
        chains = chains_of(event, known)
        if not chains:
            return UNKNOWN_YET
        outside = sorted(chains - self.chains)
        return f"chain {outside[0]} is outside this token's scope" if outside else None

    def has_chain(self, chain_id: int | None) -> bool:
        """Whether what is of this chain is the bearer's business; None: its chain is not known."""
        return self.chains is None or chain_id in self.chains


EVERYTHING = Scope()


def chains_of(event: Event, known: Iterable[TransferEvent]) -> frozenset[int]:
    """The chains an event is of; none where that is not known (yet).

    A fee is of both chains of its route. A send or submission names its source chain. Other events
    about a transfer are of the chain that their block is of. Those without a block (the network's
    status, the steps of a refund) are of the source chain; where sends disagree about it, of each that
    they name. A submission is only an announcement: it only tells the chain of a failure, which no send
    precedes.
    """
    if isinstance(event, ChainEvent | ChainReorged):
        return frozenset({event.chain_id})
    if isinstance(event, FeeUpdated):
        return frozenset({event.src_chain_id, event.dst_chain_id})
    if isinstance(event, TransferSubmitted | TransferSent):
        return frozenset({event.src_chain_id})
    if not isinstance(event, TransferEvent):
        return frozenset()
    events = list(known)
    sends = [each for each in events if isinstance(each, TransferSent)]
    if event.side is Side.DESTINATION:
        return frozenset(send.dst_chain_id for send in sends)
    if not sends and isinstance(event, TransferFailed):
        return frozenset(each.src_chain_id for each in events if isinstance(each, TransferSubmitted))
    return frozenset(send.src_chain_id for send in sends)
