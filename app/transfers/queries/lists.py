"""Reads transfers by filters, a page at a time in an order; and by id, or by transaction.

Where few transfers meet the filters, all of them are read by the filters' indexes, and sorted here. Of many
the index of the order is walked: the next page is near. So a page reads a bounded number of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from heapq import nsmallest
from typing import Any, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    TextClause,
    and_,
    false,
    func,
    literal,
    or_,
    select,
    true,
    union,
    union_all,
)

from app.db.types import at_most, exact_order, with_values
from app.transfers.models import Transfer, TransferHash, transfer_is_open
from app.values.amounts import MAX_UINT256
from app.values.codes import FINISHED_STATUSES, TransferHistoryStatus
from app.values.times import from_unix_microseconds, unix_microseconds

FEW: Final = 10_000
"""Up to so many that meet the filters are counted exactly, and sorted here."""

SCANNED: Final = 5_000
"""Rows of the index of an order that are read for one page; about 10 ms on PostgreSQL."""

RARE: Final = 200_000
"""Rows that meet one filter and are read, in SQLite, to see which of them meet the others."""

ListedTransfer = Row[*tuple[Any, ...]]
Conditions = Sequence[ColumnElement[bool] | TextClause]

_FILTERED: Final = (
    Transfer.transfer_id,
    Transfer.status,
    Transfer.src_chain_id,
    Transfer.dst_chain_id,
    Transfer.symbol,
    Transfer.amount,
    Transfer.sender,
    Transfer.receiver,
    Transfer.updated_at,
    Transfer.began_at,
)
COLUMNS: Final = (
    *_FILTERED,
    Transfer.refund_reason,
    Transfer.status_since,
    Transfer.token,
    Transfer.sent_at,
    Transfer.released_at,
)


class Position(NamedTuple):
    """A row's place in an order: microseconds since 1970, or the amount in the finest unit; and its id."""

    key: int
    transfer_id: bytes


class Order(StrEnum):
    """How a list is sorted. The age of a transfer counts from its start, or else from its last change."""

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
    def is_descending(self) -> bool:
        """Whether greater keys come first. The key of an age is the time at which it began."""
        return self in (Order.CHANGED, Order.LARGEST, Order.YOUNGEST)

    def key(self, columns: Any) -> ColumnElement[Any]:
        """The key by columns, those of ``Transfer`` or of a subquery."""
        if self.of_amounts:
            return exact_order(columns.amount)
        updated_at: ColumnElement[Any] = columns.updated_at
        return updated_at if self is Order.CHANGED else func.coalesce(columns.began_at, updated_at)

    def order_by(self, columns: Any) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
        """The order of rows with ``key`` and ``transfer_id``."""
        return columns.key.desc() if self.is_descending else columns.key.asc(), columns.transfer_id.asc()

    def sort_key(self, place: Position) -> tuple[int, bytes]:
        """The place as it sorts, the least first. Those of one key are in the order of their ids."""
        return -place.key if self.is_descending else place.key, place.transfer_id


class Span(Struct, frozen=True):
    """Times from ``since`` on and before ``until``; None is no bound."""

    since: datetime | None = None
    until: datetime | None = None

    def meets(self, column: ColumnElement[Any]) -> ColumnElement[bool]:
        since = true() if self.since is None else column >= self.since
        return since if self.until is None else and_(since, column < self.until)


class Amounts(NamedTuple):
    """The least and the greatest amount of a token on a chain, in its smallest units.

    :ivar unit: what a smallest unit is worth in the finest of all chains of the token.
    """

    least: int
    most: int
    unit: int


