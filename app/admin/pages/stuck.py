"""Transfers that have been in their state for too long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, Row

from app.admin.pages.components import TransferLine, transfer_line
from app.admin.pages.latencies import Pair, latencies_by_pair
from app.admin.pages.transfers import PAGE, TransferFilters, read_cursor, write_cursor
from app.domain.codes import TransferHistoryStatus as Status
from app.models.engine import reading
from app.queries.latency.by_pair import PairOrder
from app.queries.transfers.listing import Cursor
from app.queries.transfers.oldest import oldest_in_state
from app.runtime.gateway import Gateway

TIMES_THE_MEDIAN: Final = 3
WITHOUT_MEDIAN: Final = timedelta(hours=1)
"""How long a state may last on a route that had no release in the last 7 days, or that is not known."""

RULE: Final = (
    f"Longer in its state than {TIMES_THE_MEDIAN} times the median latency of its two chains in the last 7 "
    "days; than 1 hour where they had no release. Transfers that wait for their user, that are over, or of "
    "which nothing stands are not counted."
)

MOVED_BY_THE_BRIDGE: Final = (
    Status.TRANSFER_SUBMITTING,
    Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION,
    Status.TRANSFER_WAITING_FOR_FUND_RELEASE,
    Status.TRANSFER_TO_BE_REFUNDED,
    Status.TRANSFER_REQUESTING_REFUND,
    Status.TRANSFER_CONFIRMING_YOUR_REFUND,
    Status.TRANSFER_DELAYED,
)
"""The states that end without the user. A refund that is ready (8) waits for the user."""

MOST_LOOKED_AT: Final = 5_000
_BATCH: Final = 500


@dataclass(frozen=True, slots=True)
class Thresholds:
    """How long a state may last, by pair of chains."""

    by_pair: Mapping[Pair, timedelta] = field(default_factory=dict)

    @classmethod
    def of(cls, orders: Mapping[Pair, PairOrder]) -> Thresholds:
        """Three times each median; an odd microsecond of the product is cut."""
        return cls({pair: _threshold(order.middle) for pair, order in orders.items()})

    def allowed(self, src_chain_id: int | None, dst_chain_id: int | None) -> timedelta:
        """How long it may last there."""
        if src_chain_id is None or dst_chain_id is None:
            return WITHOUT_MEDIAN
        return self.by_pair.get((src_chain_id, dst_chain_id), WITHOUT_MEDIAN)

    @property
    def least(self) -> timedelta:
        """The shortest of them: no transfer is stuck before."""
        return min([WITHOUT_MEDIAN, *self.by_pair.values()])


def _threshold(middle: tuple[int, ...]) -> timedelta:
    return timedelta(microseconds=TIMES_THE_MEDIAN * sum(middle) // len(middle))


@dataclass(frozen=True, slots=True)
class StuckTransfer:
    """A transfer, how long it has been in its state, and how long it may be."""

    line: TransferLine
    lasting: timedelta
    allowed: timedelta
    measured: bool
    """Whether its chains have a median; otherwise the hour counts."""


@dataclass(frozen=True, slots=True)
class StuckPage:
    """The longest stuck first; ``next_page`` continues, None at the end.

    ``searching``: not full, yet there is more to look at (a page looks at a bounded number).
    """

    transfers: tuple[StuckTransfer, ...]
    next_page: str | None
    searching: bool = False
    rule: str = RULE


def stuck_transfers(
    gateway: Gateway,
    page: str | None = None,
    size: int = PAGE,
    orders: Mapping[Pair, PairOrder] | None = None,
    filters: TransferFilters | None = None,
) -> StuckPage:
    """The transfers that are longer in their state than the rule allows.

    :param page: ``next_page`` of the page before.
    :param orders: the latencies, where the caller has them; otherwise they are read.
    :param filters: only transfers that match them are returned.
    """
    terms = gateway.snapshots.current().terms
    thresholds = Thresholds.of(latencies_by_pair(gateway) if orders is None else orders)
    now = gateway.clock()
    found: list[StuckTransfer] = []
    last: Cursor | None = None
    looked_at = 0
    with reading(gateway.reads) as connection:
        for row in _oldest(connection, now - thresholds.least, read_cursor(page)):
            if last is not None and (looked_at == MOST_LOOKED_AT or len(found) == size):
                return StuckPage(tuple(found), write_cursor(last), searching=len(found) < size)
            last, looked_at = Cursor(row.status_since, row.transfer_id), looked_at + 1
            allowed = thresholds.allowed(row.src_chain_id, row.dst_chain_id)
            lasting = now - row.status_since
            if lasting > allowed and (filters is None or filters.match(row)):
                measured = (row.src_chain_id, row.dst_chain_id) in thresholds.by_pair
                found.append(StuckTransfer(transfer_line(terms, row), lasting, allowed, measured))
    return StuckPage(tuple(found), None)


def _oldest(connection: Connection, until: datetime, after: Cursor | None) -> Iterator[Row[*tuple[Any, ...]]]:
    """The candidates, the longest in their state first, read batch by batch."""
    statuses = [int(status) for status in MOVED_BY_THE_BRIDGE]
    while rows := oldest_in_state(connection, statuses, until, after, _BATCH):
        yield from rows
        after = Cursor(rows[-1].status_since, rows[-1].transfer_id)
