"""Lists of transfers by status, chains, token, account, time, age and amount, a page at a time."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Connection, Row

from app.console.transfers.components import TransferLine, transfer_line
from app.db.database import Database
from app.db.engine import reading
from app.network.rules.terms import NetworkTerms
from app.network.snapshot import SnapshotSource
from app.transfers.queries.counting import Listed, count_listed
from app.transfers.queries.lists import (
    EVERYTHING,
    Branch,
    Cursor,
    Narrowed,
    Span,
    by_account,
    by_destination,
    by_open_status,
    by_pair,
    by_source,
    newest_transfers,
)
from app.transfers.queries.sorting import Order, Position, sorted_transfers
from app.values.codes import FINISHED_STATUSES
from app.values.codes import TransferHistoryStatus as Status
from app.values.times import from_unix_microseconds, unix_microseconds

PAGE: Final = 50


class TransferFilters(Struct, frozen=True):
    """The filters of a list. Empty values and None do not filter.

    ``since`` and ``until`` bound the last change: from ``since`` on, before ``until``. ``account`` is
    spelled as stored: an EVM address has its checksum. ``began`` bounds the start, or where none was reported
    the last change. ``amounts`` are the least and the greatest by source chain, in its smallest units.
    """

    statuses: frozenset[Status] = frozenset()
    src_chain_id: int | None = None
    dst_chain_id: int | None = None
    symbol: str | None = None
    account: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    began: Span = Span()
    amounts: Mapping[int, tuple[int, int]] | None = None

    def match(self, row: Row[*tuple[Any, ...]]) -> bool:
        """Whether a row of ``app.transfers.queries.lists`` matches all of them."""
        return (
            (not self.statuses or Status(row.status) in self.statuses)
            and self.src_chain_id in (None, row.src_chain_id)
            and self.dst_chain_id in (None, row.dst_chain_id)
            and self.symbol in (None, row.symbol)
            and self.account in (None, row.sender, row.receiver)
            and (self.since is None or row.updated_at >= self.since)
            and (self.until is None or row.updated_at < self.until)
            and self.began.has(row.began_at or row.updated_at)
            and (self.amounts is None or self._has_amount(row))
        )

    def _has_amount(self, row: Row[*tuple[Any, ...]]) -> bool:
        least, most = (self.amounts or {}).get(row.src_chain_id, (1, 0))
        return row.amount is not None and least <= row.amount <= most

    def narrowed(self, left_out: Collection[str] = ()) -> Narrowed:
        """What rows have to meet.

        :param left_out: the columns that an index serves; ``account`` and ``changed`` are such, too.
        """
        values: dict[str, tuple[int | str, ...]] = {
            "status": tuple(sorted(int(status) for status in self.statuses)),
            "src_chain_id": () if self.src_chain_id is None else (self.src_chain_id,),
            "dst_chain_id": () if self.dst_chain_id is None else (self.dst_chain_id,),
            "symbol": () if self.symbol is None else (self.symbol,),
        }
        return Narrowed(
            {name: each for name, each in values.items() if each and name not in left_out},
            self.began,
            Span() if "changed" in left_out else Span(self.since, self.until),
            None if "account" in left_out else self.account,
            self.amounts,
        )


class TransferPage(Struct, frozen=True):
    """A page of a list. ``next_page`` continues it, None at its end.

    ``searching``: the page is not full, yet there are more to read: the filters match few transfers, and a
    page reads a bounded number of them.
    """

    transfers: tuple[TransferLine, ...]
    next_page: str | None
    searching: bool = False


def list_transfers(
    database: Database,
    snapshots: SnapshotSource,
    filters: TransferFilters,
    page: str | None = None,
    size: int = PAGE,
    order: Order = Order.CHANGED,
) -> TransferPage:
    """The transfers that match the filters, the last changed first or in another order.

    :param page: ``next_page`` of the page before; one that cannot be read begins at the start.
    :param order: of amounts only where the filters have amounts and a symbol.
    :raises Unavailable: the configuration cannot be read.
    """
    terms, span = snapshots.current().terms, Span(filters.since, filters.until)
    with reading(database.reads) as connection:
        branches, served = _choose_index(connection, filters)
        if order is Order.CHANGED:
            others = filters.narrowed((*served, "changed"))
            found = newest_transfers(
                connection, branches, others=others, span=span, after=read_cursor(page), size=size
            )
            rows, rest = found.rows, None if found.rest is None else write_cursor(found.rest)
        else:
            units = units_of(terms, filters.symbol) if order.of_amounts else {}
            sorted_page = sorted_transfers(
                connection,
                branches,
                narrowed=filters.narrowed(),
                span=span,
                order=order,
                units=units,
                after=_position(page, order),
                size=size,
            )
            rows = sorted_page.rows
            rest = None if sorted_page.rest is None else _write_position(sorted_page.rest)
    lines = tuple(transfer_line(terms, row) for row in rows)
    return TransferPage(lines, rest, searching=rest is not None and len(lines) < size)


def count_transfers(database: Database, filters: TransferFilters) -> Listed:
    """How many transfers match the filters, on all pages: exactly, or at least."""
    with reading(database.reads) as connection:
        return count_listed(connection, filters.narrowed())


def units_of(terms: NetworkTerms, symbol: str | None) -> dict[int, int]:
    """By chain what the smallest unit of a token is worth in the smallest of all its chains."""
    decimals = {chain: token.decimals for (chain, each), token in terms.tokens.items() if each == symbol}
    most = max(decimals.values(), default=0)
    return {chain: 10 ** (most - number) for chain, number in decimals.items()}


def _choose_index(connection: Connection, filters: TransferFilters) -> tuple[list[Branch], tuple[str, ...]]:
    """The branches of the most selective index, and the filters that this index serves."""
    src, dst = filters.src_chain_id, filters.dst_chain_id
    if filters.account is not None:
        return by_account(filters.account), ("account",)
    if filters.statuses and not filters.statuses & FINISHED_STATUSES:
        return by_open_status(sorted(int(status) for status in filters.statuses)), ("status",)
    if src is not None and dst is not None:
        return by_pair(src, dst), ("src_chain_id", "dst_chain_id")
    if src is not None:
        return by_source(connection, src), ("src_chain_id",)
    if dst is not None:
        return by_destination(connection, dst), ("dst_chain_id",)
    return EVERYTHING, ()


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


def _position(page: str | None, order: Order) -> Position | None:
    """The place in this order that a page begins after; None for any other text."""
    position = _read_position(page)
    fits = position is not None and (position.key >= 0 if order.of_amounts else read_cursor(page) is not None)
    return position if fits else None


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
