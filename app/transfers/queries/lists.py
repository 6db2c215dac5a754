"""Reads lists of transfers, a page at a time: by account, status, chains, transaction, part of an id.

A list is merged from branches, each of which one index has in the order of the list. So a page reads as
many rows as it has, however many transfers there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    Subquery,
    TextClause,
    and_,
    false,
    func,
    literal,
    or_,
    select,
    tuple_,
    union,
    union_all,
)
from sqlalchemy.orm import InstrumentedAttribute

from app.db.types import at_most, exact_order, with_values
from app.transfers.models import (
    Transfer,
    TransferHash,
    transfer_is_open,
)

SCANNED: Final = 5_000
"""Rows read for one page where a filter has no index; about 10 ms on PostgreSQL."""

MOST_PARTNERS: Final = 256

_NEVER: Final = datetime(1, 1, 1, tzinfo=UTC)
_ALWAYS: Final = datetime(9999, 12, 31, tzinfo=UTC)

Condition = ColumnElement[bool] | TextClause
ListedTransfer = Row[*tuple[Any, ...]]

COLUMNS: Final = (
    Transfer.transfer_id,
    Transfer.status,
    Transfer.refund_reason,
    Transfer.status_since,
    Transfer.kind,
    Transfer.src_chain_id,
    Transfer.dst_chain_id,
    Transfer.symbol,
    Transfer.token,
    Transfer.amount,
    Transfer.sender,
    Transfer.receiver,
    Transfer.sent_at,
    Transfer.released_at,
    Transfer.updated_at,
    Transfer.began_at,
)


class Cursor(Struct, frozen=True):
    """A position in a list: the time of a row and, among equal times, its id."""

    at: datetime
    transfer_id: bytes


class Span(Struct, frozen=True):
    """Times from ``since`` on and before ``until``; None is no bound."""

    since: datetime | None = None
    until: datetime | None = None

    @property
    def bounds(self) -> tuple[datetime, datetime]:
        """Both as times."""
        return self.since or _NEVER, self.until or _ALWAYS

    def meets(self, column: ColumnElement[Any]) -> list[ColumnElement[bool]]:
        """The conditions on a column of times."""
        since = [] if self.since is None else [column >= self.since]
        return since if self.until is None else [*since, column < self.until]

    def has(self, at: datetime) -> bool:
        """Whether the time is within it."""
        least, beyond = self.bounds
        return least <= at < beyond


class Narrowed(Struct, frozen=True):
    """What rows have to meet that the index by which they are read does not serve.

    :ivar values: columns by name and the values that they may have.
    :ivar began: when the transfer began; of one whose start was not reported, when it changed last.
    :ivar changed: of the last change.
    :ivar account: from or to it.
    :ivar amounts: by source chain the least and the greatest amount, in its smallest units; None is no bound.
    """

    values: Mapping[str, Sequence[int | str]] = {}
    began: Span = Span()
    changed: Span = Span()
    account: str | None = None
    amounts: Mapping[int, tuple[int, int]] | None = None

    def __bool__(self) -> bool:
        return self != Narrowed()

    def conditions(self, columns: Any) -> list[ColumnElement[bool]]:
        """The conditions on columns, those of ``Transfer`` or of a subquery."""
        met = [getattr(columns, name).in_(values) for name, values in self.values.items()]
        met += self.began.meets(func.coalesce(columns.began_at, columns.updated_at))
        met += self.changed.meets(columns.updated_at)
        if self.account is not None:
            met.append(or_(columns.sender == self.account, columns.receiver == self.account))
        if self.amounts is not None:
            amount, chain = exact_order(columns.amount), columns.src_chain_id
            within = [and_(chain == each, amount.between(*bounds)) for each, bounds in self.amounts.items()]
            met.append(or_(false(), *within))
        return met


class Page(Struct, frozen=True):
    """Rows and where the next page begins; ``rest`` is None when there are no more."""

    rows: Sequence[ListedTransfer]
    rest: Cursor | None


class Branch(Struct, frozen=True):
    """Transfers whose leading columns of one index have these values, and which meet the conditions.

    :ivar led_by: columns that the conditions give one value, and that come before the time in the index. They
        are in the order, so that PostgreSQL takes that index where it expects more rows than there are.
    :ivar elsewhere: a column by name and its value in the transfers that another branch has. They are read
        and left out afterwards: they may be nearly all, and a branch is not walked to its end for the others.
    """

    columns: tuple[InstrumentedAttribute[Any], ...] = ()
    values: tuple[int | str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    led_by: tuple[InstrumentedAttribute[Any], ...] = ()
    elsewhere: tuple[str, str] | None = None

    @property
    def falling(self) -> list[ColumnElement[Any]]:
        """The order of its index, the greatest first."""
        return [column.desc() for column in (*self.led_by, *self.columns, Transfer.updated_at)]

    @property
    def sortable(self) -> int:
        """How many rows are read at once to be sorted."""
        columns = (*self.led_by, *self.columns)
        return PAIRS if any(column is Transfer.dst_chain_id for column in columns) else SCANNED


EVERYTHING: Final = [Branch()]


def by_account(account: str) -> list[Branch]:
    """Transfers from or to an account, each once."""
    sent = Branch((Transfer.sender,), (account,))
    return [sent, Branch((Transfer.receiver,), (account,), elsewhere=("sender", account))]


def by_open_status(statuses: Sequence[int]) -> list[Branch]:
    """Transfers at these statuses, which are all open ones."""
    return [Branch((Transfer.status,), (status,), (transfer_is_open,)) for status in statuses]


def by_pair(src_chain_id: int, dst_chain_id: int) -> list[Branch]:
    """Transfers from one chain to another."""
    return [Branch((Transfer.src_chain_id, Transfer.dst_chain_id), (src_chain_id, dst_chain_id))]


def by_source(connection: Connection, chain_id: int) -> list[Branch]:
    """Transfers from a chain, also those whose destination is not known."""
    of_chain = Transfer.src_chain_id == chain_id
    partners = _distinct(connection, Transfer.dst_chain_id, of_chain)
    to = [by_pair(chain_id, partner)[0] for partner in partners]
    unknown = (of_chain, Transfer.dst_chain_id.is_(None))
    return [*to, Branch(conditions=unknown, led_by=(Transfer.dst_chain_id,))]


def by_destination(connection: Connection, chain_id: int) -> list[Branch]:
    """Transfers to a chain."""
    return [by_pair(src, chain_id)[0] for src in _distinct(connection, Transfer.src_chain_id)]


def transfers_by_id(connection: Connection, transfer_ids: Sequence[bytes]) -> Sequence[ListedTransfer]:
    """The known ones of these transfers, at most some hundreds, in any order."""
    return connection.execute(select(*COLUMNS).where(Transfer.transfer_id.in_(transfer_ids))).all()


def _distinct(
    connection: Connection, column: InstrumentedAttribute[int | None], *conditions: ColumnElement[bool]
) -> list[int]:
    """The values of an indexed column, found by skipping from one to the next."""
    found: list[int] = []
    while len(found) < MOST_PARTNERS:
        beyond = (column > found[-1],) if found else ()
        following = connection.scalar(select(func.min(column)).where(*conditions, *beyond))
        if following is None:
            break
        found.append(following)
    return found


def newest_transfers(
    connection: Connection,
    branches: Sequence[Branch],
    *,
    others: Narrowed,
    span: Span,
    after: Cursor | None,
    size: int,
) -> Page:
    """A page of the transfers in any of the branches, the last changed first.

    :param branches: no transfer may be in two of them.
    :param others: what no index of the branches serves.
    :param span: of the last change.
    """
    if not branches:
        return Page((), None)
    scanned = min(SCANNED // len(branches), *(branch.sortable for branch in branches))
    depth = max(scanned, size + 1) if others else size + 1
    walked = union_all(
        *(_own(branch, _walk(connection, branch, span, after), depth) for branch in branches)
    ).subquery()
    newest = (walked.c.updated_at.desc(), walked.c.transfer_id.desc())
    listed = select(walked).where(*others.conditions(walked.c))
    rows = connection.execute(with_values(listed.order_by(*newest).limit(at_most(size + 1)))).all()
    frontier = _frontier(connection, branches, span, after, depth) if others else None
    if frontier is not None:
        # Beyond it a branch may have rows that were not read.
        rows = [row for row in rows if _key(row) >= (frontier.at, frontier.transfer_id)]
    if len(rows) > size:
        return Page(rows[:size], Cursor(*_key(rows[size - 1])))
    return Page(rows, frontier)


PAIRS: Final = 1_000
"""Rows of one pair of chains that are read at once. For more PostgreSQL would rather read all of a chain."""


def rows_within(connection: Connection, branches: Sequence[Branch], span: Span, most: int) -> Subquery:
    """So many rows of the branches that changed within a span, in any order, each once."""
    rows = union_all(*(_own(branch, _walk(connection, branch, span, None), most) for branch in branches))
    return rows.limit(at_most(most)).subquery()


def has_at_most(connection: Connection, branches: Sequence[Branch], span: Span, most: int) -> bool:
    """Whether the branches have no more rows that changed within a span. Only indexes are read."""
    walks = [
        _walk(connection, branch, span, None).with_only_columns(Transfer.updated_at) for branch in branches
    ]
    entries = union_all(
        *(
            select(walk.order_by(None).order_by(*branch.falling).limit(at_most(most + 1)).subquery())
            for branch, walk in zip(branches, walks, strict=True)
        )
    )
    some = entries.limit(at_most(most + 1)).subquery()
    return (connection.scalar(with_values(select(func.count()).select_from(some))) or 0) <= most


def _walk(
    connection: Connection, branch: Branch, span: Span, after: Cursor | None
) -> Select[*tuple[Any, ...]]:
    """A branch from its newest row on; ids decide between equal times.

    The conditions are written as a range of the index, in the order of the index. With equalities alone a
    planner may choose the index that only has the time, and read very many rows where values are rarer than
    it estimates. With a range alone PostgreSQL may read another index of the first column, and sort all that
    it has: it gets equalities and a range that the first columns are left out of.
    """
    at, transfer_id = Transfer.updated_at, Transfer.transfer_id
    conditions = list(branch.conditions)
    newest = min(span.until or _ALWAYS, after.at if after is not None else _ALWAYS)
    columns, values = branch.columns, branch.values
    if connection.dialect.name == "postgresql" and len(columns) > 1:
        conditions += [column == value for column, value in zip(columns, values, strict=True)]
        columns, values = columns[-1:], values[-1:]
    low, high = (
        tuple_(*(literal(value, column.type) for column, value in zip((*columns, at), bounds, strict=True)))
        for bounds in ((*values, span.since or _NEVER), (*values, newest))
    )
    conditions += [tuple_(*columns, at) >= low, tuple_(*columns, at) <= high]
    if span.until is not None:
        conditions.append(at < span.until)
    if after is not None:
        conditions.append(or_(at < after.at, transfer_id < after.transfer_id))
    return select(*COLUMNS).where(*conditions).order_by(*branch.falling, transfer_id.desc())


def _own(branch: Branch, walk: Select[*tuple[Any, ...]], depth: int) -> Select[*tuple[Any, ...]]:
    """So many rows of a branch, without those that another branch has.

    Every one of a list's first rows is among as many first rows of its branch, with these or without.
    """
    rows = walk.limit(at_most(depth)).subquery()
    if branch.elsewhere is None:
        return select(rows)
    name, value = branch.elsewhere
    return select(rows).where(rows.c[name].is_distinct_from(value))


def _frontier(
    connection: Connection, branches: Sequence[Branch], span: Span, after: Cursor | None, depth: int
) -> Cursor | None:
    """The position up to which every branch was read; None where all were read to their end."""
    lasts = [
        _walk(connection, branch, span, after)
        .with_only_columns(Transfer.updated_at, Transfer.transfer_id)
        .offset(at_most(depth - 1))
        .limit(at_most(1))
        .subquery()
        for branch in branches
    ]
    read = select(union_all(*(select(last) for last in lasts)).subquery())
    rows = connection.execute(with_values(read)).all()
    return max((Cursor(row.updated_at, row.transfer_id) for row in rows), key=_cursor_key, default=None)


def _key(row: ListedTransfer) -> tuple[datetime, bytes]:
    return row.updated_at, row.transfer_id


def _cursor_key(cursor: Cursor) -> tuple[datetime, bytes]:
    return cursor.at, cursor.transfer_id


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
    """The known ones of these transfers, the last changed first."""
    at, transfer_id = Transfer.updated_at, Transfer.transfer_id
    known = select(*COLUMNS).where(transfer_id.in_(transfer_ids))
    return connection.execute(known.order_by(at.desc(), transfer_id.desc())).all()