class TransferFilters(Struct, frozen=True):
    """The filters of a list. Empty values and None do not filter.

    :ivar since: bounds the last change, as ``until``: from ``since`` on, before ``until``.
    :ivar account: from or to it; spelled as stored: an EVM address has its checksum.
    :ivar began: bounds the start, or where none was reported the last change.
    :ivar amounts: those of ``symbol``, by source chain.
    """

    statuses: frozenset[TransferHistoryStatus] = frozenset()
    src_chain_id: int | None = None
    dst_chain_id: int | None = None
    symbol: str | None = None
    account: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    began: Span = Span()
    amounts: Mapping[int, Amounts] | None = None

    @property
    def are_open(self) -> bool:
        """Whether only transfers that are not over meet them."""
        return bool(self.statuses) and self.statuses.isdisjoint(FINISHED_STATUSES)

    def conditions(self, columns: Any = Transfer) -> list[ColumnElement[bool]]:
        """A condition for each filter, on columns of ``Transfer`` or of a subquery. An index serves each."""
        conditions: list[ColumnElement[bool]] = []
        if self.statuses:
            at_status = columns.status.in_(sorted(int(status) for status in self.statuses))
            conditions.append(and_(at_status, transfer_is_open) if self.are_open else at_status)
        if self.src_chain_id is not None:
            conditions.append(columns.src_chain_id == self.src_chain_id)
        if self.dst_chain_id is not None:
            conditions.append(columns.dst_chain_id == self.dst_chain_id)
        if self.account is not None:
            conditions.append(or_(columns.sender == self.account, columns.receiver == self.account))
        for span, order in ((Span(self.since, self.until), Order.CHANGED), (self.began, Order.OLDEST)):
            if span != Span():
                conditions.append(span.meets(order.key(columns)))
        if self.symbol is not None and self.amounts is None:
            conditions.append(columns.symbol == self.symbol)
        if self.amounts is not None:
            conditions.append(or_(false(), *(self.has_amount(chain, columns) for chain in self.amounts)))
        return conditions

    def has_amount(self, chain: int, columns: Any = Transfer) -> ColumnElement[bool]:
        """The condition on the amounts of the token from a chain."""
        least, most, _ = (self.amounts or {})[chain]
        within = exact_order(columns.amount).between(least, most)
        return and_(columns.symbol == self.symbol, columns.src_chain_id == chain, within)


class ListCount(Struct, frozen=True):
    """How many transfers a list has on all its pages: exactly, or ``at_least`` so many."""

    number: int
    at_least: bool = False


class Page(Struct, frozen=True):
    """Some rows of a list.

    :ivar next_after: the place behind which the next page begins; None when there are no more rows.
    :ivar count: how many rows all pages have.
    """

    rows: Sequence[ListedTransfer]
    next_after: Position | None
    count: ListCount


def list_transfers(
    connection: Connection,
    filters: TransferFilters,
    order: Order = Order.CHANGED,
    *,
    after: Position | None = None,
    size: int,
    count: ListCount | None = None,
) -> Page:
    """A page of the transfers that meet the filters.

    :param order: of amounts only where the filters have amounts.
    :param after: the place behind which the page begins.
    :param count: that of the page before, where it is known.
    """
    places: Iterable[Position] = ()
    frontier = None
    if count is None or not count.at_least:
        count, places = _read_few(connection, filters, order, after, size)
    if count.at_least:
        places, frontier = _walk(connection, filters, order, after, size)
    if after is not None:
        # _beyond caps its bound at MAX_UINT256, so a place before this one may be among them.
        places = [place for place in places if order.sort_key(place) > order.sort_key(after)]
    if frontier is not None:
        # Behind the frontier, another lane may have rows that were not read.
        places = [place for place in places if order.sort_key(place) <= order.sort_key(frontier)]
    following = nsmallest(size + 1, places, key=order.sort_key)
    next_after = following[size - 1] if len(following) > size else frontier
    ids = [place.transfer_id for place in following[:size]]
    rows = {row.transfer_id: row for row in transfers_with_ids(connection, ids)}
    return Page([rows[each] for each in ids if each in rows], next_after, count)


def _place(filters: TransferFilters, row: Any) -> Position:
    """The position of a row with ``key``, ``transfer_id`` and ``src_chain_id``."""
    if isinstance(row.key, datetime):
        return Position(unix_microseconds(row.key), row.transfer_id)
    return Position(row.key * (filters.amounts or {})[row.src_chain_id].unit, row.transfer_id)


