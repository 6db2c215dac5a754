"""Which transfers are there? Lists for the console, each page bounded however many transfers there are.

A list is merged from branches, each of which walks a stretch of one index (models.transfers) from its newest
end. Filters that no index serves are applied to the rows walked over, and of those at most ``SCANNED`` are
looked at for a page: then the page may be short, and ``Page.rest`` says where to look on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    TextClause,
    and_,
    func,
    literal,
    or_,
    select,
    tuple_,
    union,
    union_all,
)
from sqlalchemy.orm import InstrumentedAttribute

from app.models.transfers import Transfer, TransferHash, transfer_is_open

SCANNED: Final = 5_000
"""Rows looked at for one page where a filter has no index; about 10 ms on PostgreSQL."""

MOST_PARTNERS: Final = 256

_NEVER: Final = datetime(1, 1, 1, tzinfo=UTC)
_ALWAYS: Final = datetime(9999, 12, 31, tzinfo=UTC)

Condition = ColumnElement[bool] | TextClause
TransferRow = Row[*tuple[Any, ...]]

COLUMNS: Final = (
    Transfer.transfer_id,
    Transfer.status,
    Transfer.refund_reason,
    Transfer.status_since,
    Transfer.kind,
    Transfer.src_chain_id,
    Transfer.dst_chain_id,
    Transfer.symbol,
    Transfer.amount,
    Transfer.sender,
    Transfer.receiver,
    Transfer.sent_at,
    Transfer.released_at,
    Transfer.updated_at,
)


@dataclass(frozen=True, slots=True)
class Cursor:
    """A row's place in a list: its time and, among equals, its id."""

    at: datetime
    transfer_id: bytes


