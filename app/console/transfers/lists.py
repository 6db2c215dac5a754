"""Lists of transfers by status, chains, token, account, time, age and amount, a page at a time."""

from __future__ import annotations

import base64
import binascii
from typing import Final

from msgspec import Struct

from app.console.transfers.components import TransferLine, transfer_line
from app.db.database import Database
from app.db.engine import reading
from app.network.snapshot import SnapshotSource
from app.transfers.queries import lists
from app.transfers.queries.lists import ListCount, Order, Position, TransferFilters
from app.transfers.queries.status import Cursor
from app.values.times import from_unix_microseconds, unix_microseconds

PAGE: Final = 50


class TransferPage(Struct, frozen=True):
    """A page of a list. ``next_page`` continues it, None at its end. ``count`` is of all pages.

    ``searching``: the page is not full, yet there are more to read: the filters match few of the transfers
    that come next, and a page reads a bounded number of them.
    """

    transfers: tuple[TransferLine, ...]
    next_page: str | None
    count: ListCount
    searching: bool = False


def list_transfers(
    database: Database,
    snapshots: SnapshotSource,
    filters: TransferFilters,
    page: str | None = None,
    size: int = PAGE,
    order: Order = Order.CHANGED,
    count: ListCount | None = None,
) -> TransferPage:
    """The transfers that match the filters, the last changed first or in another order.

    :param page: ``next_page`` of the page before; one that cannot be read begins at the start.
    :param order: of amounts only where the filters have amounts.
    :param count: that of the page before, where it is known.
    :raises Unavailable: the configuration cannot be read.
    """
    terms = snapshots.current().terms
    after = _read_position(page)
    if after is not None and (after.key < 0 if order.of_amounts else read_cursor(page) is None):
        after = None
    with reading(database.reads) as connection:
        found = lists.list_transfers(connection, filters, order, after=after, size=size, count=count)
    lines = tuple(transfer_line(terms, row) for row in found.rows)
    next_page = None if found.next_after is None else _write_position(found.next_after)
    return TransferPage(lines, next_page, found.count, searching=next_page is not None and len(lines) < size)


def write_cursor(cursor: Cursor) -> str:
    """A cursor as text for a URL."""
    return _write_position(Position(unix_microseconds(cursor.at), cursor.transfer_id))


def read_cursor(text: str | None) -> Cursor | None:
    """The cursor that :func:`write_cursor` wrote; None for any other text."""
    position = _read_position(text)
    if position is None:
        return None
    try:
        return Cursor(from_unix_microseconds(position.key), position.transfer_id)
    except OverflowError:
        return None


_LEAST_KEY: Final = 8
_ID: Final = 32
_MOST_KEY: Final = 160
"""Bytes of an amount of 2^256 tokens of 255 decimals."""


def _write_position(position: Position) -> str:
    length = max(_LEAST_KEY, position.key.bit_length() // 8 + 1)
    key = position.key.to_bytes(length, "big", signed=True)
    return base64.urlsafe_b64encode(key + position.transfer_id).decode()


def _read_position(text: str | None) -> Position | None:
    try:
        raw = base64.urlsafe_b64decode(text or "")
    except (binascii.Error, ValueError):
        return None
    if not _LEAST_KEY <= len(raw) - _ID <= _MOST_KEY:
        return None
    return Position(int.from_bytes(raw[:-_ID], "big", signed=True), raw[-_ID:])