def _read_few(
    connection: Connection, filters: TransferFilters, order: Order, after: Position | None, size: int
) -> tuple[ListCount, list[Position]]:
    """How many transfers meet the filters, and where there are few, the next of them; of amounts by chain.

    Connections for reads use the same plan for all values, and that plan may read the whole table. So the
    values are written into the statement: then PostgreSQL knows which filter few rows meet, and which indexes
    to combine. SQLite knows only how many rows a value has on average: there the rows of the rarest filter
    are read first.
    """
    source: Any = Transfer
    if connection.dialect.name == "sqlite" and (rarest := _rarest(connection, filters)) is not None:
        source = select(*_FILTERED).where(rarest).limit(at_most(RARE)).subquery().c
    matching = with_values(_matching(filters, order, source)).cte("matching")
    counted = select(func.count().label("total")).select_from(matching).cte("counted")
    beyond = or_(false(), *(_beyond(order, lane, after, matching.c) for lane in _lanes(filters, order)))
    of_chain = matching.c.src_chain_id if order.of_amounts else None
    row_number = func.row_number().over(partition_by=of_chain, order_by=order.order_by(matching.c))
    are_few = select(counted.c.total).scalar_subquery() <= FEW
    following = select(matching, row_number.label("row_number")).where(are_few, beyond).subquery()
    joined = counted.outerjoin(following, following.c.row_number <= size + 1)
    rows = connection.execute(select(counted, following).select_from(joined)).all()
    if rows[0].total > FEW:
        return ListCount(FEW, at_least=True), []
    return ListCount(rows[0].total), [_place(filters, row) for row in rows if row.transfer_id is not None]


def _matching(filters: TransferFilters, order: Order, source: Any) -> Select[*tuple[Any, ...]]:
    """The transfers that meet the filters: all where there are few.

    PostgreSQL takes the amounts of one token for as great as those of all. It would expect many of a greater
    amount, and read the table until it has found enough. So where only amounts filter, they are read in the
    order of their index. With a further filter that would read amounts that this one leaves out.
    """
    columns = (source.transfer_id, source.src_chain_id, order.key(source).label("key"))
    amounts = filters.amounts or {}
    of_source = {chain: each for chain, each in amounts.items() if filters.src_chain_id in (None, chain)}
    are_alone = replace(filters, src_chain_id=None, symbol=None, amounts=None) == TransferFilters()
    are_bounded = any(each.least > 0 or each.most < MAX_UINT256 for each in of_source.values())
    if source is not Transfer or not are_alone or not are_bounded:
        return select(*columns).where(*filters.conditions(source)).limit(at_most(FEW + 1))
    by_amount = exact_order(Transfer.amount)
    of_chains = [
        select(*columns).where(filters.has_amount(chain)).order_by(by_amount).limit(at_most(FEW + 1))
        for chain in of_source
    ]
    together = union_all(*(select(each.subquery()) for each in of_chains)).subquery()
    return select(together).limit(at_most(FEW + 1))


def _rarest(connection: Connection, filters: TransferFilters) -> ColumnElement[bool] | None:
    """The condition of the filter that fewest rows meet, where these are few. Only indexes are read."""
    least, rarest = RARE, None
    for condition in filters.conditions():
        some = select(literal(1)).select_from(Transfer).where(condition).limit(at_most(least)).subquery()
        number = connection.scalar(with_values(select(func.count()).select_from(some))) or 0
        if number < least:
            least, rarest = number, condition
    return rarest


