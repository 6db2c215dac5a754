"""Reads transfers by age, or by the amounts of one token.

A list of few rows is read by its own index and sorted here. A list of many is walked in the index of the
order: where many rows meet the filters, the next page is near. So a page reads a bounded number of rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

from msgspec import Struct
from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Subquery,
    func,
    literal,
    literal_column,
    or_,
    select,
    tuple_,
)

from app.db.types import UtcTime, at_most, exact_order, with_values
from app.transfers.models import BEGAN, Transfer
from app.transfers.queries.lists import (
    COLUMNS,
    SCANNED,
    Branch,
    ListedTransfer,
    Narrowed,
    Span,
    has_at_most,
    rows_within,
    transfers_by_id,
)
from app.values.amounts import MAX_UINT256
from app.values.times import from_unix_microseconds, unix_microseconds


class Order(StrEnum):
    """How a list is sorted."""

    CHANGED = "changed"
    OLDEST = "oldest"
    YOUNGEST = "youngest"
    LARGEST = "largest"
    SMALLEST = "smallest"

    @property
    def of_amounts(self) -> bool:
        """Whether it compares amounts, which only amounts of one token can be."""
        return self in (Order.LARGEST, Order.SMALLEST)

    @property
    def falls(self) -> bool:
        """Whether greater keys come first. The key of an age is the time at which it began."""
        return self in (Order.LARGEST, Order.YOUNGEST)


class Position(Struct, frozen=True):
    """A row's place in an order: microseconds since 1970, or the amount in the finest unit; and its id."""

    key: int
    transfer_id: bytes


class SortedPage(Struct, frozen=True):
    """Rows and where the next page begins; ``rest`` is None when there are no more."""

    rows: Sequence[ListedTransfer]
    rest: Position | None


class _Lane(Struct, frozen=True):
    """Rows that an index has in the order. ``unit``: what one step of its key is worth in the finest unit."""

    key: ColumnElement[Any]
    least: Any
    most: Any
    columns: tuple[Any, ...] = ()
    values: tuple[int | str, ...] = ()
    unit: int = 1

    def place(self, row: Any) -> Position:
        """The position of a row with ``key`` and ``transfer_id``."""
        key = unix_microseconds(row.key) if isinstance(row.key, datetime) else row.key * self.unit
        return Position(key, row.transfer_id)


def sorted_transfers(
    connection: Connection,
    branches: Sequence[Branch],
    *,
    narrowed: Narrowed,
    span: Span,
    order: Order,
    units: Mapping[int, int],
    after: Position | None,
    size: int,
) -> SortedPage:
    """A page of the transfers in any of the branches, by age or by amount.

    Of one whose start was not reported the age counts from its last change.

    :param narrowed: all that rows have to meet, also what the branches serve.
    :param span: of the last change.
    :param units: for an order of amounts, by source chain what its smallest unit is worth in the finest one.
        Transfers of other chains, and those whose amount is not known, are left out.
    """
    lanes = _lanes(narrowed, order, units)
    if not branches or not lanes:
        return SortedPage((), None)
    few = min(branch.sortable for branch in branches)
    if has_at_most(connection, branches, span, few):
        within = rows_within(connection, branches, span, few)
        places, frontier = _sorted_here(connection, within, lanes, narrowed), None
    else:
        places, frontier = _walked(connection, lanes, narrowed, order, after, size)
    sign = -1 if order.falls else 1

    def turn(place: Position) -> tuple[int, bytes]:
        # Ids rise in both directions, so that the indexes' own order of equal keys is never needed.
        return sign * place.key, place.transfer_id

    following = sorted((place for place in places if after is None or turn(place) > turn(after)), key=turn)
    if frontier is not None:
        following = [place for place in following if turn(place) <= turn(frontier)]
    rest = following[size - 1] if len(following) > size else frontier
    return SortedPage(_rows_at(connection, following[:size]), rest)


def _rows_at(connection: Connection, places: Sequence[Position]) -> list[ListedTransfer]:
    """The rows at these positions, in their order."""
    ids = [place.transfer_id for place in places]
    rows = {row.transfer_id: row for row in transfers_by_id(connection, ids)}
    return [rows[each] for each in ids if each in rows]


