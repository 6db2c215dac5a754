"""What the bearer of an ingest token may report: which event types, of which chains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from app.domain.transfer.event_types import EventType
from app.domain.transfer.events import (
    ChainEvent,
    ChainReorged,
    Event,
    FeeUpdated,
    PlacedEvent,
    TransferEvent,
    TransferSent,
)
from app.domain.transfer.proof import is_proven
from app.domain.transfer.standing import Origin, concerned_chain

UNPROVEN = (
    "transfer_id: this token is limited to some chains, so a send of its must give the transfer id by the "
    "contract's formula: send nonce, token and, of a deposit or burn, contract as the log has them"
)


@dataclass(frozen=True, slots=True)
class Scope:
    """Event types and chains; None is all of them.

    ``is_exported``: what is reported was admitted once under these limits, and is only taken in again.
    """

    types: frozenset[EventType] | None = None
    chains: frozenset[int] | None = None
    is_exported: bool = False

    def refusal(self, event: Event, known: Callable[[], Origin]) -> str | None:
        """Why the event is outside of the scope; None where it is inside, or where that is not known yet.

        :param known: for an event about a transfer, the transfer's chains as they are known.
        """
        if self.types is not None and event.type not in self.types:
            return f"type: {event.type} is outside this token's scope"
        if self.chains is None or self.is_exported:
            return None
        outside = sorted(_chains_of(event, known) - self.chains)
        if outside:
            return f"chain {outside[0]} is outside this token's scope"
        is_unproven = isinstance(event, TransferSent) and not is_proven(event)
        return UNPROVEN if is_unproven else None

    def has_chain(self, chain_id: int | None) -> bool:
        """Whether what is of this chain is the bearer's business; None: its chain is not known."""
        return self.chains is None or chain_id in self.chains


EVERYTHING = Scope()


def _chains_of(event: Event, known: Callable[[], Origin]) -> frozenset[int]:
    """The chains an event is of; none where that is not known (yet). A fee is of both chains of its route."""
    if isinstance(event, ChainEvent | ChainReorged):
        return frozenset({event.chain_id})
    if isinstance(event, FeeUpdated):
        return frozenset({event.src_chain_id, event.dst_chain_id})
    if not isinstance(event, TransferEvent):
        return frozenset()
    read_on = event.chain_id if isinstance(event, PlacedEvent) else None
    return frozenset(
        chain_id for chain_id in (concerned_chain(event, known()), read_on) if chain_id is not None
    )