def _walk(
    connection: Connection, filters: TransferFilters, order: Order, after: Position | None, size: int
) -> tuple[set[Position], Position | None]:
    """The next rows that meet the filters, and up to where the order was read; None: to its end."""
    lanes = _lanes(filters, order)
    depth = max(SCANNED // max(len(lanes), 1), size + 1)
    found: set[Position] = set()
    reached: list[Position] = []
    for lane in lanes:
        rows = connection.execute(_rows_of(filters, order, lane, after, depth, size)).all()
        found.update(_place(filters, row) for row in rows if row.matches)
        if rows and (len(rows) > size or rows[-1].row_number == depth):
            reached.append(_place(filters, rows[-1]))
    return found, min(reached, key=order.sort_key, default=None)


class _Lane(NamedTuple):
    """Rows that an index has in the order. Of amounts: the chain of all, and their unit."""

    conditions: Conditions
    chain: int | None = None
    unit: int = 1


def _lanes(filters: TransferFilters, order: Order) -> list[_Lane]:
    """Lanes that together have all rows that meet the filters, some of them twice."""
    if order.of_amounts:
        amounts = (filters.amounts or {}).items()
        return [_Lane([filters.has_amount(chain)], chain, each.unit) for chain, each in amounts]
    span = Span(filters.since, filters.until) if order is Order.CHANGED else filters.began
    of_span = span.meets(order.key(Transfer))
    if order is not Order.CHANGED:
        return [_Lane([of_span])]
    if filters.account is not None:
        ends = (Transfer.sender, Transfer.receiver)
        return [_Lane([column == filters.account, of_span]) for column in ends]
    if filters.are_open:
        statuses = map(int, filters.statuses)
        return [_Lane([Transfer.status == status, transfer_is_open, of_span]) for status in statuses]
    if filters.src_chain_id is not None:
        return [_Lane([Transfer.src_chain_id == filters.src_chain_id, of_span])]
    if filters.dst_chain_id is not None:
        return [_Lane([Transfer.dst_chain_id == filters.dst_chain_id, of_span])]
    return [_Lane([of_span])]


def _rows_of(
    filters: TransferFilters, order: Order, lane: _Lane, after: Position | None, depth: int, size: int
) -> Select[*tuple[Any, ...]]:
    """Of the next rows of a lane, as many as ``depth``, those that meet the filters, and the last."""
    keyed = select(*_FILTERED, order.key(Transfer).label("key")).where(*lane.conditions).subquery().c
    in_order = order.order_by(keyed)
    row_number = func.row_number().over(order_by=in_order).label("row_number")
    walked = select(*keyed, row_number).where(_beyond(order, lane, after, keyed)).order_by(*in_order)
    rows = walked.limit(at_most(depth)).subquery().c
    others = replace(filters, symbol=None, amounts=None) if order.of_amounts else filters
    matches = and_(true(), *others.conditions(rows))
    listed = select(rows.transfer_id, rows.src_chain_id, rows.key, rows.row_number, matches.label("matches"))
    listed = listed.where(or_(matches, rows.row_number == at_most(depth)))
    return with_values(listed.order_by(*order.order_by(rows)).limit(at_most(size + 1)))


def _beyond(order: Order, lane: _Lane, after: Position | None, columns: Any) -> ColumnElement[bool]:
    """The condition on rows of a lane that are behind a place, which may be one of another lane."""
    of_lane = true() if lane.chain is None else columns.src_chain_id == lane.chain
    if after is None:
        return of_lane
    value, remainder = divmod(after.key, lane.unit)
    bound: Any = min(value + (remainder > 0 and not order.is_descending), MAX_UINT256)
    if not order.of_amounts:
        bound = from_unix_microseconds(value)
    key = columns.key
    reached = key <= bound if order.is_descending else key >= bound
    further = key < bound if order.is_descending else key > bound
    beyond = or_(further, columns.transfer_id > after.transfer_id)
    is_between = remainder or value > MAX_UINT256  # no amount of this lane is as large as that of the place
    return and_(of_lane, reached, true() if is_between else beyond)


def transfers_of_hash(connection: Connection, tx_hash: str, size: int) -> Sequence[ListedTransfer]:
    """The transfers whose log names this transaction, the last changed first."""
    named = (
        select(Transfer.transfer_id).where(Transfer.src_tx_hash == tx_hash),
        select(Transfer.transfer_id).where(Transfer.dst_tx_hash == tx_hash),
        select(TransferHash.transfer_id).where(TransferHash.tx_hash == tx_hash),
    )
    found = union(*(select(each.limit(size).subquery()) for each in named))
    return transfers_with_ids(connection, connection.scalars(found).all()[:size])


def transfers_with_ids(connection: Connection, transfer_ids: Sequence[bytes]) -> Sequence[ListedTransfer]:
    """The known ones of these transfers, the last changed first.

    :param transfer_ids: at most 1,000, a page of the CSV file.
    """
    at, transfer_id = Transfer.updated_at, Transfer.transfer_id
    known = select(*COLUMNS).where(transfer_id.in_(transfer_ids))
    return connection.execute(known.order_by(at.desc(), transfer_id.desc())).all()
