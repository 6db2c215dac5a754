"""A list of transfers as a CSV file, read and sent page by page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from app.console.formats import csv_line
from app.db.database import Database
from app.network.snapshot import SnapshotSource
from app.transfers.admin.components import TransferLine
from app.transfers.admin.lists import ListRequest, list_transfers
from app.transfers.admin.stuck import stuck_transfers
from app.values.times import rfc3339

_PAGE: Final = 1000
_COLUMNS: Final = (
    "transfer_id", "status", "state", "refund_reason", "state_since", "changed_at", "sent_at", "released_at",
    "src_chain_id", "src_chain", "dst_chain_id", "dst_chain", "token", "amount", "amount_smallest_units",
    "sender", "receiver",
)  # fmt: skip


def transfers_csv(database: Database, snapshots: SnapshotSource, requested: ListRequest) -> Iterator[str]:
    """The lines: times in UTC, amounts exact, in tokens and in smallest units.

    :raises Unavailable: the configuration cannot be read.
    """
    yield csv_line(_COLUMNS)
    page: str | None = None
    while True:
        lines, page = _page(database, snapshots, requested, page)
        yield "".join(csv_line(_cells(line)) for line in lines)
        if page is None:
            return


def _page(
    database: Database, snapshots: SnapshotSource, requested: ListRequest, page: str | None
) -> tuple[Sequence[TransferLine], str | None]:
    if requested.stuck is None:
        found = list_transfers(database, snapshots, requested.filters, page, _PAGE)
        return found.transfers, found.next_page
    stuck = stuck_transfers(
        database,
        snapshots,
        page,
        _PAGE,
        filters=requested.filters,
        who=requested.stuck,
        acknowledged=requested.acknowledged,
    )
    return [each.line for each in stuck.transfers], stuck.next_page


def _cells(line: TransferLine) -> tuple[Any, ...]:
    src, dst, amount = line.src, line.dst, line.amount
    return (
        line.transfer_id,
        int(line.status),
        line.words.label,
        line.refund_reason.name if line.refund_reason else "",
        *map(_time, (line.since, line.updated_at, line.sent_at, line.released_at)),
        src.id if src else "",
        src.name if src else "",
        dst.id if dst else "",
        dst.name if dst else "",
        line.symbol or "",
        amount.text if amount else "",
        amount.units if amount else "",
        line.sender or "",
        line.receiver or "",
    )


def _time(at: datetime | None) -> str:
    return "" if at is None else rfc3339(at)
