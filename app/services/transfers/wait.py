"""Waiting until a transfer leaves a status, at most half a minute."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from app.domain.codes import TransferHistoryStatus as Status
from app.domain.keys import TransferId
from app.queries.transfers.status import TransferRow, transfer_row
from app.queries.waiting import Heads
from app.runtime.gateway import Gateway
from app.runtime.waiting import Waiter
from app.services.transfers.progress import progress_of_row, taken_in_at
from app.services.transfers.status import (
    TransferStatus,
    status_of,
    transfer_not_found,
    transfer_status,
)

LONGEST_SECONDS: Final = 30
"""How long a question may wait at most."""


class StatusWaiter(Waiter):
    """Somebody who waits until a transfer is at another status than one that is known to them.

    A transfer that is not known counts as one at status 0.
    """

    __slots__ = ("_after", "_error", "as_of", "over", "row", "transfer_id")

    reads_row = True

    def __init__(self, transfer_id: TransferId, after: int, until: float) -> None:
        super().__init__(transfer_id, until)
        self.transfer_id = transfer_id
        self._after = after
        self.row: TransferRow | None = None
        self.as_of: datetime | None = None
        """When the newest event was accepted that is in what it was told."""
        self._error: Exception | None = None
        self.over = False
        """Whether there is an answer."""

    def told(self, row: TransferRow | None, heads: Heads, *, last: bool) -> bool:
        """See ``Waiter.told``."""
        self.over = last or _status(row) != self._after
        if self.over:
            self.row, self.as_of = row, heads.taken_in_at
        return self.over

    def failed(self, error: Exception) -> None:
        """See ``Waiter.failed``."""
        self.row, self._error, self.over = None, error, True

    def found(self) -> TransferRow | None:
        """What is known at the end of the wait.

        :raises Exception: what kept it from being read.
        """
        if self._error is not None:
            raise self._error
        return self.row


def wait_for_status(
    gateway: Gateway, transfer_id: TransferId, after: int | None, seconds: float, network: str | None = None
) -> StatusWaiter | TransferStatus:
    """The status, where it is another one than ``after`` or nobody wants to wait; otherwise who waits for it.

    Whoever gets a waiter asks for :func:`status_at_last` once it is over, and removes it from
    ``gateway.waiting`` in any case.

    :param after: the number of the status that the caller knows, None for one who knows none.
    :param seconds: how long to wait.
    :param network: where the caller comes from, as ``Waiting.add`` takes it.
    :raises GatewayError: no such transfer, or too many wait.
    :raises Unavailable: the configuration cannot be read.
    """
    if after is None or seconds <= 0:
        return transfer_status(gateway, transfer_id)
    waiter = StatusWaiter(transfer_id, after, gateway.waiting.monotonic() + seconds)
    # First, and then the read: a change in between would otherwise be told to nobody.
    gateway.waiting.add(waiter, network)
    if not gateway.waiting.begin_own_read():
        # Thousands at once would queue for a connection to the database, each with its request and its stack.
        return waiter
    try:
        as_of = taken_in_at(gateway)
        row = gateway.public_reads.ask(transfer_row, transfer_id)
        if _status(row) == after:
            return waiter
        answer = _answer(gateway, transfer_id, row, as_of)
    except BaseException:
        gateway.waiting.remove(waiter)
        raise
    finally:
        gateway.waiting.end_own_read()
    gateway.waiting.remove(waiter)
    return answer


def status_at_last(gateway: Gateway, waiter: StatusWaiter) -> TransferStatus:
    """What the transfer's status is when the wait is over.

    :raises GatewayError: no such transfer.
    :raises Unavailable: the configuration cannot be read.
    """
    return _answer(gateway, waiter.transfer_id, waiter.found(), waiter.as_of)


def _answer(
    gateway: Gateway, transfer_id: TransferId, row: TransferRow | None, as_of: datetime | None
) -> TransferStatus:
    terms = gateway.snapshots.current().terms
    if row is None:
        raise transfer_not_found(gateway, transfer_id)
    return status_of(terms, row, progress_of_row(gateway, row), as_of)


def _status(row: TransferRow | None) -> int:
    return Status.TRANSFER_UNKNOWN if row is None else row.status
