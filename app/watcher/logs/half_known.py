"""Which reports of others cannot be compared with a block yet, as not all of it was reported.

A log waits for what its token, its chain, its send or its queue is, or cannot be read at all. And a refund is
reported only when it is deep enough.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msgspec import Struct

from app.transfers.events import Event, RefundCompleted
from app.transfers.numbering import log_name
from app.values.identifiers import BlockNumber, TransferId
from app.watcher.blocks import Log
from app.watcher.steps import Waiting, WaitingKind


class HalfKnown(Struct, frozen=True):
    """Transactions of which not all was reported, by their blocks, and refunds that are not deep enough."""

    txs: Collection[tuple[BlockNumber, str]]
    refunds: Collection[TransferId]

    def holds(self, event: Event, block: BlockNumber) -> bool:
        """Whether an event that is reported of this block may be about one of these."""
        if isinstance(event, RefundCompleted) and event.transfer_id in self.refunds:
            return True
        tx = _tx_of(event)
        return any(number == block and tx in (None, other) for number, other in self.txs)


def half_known(waiting: Collection[Waiting], unreadable: Iterable[Log] = ()) -> HalfKnown:
    """What follows from what waits, and from logs that cannot be read."""
    queued = {each.key for each in waiting if each.kind is WaitingKind.QUEUED}
    txs = {(log.block, log.tx_hash) for log in unreadable}
    for each in waiting:
        if each.kind is WaitingKind.UNKNOWN:
            txs.add((each.block, _tx_in(each.facts["place"]["id"])))
        elif each.kind is WaitingKind.EXECUTED and each.key not in queued:
            txs.add((each.block, _tx_in(each.facts["id"])))
    depth = (each for each in waiting if each.kind is WaitingKind.REFUND_DEPTH)
    refunds = {TransferId(bytes.fromhex(each.facts["transfer_id"])) for each in depth}
    return HalfKnown(txs, refunds)


def _tx_of(event: Event) -> str | None:
    """The hash of the transaction that an event names."""
    if (name := log_name(event)) is not None:
        return _tx_in(name.tx)
    found = (getattr(event, field, None) for field in ("src_tx_hash", "dst_tx_hash", "tx_hash"))
    return next((tx for tx in found if tx is not None), None)


def _tx_in(event_id: str) -> str:
    return event_id.split(":")[2]
