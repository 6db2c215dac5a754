"""Counts how many transfers a list has, on all its pages. A number is exact, or said to be the least.

Every filter that has an index is tried: where one of them leads to few enough rows, these are read, and
the number is exact. Otherwise some rows are read, and as many as meet the filters are the least number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, Subquery, func, literal, literal_column, select, union_all

from app.db.types import UtcTime, at_most, exact_order
from app.transfers.models import BEGAN, Transfer
from app.transfers.queries.lists import COLUMNS, Branch, Narrowed, Span, has_at_most, rows_within

READ: Final = 30_000
"""Rows that are read to count those which meet the filters."""

LEAST: Final = 10_000
"""Up to here every number is worth reading rows for; of more, *at least* so many is said."""

_Conditions = Sequence[ColumnElement[bool]]


class Listed(Struct, frozen=True):
    """How many transfers a list has: exactly, or ``at_least`` so many."""

    number: int
    at_least: bool = False


def count_listed(
    connection: Connection, branches: Sequence[Branch], narrowed: Narrowed, span: Span
) -> Listed:
    """How many transfers in the branches meet the filters."""
    if not branches:
        return Listed(0)
    few = min(branch.sortable for branch in branches)
    if has_at_most(connection, branches, span, few):
        return Listed(_met(connection, rows_within(branches, span, few), narrowed))
    for parts in _by_an_index(narrowed):
        if _has_at_most(connection, parts):
            return Listed(_met(connection, _rows(parts), narrowed))
    number = _met(connection, rows_within(branches, span, READ), narrowed)
    if number < LEAST and has_at_most(connection, branches, span, READ):
        return Listed(number)
    return Listed(min(number, LEAST), at_least=True)


def _by_an_index(narrowed: Narrowed) -> Iterator[list[_Conditions]]:
    """For each filter the ranges of an index that have all its transfers, each in one of them."""
    statuses = narrowed.values.get("status", ())
    if statuses:
        yield [(Transfer.status == status,) for status in statuses]
    for (symbol,) in [narrowed.values[name] for name in ("symbol",) if name in narrowed.values]:
        token = Transfer.symbol == symbol
        if narrowed.amounts is not None:
            amount = exact_order(Transfer.amount)
            yield [
                (token, Transfer.src_chain_id == chain, amount >= low, amount <= high)
                for chain, (low, high) in narrowed.amounts.items()
                for low, high in [(literal(each, amount.type) for each in (low, high))]
            ]
        chains = narrowed.values.get("src_chain_id", ())
        yield [(token, Transfer.src_chain_id.in_(chains))] if chains else [(token,)]
    if narrowed.began != Span():
        yield [narrowed.began.meets(literal_column(BEGAN, UtcTime))]
    if narrowed.changed != Span():
        yield [narrowed.changed.meets(Transfer.updated_at)]


def _has_at_most(connection: Connection, parts: Sequence[_Conditions]) -> bool:
    """Whether the ranges have no more rows than are read. Only indexes are read."""
    if not parts:
        return True
    each = [
        select(literal(1)).select_from(Transfer).where(*of).limit(at_most(READ + 1)).subquery()
        for of in parts
    ]
    entries = union_all(*(select(some) for some in each)).limit(at_most(READ + 1)).subquery()
    return (connection.scalar(select(func.count()).select_from(entries)) or 0) <= READ


def _rows(parts: Sequence[_Conditions]) -> Subquery:
    each = [select(*COLUMNS).where(*of) for of in parts] or [select(*COLUMNS).limit(at_most(0))]
    return union_all(*(select(some.limit(at_most(READ)).subquery()) for some in each)).subquery()


def _met(connection: Connection, rows: Any, narrowed: Narrowed) -> int:
    """How many of the rows meet the filters."""
    counted = select(func.count()).select_from(rows).where(*narrowed.conditions(rows.c))
    return connection.scalar(counted) or 0
