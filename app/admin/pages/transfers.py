"""Lists of transfers by status, chains, token, account and time, in pages."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Row

from app.admin.pages.components import TransferLine, transfer_line
from app.db.engine import reading
from app.domain.codes import FINISHED_STATUSES
from app.domain.codes import TransferHistoryStatus as Status
from app.domain.times import from_unix_microseconds, unix_microseconds
from app.queries.transfers.lists import (
    EVERYTHING,
    Branch,
    Cursor,
    Span,
    by_account,
    by_destination,
    by_open_status,
    by_pair,
    by_source,
    newest_transfers,
)
from app.runtime.gateway import Gateway

PAGE: Final = 50

"""The statuses of transfers that are over (models.transfers.OPEN says the same to the database)."""


@dataclass(frozen=True, slots=True)
class TransferFilters:
    """What a list shows; what is empty or None filters nothing.

    ``since`` and ``until`` bound the last change: from ``since`` on, before ``until``. ``account`` is
    as the feed keeps it: an EVM address with its checksum.
    """

    statuses: frozenset[Status] = frozenset()
    src_chain_id: int | None = None
    dst_chain_id: int | None = None
    symbol: str | None = None
    account: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def match(self, row: Row[*tuple[Any, ...]]) -> bool:
        """Whether a row of ``app.queries.transfers.lists`` matches all of them."""
        return (
            (not self.statuses or Status(row.status) in self.statuses)
            and self.src_chain_id in (None, row.src_chain_id)
            and self.dst_chain_id in (None, row.dst_chain_id)
            and self.symbol in (None, row.symbol)
            and self.account in (None, row.sender, row.receiver)
            and (self.since is None or row.updated_at >= self.since)
            and (self.until is None or row.updated_at < self.until)
        )


@dataclass(frozen=True, slots=True)
class TransferPage:
    """A page of a list. ``next_page`` continues it, None at its end.

    ``searching``: the page is not full, yet there is more to look at: the filters match little, and a
    page reads a bounded number of transfers.
    """

    transfers: tuple[TransferLine, ...]
    next_page: str | None
    searching: bool = False


def list_transfers(
    gateway: Gateway, filters: TransferFilters, page: str | None = None, size: int = PAGE
) -> TransferPage:
    """The transfers that match the filters, the last changed first.

    :param page: ``next_page`` of the page before; one that cannot be read begins at the start.
    :raises Unavailable: the configuration cannot be read.
    """
    terms = gateway.snapshots.current().terms
    with reading(gateway.reads) as connection:
        branches, others = _choose_index(connection, filters)
        found = newest_transfers(
            connection,
            branches,
            others=others,
            span=Span(filters.since, filters.until),
            after=read_cursor(page),
            size=size,
        )
    lines = tuple(transfer_line(terms, row) for row in found.rows)
    rest = None if found.rest is None else write_cursor(found.rest)
    return TransferPage(lines, rest, searching=rest is not None and len(lines) < size)


def _choose_index(
    connection: Connection, filters: TransferFilters
) -> tuple[list[Branch], dict[str, tuple[int | str, ...]]]:
    """The branches to read, and the filters that their index does not serve. The most selective is chosen."""
    statuses = tuple(sorted(int(status) for status in filters.statuses))
    src, dst = filters.src_chain_id, filters.dst_chain_id
    others: dict[str, tuple[int | str, ...]] = {
        name: values
        for name, values in (
            ("status", statuses),
            ("src_chain_id", () if src is None else (src,)),
            ("dst_chain_id", () if dst is None else (dst,)),
            ("symbol", () if filters.symbol is None else (filters.symbol,)),
        )
        if values
    }
    if filters.account is not None:
        return by_account(filters.account), others
    if statuses and not filters.statuses & FINISHED_STATUSES:
        del others["status"]
        return by_open_status(statuses), others
    if src is not None and dst is not None:
        del others["src_chain_id"], others["dst_chain_id"]
        return by_pair(src, dst), others
    if src is not None:
        del others["src_chain_id"]
        return by_source(connection, src), others
    if dst is not None:
        del others["dst_chain_id"]
        return by_destination(connection, dst), others
    return EVERYTHING, others


def write_cursor(cursor: Cursor) -> str:
    """A cursor as text for a URL."""
    microseconds = unix_microseconds(cursor.at)
    return base64.urlsafe_b64encode(
        microseconds.to_bytes(8, "big", signed=True) + cursor.transfer_id
    ).decode()


def read_cursor(text: str | None) -> Cursor | None:
    """The cursor that :func:`write_cursor` wrote; None for any other text."""
    try:
        raw = base64.urlsafe_b64decode(text or "")
    except (binascii.Error, ValueError):
        return None
    if len(raw) != 40:
        return None
    try:
        at = from_unix_microseconds(int.from_bytes(raw[:8], "big", signed=True))
    except OverflowError:
        return None
    return Cursor(at, raw[8:])
