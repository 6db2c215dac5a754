"""How far a transfer has come, for programs: with what its row says, how long its route takes, and how new
the gateway's view is (docs/interface.md#progress)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Protocol

from app.domain.codes import FINISHED_STATUSES, TransferHistoryStatus
from app.domain.finality import UNREAD, FinalBy, is_final
from app.domain.keys import BlockNumber, ChainId
from app.domain.transfer.progress import UNKNOWN_TIMES, Progress, RouteTimes, follows_route, progress_of
from app.queries.transfers.trends import chain_depths, last_event
from app.runtime.gateway import Gateway
from app.services.latency import route_times


class Known(Protocol):
    """What progress follows from: the row of a transfer, or its state as it is folded from its log."""

    @property
    def status(self) -> int:
        """A ``TransferHistoryStatus``."""

    @property
    def sent_at(self) -> datetime | None:
        """When its standing send happened."""

    @property
    def status_since(self) -> datetime | None:
        """When the event happened that decides the status."""

    @property
    def settled_block(self) -> BlockNumber | None:
        """The block that its end rests on; None where none is known."""

    @property
    def src_chain_id(self) -> ChainId | None:
        """Where it is sent from."""

    @property
    def dst_chain_id(self) -> ChainId | None:
        """Where it is paid out."""


def taken_in_at(gateway: Gateway) -> datetime | None:
    """When the newest event was accepted, as it was read a moment ago; None before the first.

    To be asked before what it is said of is read: all that was accepted by then is in that.
    """
    event, _ = gateway.kept_reads.ask(last_event, lambda: gateway.public_reads.ask(last_event))
    return None if event is None else event.received_at


def progress_of_row(gateway: Gateway, row: Known) -> Progress:
    """The progress of a transfer now."""
    status = TransferHistoryStatus(row.status)
    return progress_of(
        status,
        sent_at=row.sent_at,
        status_since=row.status_since,
        now=gateway.clock(),
        times=_times(gateway, row) if follows_route(status) else UNKNOWN_TIMES,
        final_by=_final_by(gateway, row, status) if status in FINISHED_STATUSES else None,
    )


def _final_by(gateway: Gateway, row: Known, status: TransferHistoryStatus) -> FinalBy | None:
    """Why the end of a transfer is final; None while its block is not.

    The depth of the chains may be a moment old: then an end is final a moment later.
    """
    if row.settled_block is None:
        return FinalBy.REPORTED
    is_paid_out = status is TransferHistoryStatus.TRANSFER_COMPLETED
    chain_id = row.dst_chain_id if is_paid_out else row.src_chain_id
    if chain_id is None:
        return None
    snapshot = gateway.snapshots.current()
    chain = snapshot.terms.chain_infos.get(chain_id)
    depths, _ = gateway.kept_reads.ask(chain_depths, lambda: gateway.public_reads.ask(chain_depths))
    finality, block_delay = (chain.finality, chain.block_delay) if chain else (None, None)
    depth = depths.get(chain_id, UNREAD)
    if chain_id not in snapshot.watching.terms:
        depth = replace(depth, finalized=None)  # a watcher that read it once left its last word
    return FinalBy.BLOCK if is_final(row.settled_block, depth, finality, block_delay) else None


def _times(gateway: Gateway, row: Known) -> RouteTimes:
    if row.src_chain_id is None or row.dst_chain_id is None:
        return UNKNOWN_TIMES
    return route_times(gateway, row.src_chain_id, row.dst_chain_id)
