"""Which reports of others cannot be compared with a block yet, as not all of it was reported.

A log waits for what its token, its chain, its send or its queue is, or cannot be read at all. And a refund is
reported only when it is deep enough.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec import Struct

from app.transfers.rules.events.event_types import Event, RefundCompleted
from app.transfers.rules.events.renumbered import log_name
from app.values.identifiers import BlockNumber, TransferId
from app.watcher.rules.logs.payouts import tx_of
from app.watcher.rules.steps import Waiting, WaitingKind


class HalfKnown(Struct, frozen=True):
    """Transactions of which not all was reported, and refunds that are not deep enough.

    :param txs: the beginnings of the ids of their logs, each with its block.
    """

    txs: Mapping[str, BlockNumber]
    refunds: Collection[TransferId]

    def holds(self, event: Event, block: BlockNumber) -> bool:
        """Whether an event that is reported of this block may be about one of these."""
        if isinstance(event, RefundCompleted) and event.transfer_id in self.refunds:
            return True
        tx = _tx_of(event)
        return any(number == block and tx in (None, _hash_in(name)) for name, number in self.txs.items())


def half_known(waiting: Collection[Waiting], unreadable: Mapping[str, BlockNumber]) -> HalfKnown:
    """:param unreadable: transactions with logs that cannot be read, as in ``HalfKnown.txs``."""
    queued = {each.key for each in waiting if each.kind is WaitingKind.QUEUED}
    txs = dict(unreadable)
    for each in waiting:
        if each.kind is WaitingKind.UNKNOWN:
            txs[tx_of(each.facts["place"]["id"])] = each.block
        elif each.kind is WaitingKind.EXECUTED and each.key not in queued:
            txs[tx_of(each.facts["id"])] = each.block
    depth = (each for each in waiting if each.kind is WaitingKind.REFUND_DEPTH)
    return HalfKnown(txs, {TransferId(bytes.fromhex(each.facts["transfer_id"])) for each in depth})


def _tx_of(event: Event) -> str | None:
    if (name := log_name(event)) is not None:
        return _hash_in(name.tx)
    found = (getattr(event, field, None) for field in ("src_tx_hash", "dst_tx_hash", "tx_hash"))
    return next((tx for tx in found if tx is not None), None)


def _hash_in(event_id: str) -> str:
    return event_id.split(":")[2]
