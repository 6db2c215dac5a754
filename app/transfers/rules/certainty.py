"""How sure the gateway is of the event that a transfer's status rests on: who reported it, and whether its
chain proves it. It decides nothing: a status counts, no matter who reported it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct

from app.transfers.rules.events.canonical import orphaned_by
from app.transfers.rules.events.event_types import (
    BlockEvent,
    NetworkStatus,
    RefundCompleted,
    RefundDelayed,
    RefundRequested,
    TransferConfirmed,
    TransferDelayed,
    TransferEvent,
    TransferFailed,
    TransferReleased,
    TransferSent,
    TransferSubmitted,
)
from app.transfers.rules.history import TransferHistory
from app.transfers.rules.status import CanonicalEvents
from app.values.codes import TransferHistoryStatus as Status
from app.values.identifiers import BlockNumber, ChainId

WATCHER: Final = "watcher"
"""The reporter of everything that the gateway itself read from a chain."""


class Level(StrEnum):
    PROVEN = "proven"
    """The gateway read it from the chain, and its block is proven (``SpanState.PROVEN``), not passed over."""

    REPORTED = "reported"
    """Somebody reported it, or the gateway read it and its block is not proven yet."""

    UNKNOWN = "unknown"
    """No event of the transfer is canonical."""


class ReportedBy(StrEnum):
    GATEWAY = "gateway"
    """The gateway, which read the chain."""

    REPORTER = "reporter"
    """A machine of the bridge, or an operator."""


class ChainProof(Struct, frozen=True):
    """The known facts about a chain's blocks: ``read_to`` is the highest that was reported.

    All from ``proven_from`` to ``proven_to`` are proven, except those of ``unmatched``. None where there is
    no such block.
    """

    read_to: BlockNumber | None = None
    proven_from: BlockNumber | None = None
    proven_to: BlockNumber | None = None
    unmatched: frozenset[BlockNumber] = frozenset()

    def proves(self, block: BlockNumber) -> bool:
        if self.proven_from is None or self.proven_to is None:
            return False
        return self.proven_from <= block <= self.proven_to and block not in self.unmatched


class Certainty(Struct, frozen=True):
    """:param event: the type of the event that the status rests on; empty where it rests on none, such as on
        a quorum of signatures.
    :param chain_id: the chain of that event, None where it happened on none. ``block`` likewise.
    :param as_of_block: where it is proven, the newest proven block of that chain; otherwise the highest one
        that was reported. None where neither is known.
    """

    level: Level
    event: str = ""
    reported_by: ReportedBy | None = None
    chain_id: ChainId | None = None
    block: BlockNumber | None = None
    as_of_block: BlockNumber | None = None


UNKNOWN: Final = Certainty(Level.UNKNOWN)

_RESTS_ON: Final[Mapping[Status, tuple[type[TransferEvent], ...]]] = {
    Status.TRANSFER_SUBMITTING: (TransferSent, TransferSubmitted),
    Status.TRANSFER_FAILED: (TransferFailed,),
    Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION: (TransferConfirmed, NetworkStatus),
    Status.TRANSFER_WAITING_FOR_FUND_RELEASE: (NetworkStatus,),
    Status.TRANSFER_COMPLETED: (TransferReleased,),
    Status.TRANSFER_TO_BE_REFUNDED: (NetworkStatus,),
    Status.TRANSFER_REQUESTING_REFUND: (RefundRequested, NetworkStatus),
    Status.TRANSFER_REFUNDED: (RefundCompleted, NetworkStatus),
    Status.TRANSFER_DELAYED: (TransferDelayed,),
}
"""By status the events that it can rest on, as ``status.TABLE`` has them. 8 rests on signatures."""


def certainty_of(
    status: Status,
    history: TransferHistory,
    read: Collection[int],
    proofs: Mapping[ChainId, ChainProof],
) -> Certainty:
    """How sure the status of a transfer is. Of several events that it rests on, the surest counts.

    Refund requests and signatures may be missing in ``history``, and unknown chains in ``proofs``. ``read``
    are positions in the log of what the gateway itself read from chains.
    """
    if status is Status.TRANSFER_UNKNOWN:
        return UNKNOWN
    origin = history.origin()
    counted = history.counted(origin)
    canonical = history.canonical(origin)
    ours = {
        each.event.id
        for each in counted
        if each.seq in read and not orphaned_by(each, origin, history.reorgs)
    }
    found = Certainty(Level.REPORTED)
    for event in _rests_on(status, canonical):
        chain_id = origin.chain_of(event) if isinstance(event, BlockEvent) else None
        proof = proofs.get(chain_id or ChainId(0), ChainProof())
        certainty = _of_event(event, chain_id, proof, is_read=event.id in ours)
        if _rank(certainty) > _rank(found):
            found = certainty
    return found


def _rests_on(status: Status, canonical: CanonicalEvents) -> Iterable[TransferEvent]:
    if status is Status.TRANSFER_CONFIRMING_YOUR_REFUND:
        yield from canonical.every(RefundDelayed) or canonical.refunds_under_way
    for event_type in _RESTS_ON.get(status, ()):
        if event_type is not NetworkStatus:
            yield from canonical.every(event_type)
        elif canonical.network_status is not None:
            yield canonical.network_status


def _of_event(
    event: TransferEvent, chain_id: ChainId | None, proof: ChainProof, *, is_read: bool
) -> Certainty:
    block = event.block if isinstance(event, BlockEvent) else None
    proven = is_read and block is not None and proof.proves(block)
    return Certainty(
        level=Level.PROVEN if proven else Level.REPORTED,
        event=event.type,
        reported_by=ReportedBy.GATEWAY if is_read else ReportedBy.REPORTER,
        chain_id=chain_id,
        block=block,
        as_of_block=proof.proven_to if proven else proof.read_to,
    )


def _rank(certainty: Certainty) -> tuple[bool, bool, bool, bool]:
    return (
        certainty.level is Level.PROVEN,
        certainty.reported_by is ReportedBy.GATEWAY,
        certainty.block is not None,
        certainty.reported_by is not None,
    )