def _lanes(narrowed: Narrowed, order: Order, units: Mapping[int, int]) -> list[_Lane]:
    if not order.of_amounts:
        least, most = narrowed.began.bounds
        return [_Lane(literal_column(BEGAN, UtcTime), least, most)]
    (symbol,) = narrowed.values["symbol"]
    key = exact_order(Transfer.amount)
    columns = (Transfer.symbol, Transfer.src_chain_id)
    bounds = narrowed.amounts or dict.fromkeys(units, (0, MAX_UINT256))
    return [
        _Lane(key, *bounds[chain], columns, (symbol, chain), unit)
        for chain, unit in units.items()
        if chain in bounds
    ]


def _sorted_here(
    connection: Connection, within: Subquery, lanes: Sequence[_Lane], narrowed: Narrowed
) -> list[Position]:
    """The positions of all rows that meet the filters."""
    columns = within.c
    of_amounts = bool(lanes[0].columns)
    key = columns.amount if of_amounts else func.coalesce(columns.began_at, columns.updated_at)
    query = select(columns.transfer_id, columns.src_chain_id, key.label("key"))
    met = query.where(key.is_not(None), *narrowed.conditions(columns))
    rows = connection.execute(with_values(met)).all()
    if not of_amounts:
        return [lanes[0].place(row) for row in rows]
    of_chain = {lane.values[1]: lane for lane in lanes}
    return [of_chain[row.src_chain_id].place(row) for row in rows if row.src_chain_id in of_chain]


def _walked(
    connection: Connection,
    lanes: Sequence[_Lane],
    narrowed: Narrowed,
    order: Order,
    after: Position | None,
    size: int,
) -> tuple[list[Position], Position | None]:
    """The next rows of every lane that meet the filters, and up to where every lane was read."""
    found: list[Position] = []
    reached: list[Position] = []
    for lane in lanes:
        for depth in (2 * size, max(SCANNED // len(lanes), size + 1)):
            walked = _walk(connection, lane, order, after).limit(at_most(depth)).subquery()
            order_by = (walked.c.key.desc() if order.falls else walked.c.key, walked.c.transfer_id)
            keys = select(walked.c.key, walked.c.transfer_id).order_by(*order_by)
            listed = keys.where(*narrowed.conditions(walked.c)).limit(at_most(size + 1))
            rows = connection.execute(listed).all()
            if len(rows) > size:
                last = None
                break
            last = connection.execute(keys.offset(at_most(depth - 1)).limit(at_most(1))).first()
            if last is None:
                break
        found += map(lane.place, rows)
        if last is not None:
            reached.append(lane.place(last))
    if not reached:
        return found, None
    sign = -1 if order.falls else 1
    return found, min(reached, key=lambda place: (sign * place.key, place.transfer_id))


def _walk(
    connection: Connection, lane: _Lane, order: Order, after: Position | None
) -> Select[*tuple[Any, ...]]:
    """A lane from a position on. SQLite gets equalities, by which it uses the index of an expression.

    PostgreSQL gets a range of the whole index: with equalities a planner may choose another one, and sort.
    """
    key, least, most = lane.key, lane.least, lane.most
    conditions: list[ColumnElement[bool]] = []
    if after is not None:
        bound, exact = _bound(lane, order, after)
        least, most = (least, min(most, bound)) if order.falls else (max(least, bound), most)
        if exact:
            further = key < bound if order.falls else key > bound
            conditions.append(or_(further, Transfer.transfer_id > after.transfer_id))
    low, high = (literal(value, key.type) for value in (least, most))
    same = [literal(value, column.type) for column, value in zip(lane.columns, lane.values, strict=True)]
    if connection.dialect.name == "sqlite" or not lane.columns:
        conditions += [column == value for column, value in zip(lane.columns, same, strict=True)]
        conditions += [key >= low, key <= high]
    else:
        whole = tuple_(*lane.columns, key)
        conditions += [whole >= tuple_(*same, low), whole <= tuple_(*same, high)]
    turned = [column.desc() if order.falls else column.asc() for column in (*lane.columns, key)]
    return select(*COLUMNS, key.label("key")).where(*conditions).order_by(*turned, Transfer.transfer_id)


def _bound(lane: _Lane, order: Order, after: Position) -> tuple[Any, bool]:
    """The position as a bound of the lane's key, and whether rows may have exactly this key."""
    if not lane.columns:
        return from_unix_microseconds(after.key), True
    whole, rest = divmod(after.key, lane.unit)
    return min(whole + (rest > 0 and not order.falls), MAX_UINT256), rest == 0
