"""Counts how many transfers a list has, on all its pages. A number is exact, or said to be the least.

Every filter that has an index is tried: where one of them leads to few enough rows, these are read, and
the number is exact. Otherwise some rows of each are read, and as many as meet the filters are the least
number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import ColumnElement, Connection, Subquery, func, literal, literal_column, select, union_all

from app.db.types import UtcTime, at_most, exact_order
from app.transfers.models import BEGAN, Transfer
from app.transfers.queries.lists import COLUMNS, Branch, Narrowed, Span, has_at_most, rows_within

READ: Final = 20_000
"""Rows that are read to count those which meet the filters. As two branches may share rows, it is twice
``LEAST``."""

LEAST: Final = 10_000
"""Up to here every number is worth reading rows for; of more, *at least* so many is said."""

_Conditions = Sequence[ColumnElement[bool]]


class Listed(Struct, frozen=True):
    """How many transfers a list has: exactly, or ``at_least`` so many."""

    number: int
    at_least: bool = False


def count_listed(
    connection: Connection, branches: Sequence[Branch], narrowed: Narrowed, others: Narrowed, span: Span
) -> Listed:
    """How many transfers in the branches meet the filters.

    :param others: those of the filters that no index of the branches serves.
    """
    if not branches:
        return Listed(0)
    few = min(branch.sortable for branch in branches)
    for most in (few, READ):
        if has_at_most(connection, branches, span, most):
            return Listed(_met(connection, rows_within(branches, span, most), narrowed))
    if not others:
        return Listed(LEAST, at_least=True)
    ranges = list(_ranges(narrowed))
    for each in ranges:
        if _has_at_most(connection, each.parts):
            return Listed(_met(connection, _rows(each.parts), narrowed))
        if not each.others:
            return Listed(LEAST, at_least=True)
    least = 0
    for rows in (rows_within(branches, span, READ), *(_rows(each.parts) for each in ranges)):
        least = max(least, _met(connection, rows, narrowed, LEAST))
        if least == LEAST:
            break
    return Listed(least, at_least=True)


class _Ranges(Struct, frozen=True):
    """Ranges of one index, which have all transfers that meet some filters, each in one of them.

    :ivar others: the other filters.
    """

    parts: Sequence[_Conditions]
    others: Narrowed


def _ranges(narrowed: Narrowed) -> Iterator[_Ranges]:
    """The ranges of each index that serves a filter."""
    values = narrowed.values

    def without(*names: str) -> Narrowed:
        return replace(narrowed, values={name: each for name, each in values.items() if name not in names})

    if "status" in values:
        yield _Ranges([(Transfer.status == each,) for each in values["status"]], without("status"))
    if "symbol" in values:
        (symbol,), chains = values["symbol"], values.get("src_chain_id", ())
        token = Transfer.symbol == symbol
        if narrowed.amounts is not None:
            amount = exact_order(Transfer.amount)
            bounds = {
                chain: [literal(bound, amount.type) for bound in each]
                for chain, each in narrowed.amounts.items()
            }
            parts = [
                (token, Transfer.src_chain_id == chain, amount >= low, amount <= high)
                for chain, (low, high) in bounds.items()
            ]
            yield _Ranges(parts, replace(without("symbol"), amounts=None))
        of_chains = [(token, Transfer.src_chain_id == chain) for chain in chains]
        yield _Ranges(of_chains or [(token,)], without("symbol", "src_chain_id"))
    if narrowed.began != Span():
        began = narrowed.began.meets(literal_column(BEGAN, UtcTime))
        yield _Ranges([began], replace(narrowed, began=Span()))


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
    """So many rows of the ranges as are read."""
    each = [select(*COLUMNS).where(*of) for of in parts] or [select(*COLUMNS).limit(at_most(0))]
    rows = union_all(*(select(some.limit(at_most(READ)).subquery()) for some in each))
    return rows.limit(at_most(READ)).subquery()


def _met(connection: Connection, rows: Subquery, narrowed: Narrowed, most: int = READ) -> int:
    """How many of the rows meet the filters, counted up to ``most``."""
    met = select(literal(1)).select_from(rows).where(*narrowed.conditions(rows.c)).limit(at_most(most))
    return connection.scalar(select(func.count()).select_from(met.subquery())) or 0