@dataclass(frozen=True, slots=True)
class Span:
    """Last changes from ``since`` on and before ``until``; None is no bound."""

    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Rows and where the next page begins; ``rest`` is None when there are no more."""

    rows: Sequence[TransferRow]
    rest: Cursor | None


@dataclass(frozen=True, slots=True)
class Branch:
    """Transfers whose leading columns of one index have these values, and which meet the conditions."""

    columns: tuple[InstrumentedAttribute[Any], ...] = ()
    values: tuple[int | str, ...] = ()
    conditions: tuple[Condition, ...] = ()


EVERYTHING: Final = [Branch()]


def by_account(account: str) -> list[Branch]:
    """Transfers from or to an account, each once."""
    not_sent = Transfer.sender.is_distinct_from(account)
    return [Branch((Transfer.sender,), (account,)), Branch((Transfer.receiver,), (account,), (not_sent,))]


def by_open_status(statuses: Sequence[int]) -> list[Branch]:
    """Transfers at statuses all of which are open ones."""
    return [Branch((Transfer.status,), (status,), (transfer_is_open,)) for status in statuses]


def by_pair(src_chain_id: int, dst_chain_id: int) -> list[Branch]:
    """Transfers between two chains, one way."""
    return [Branch((Transfer.src_chain_id, Transfer.dst_chain_id), (src_chain_id, dst_chain_id))]


def by_source(connection: Connection, chain_id: int) -> list[Branch]:
    """Transfers from a chain, also those of which no destination is told."""
    of_chain = Transfer.src_chain_id == chain_id
    partners = _distinct(connection, Transfer.dst_chain_id, of_chain)
    to = [by_pair(chain_id, partner)[0] for partner in partners]
    return [*to, Branch(conditions=(of_chain, Transfer.dst_chain_id.is_(None)))]


def by_destination(connection: Connection, chain_id: int) -> list[Branch]:
    """Transfers to a chain."""
    return [by_pair(src, chain_id)[0] for src in _distinct(connection, Transfer.src_chain_id)]


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
    others: Mapping[str, Sequence[int | str]],
    span: Span,
    after: Cursor | None,
    size: int,
) -> Page:
    """A page of the transfers in any of the branches, the last changed first.

    :param branches: no transfer may be in two of them.
    :param others: columns by name and the values that they may have, which no index serves.
    """
    if not branches:
        return Page((), None)
    depth = max(SCANNED // len(branches), size + 1) if others else size + 1
    walks = [_walk(branch, span, after).limit(depth).subquery() for branch in branches]
    walked = union_all(*(select(walk) for walk in walks)).subquery()
    meets = [walked.c[name].in_(values) for name, values in others.items()]
    newest = (walked.c.updated_at.desc(), walked.c.transfer_id.desc())
    rows = connection.execute(select(walked).where(*meets).order_by(*newest).limit(size + 1)).all()
    frontier = _frontier(connection, branches, span, after, depth) if others else None
    if frontier is not None:
        # Beyond it a branch may have rows that were not looked at.
        rows = [row for row in rows if _key(row) >= (frontier.at, frontier.transfer_id)]
    if len(rows) > size:
        return Page(rows[:size], Cursor(*_key(rows[size - 1])))
    return Page(rows, frontier)


def _walk(branch: Branch, span: Span, after: Cursor | None) -> Select[*tuple[Any, ...]]:
    """A branch from its newest row on; ids decide between equal times.

    Written as a stretch of the index, in the index's order, and not as equalities: those would let a
    planner walk the index of time alone and pass over everything, for values that are rarer than it thinks.
    """
    at, transfer_id = Transfer.updated_at, Transfer.transfer_id
    conditions = list(branch.conditions)
    newest = min(span.until or _ALWAYS, after.at if after is not None else _ALWAYS)
    columns = (*branch.columns, at)
    low, high = (
        tuple_(*(literal(value, column.type) for column, value in zip(columns, values, strict=True)))
        for values in ((*branch.values, span.since or _NEVER), (*branch.values, newest))
    )
    conditions += [tuple_(*columns) >= low, tuple_(*columns) <= high]
    if span.until is not None:
        conditions.append(at < span.until)
    if after is not None:
        conditions.append(or_(at < after.at, transfer_id < after.transfer_id))
    order = (*(column.desc() for column in columns), transfer_id.desc())
    return select(*COLUMNS).where(*conditions).order_by(*order)


def _frontier(
    connection: Connection, branches: Sequence[Branch], span: Span, after: Cursor | None, depth: int
) -> Cursor | None:
    """The last row that was looked at in the branch that was not looked at furthest; None where all ended."""
    lasts = [
        _walk(branch, span, after)
        .with_only_columns(Transfer.updated_at, Transfer.transfer_id)
        .offset(depth - 1)
        .limit(1)
        .subquery()
        for branch in branches
    ]
    rows = connection.execute(union_all(*(select(last) for last in lasts))).all()
    return max((Cursor(row.updated_at, row.transfer_id) for row in rows), key=_cursor_key, default=None)


def _key(row: TransferRow) -> tuple[datetime, bytes]:
    return row.updated_at, row.transfer_id


def _cursor_key(cursor: Cursor) -> tuple[datetime, bytes]:
    return cursor.at, cursor.transfer_id


def oldest_in_state(
    connection: Connection,
    statuses: Sequence[int],
    until: datetime,
    after: Cursor | None,
    size: int,
) -> Sequence[TransferRow]:
    """Transfers at these statuses since ``until`` or longer, the longest first.

    :param after: the ``status_since`` and id of the last row of the page before.
    """
    since, transfer_id = Transfer.status_since, Transfer.transfer_id
    conditions = [since <= until]
    if after is not None:
        conditions.append(and_(since >= after.at, or_(since > after.at, transfer_id > after.transfer_id)))
    walks = [
        select(*COLUMNS)
        .where(Transfer.status == status, *conditions)
        .order_by(since, transfer_id)
        .limit(size)
        .subquery()
        for status in statuses
    ]
    walked = union_all(*(select(walk) for walk in walks)).subquery()
    oldest = select(walked).order_by(walked.c.status_since, walked.c.transfer_id).limit(size)
    return connection.execute(oldest).all()


def transfers_of_hash(connection: Connection, tx_hash: str, size: int) -> Sequence[TransferRow]:
    """The transfers whose log names this transaction, the last changed first."""
    named = (
        select(Transfer.transfer_id).where(Transfer.src_tx_hash == tx_hash),
        select(Transfer.transfer_id).where(Transfer.dst_tx_hash == tx_hash),
        select(TransferHash.transfer_id).where(TransferHash.tx_hash == tx_hash),
    )
    found = union(*(select(each.limit(size).subquery()) for each in named))
    return transfers_with_ids(connection, connection.scalars(found).all()[:size])


def transfers_with_ids(connection: Connection, transfer_ids: Sequence[bytes]) -> Sequence[TransferRow]:
    """These of the transfers that are known, the last changed first."""
    at, transfer_id = Transfer.updated_at, Transfer.transfer_id
    known = select(*COLUMNS).where(transfer_id.in_(transfer_ids))
    return connection.execute(known.order_by(at.desc(), transfer_id.desc())).all()
