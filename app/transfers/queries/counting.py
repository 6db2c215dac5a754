"""Counts how many transfers a list has, on all its pages: exactly, or *at least* so many.

Rows that meet the filters are counted up to a bound. Connections for reads use the same plan for all values,
and that plan may read the whole table. So the values are written into the statement here: then PostgreSQL
knows which filter few rows meet, and which indexes to combine. SQLite knows only how many rows a value has on
average: there the filter that fewest rows meet is looked for, and its rows are read first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Connection, Select, func, literal, select

from app.db.types import at_most, with_values
from app.transfers.models import Transfer, transfer_is_open
from app.transfers.queries.lists import COLUMNS, Condition, Narrowed
from app.values.codes import FINISHED_STATUSES

LEAST: Final = 10_000
"""Up to here a number is exact; of more, *at least* so many is said."""


class Listed(Struct, frozen=True):
    """How many transfers a list has: exactly, or ``at_least`` so many."""

    number: int
    at_least: bool = False


FEW: Final = 200_000
"""Rows of one filter that are read to see which of them meet the others."""


def count_listed(connection: Connection, narrowed: Narrowed) -> Listed:
    """How many transfers meet the filters."""
    met = select(literal(1)).select_from(Transfer).where(*_conditions(narrowed))
    if connection.dialect.name == "sqlite" and (rarest := _rarest(connection, narrowed)) is not None:
        rows = select(*COLUMNS).where(*rarest).limit(at_most(FEW)).subquery()
        met = select(literal(1)).select_from(rows).where(*narrowed.conditions(rows.c))
    number = _counted(connection, met, LEAST + 1)
    return Listed(LEAST, at_least=True) if number > LEAST else Listed(number)


def _conditions(narrowed: Narrowed) -> Sequence[Condition]:
    statuses = narrowed.values.get("status", ())
    are_open = statuses and FINISHED_STATUSES.isdisjoint(statuses)
    return [*narrowed.conditions(Transfer), *([transfer_is_open] if are_open else [])]


def _counted(connection: Connection, met: Select[Any], most: int) -> int:
    counted = select(func.count()).select_from(met.limit(at_most(most)).subquery())
    return connection.scalar(with_values(counted)) or 0


def _rarest(connection: Connection, narrowed: Narrowed) -> Sequence[Condition] | None:
    """The conditions of the filter that fewest rows meet, where these are few. Only indexes are read."""
    least, rarest = FEW, None
    for each in map(_conditions, _alone(narrowed)):
        number = _counted(connection, select(literal(1)).select_from(Transfer).where(*each), least)
        if number < least:
            least, rarest = number, each
    return rarest


def _alone(narrowed: Narrowed) -> Iterator[Narrowed]:
    """Each filter that has an index. Amounts have one for each token."""
    for name in ("status", "src_chain_id", "dst_chain_id", "symbol"):
        if name in narrowed.values:
            yield Narrowed(values={name: narrowed.values[name]})
    if narrowed.amounts is not None and "symbol" in narrowed.values:
        yield Narrowed(values={"symbol": narrowed.values["symbol"]}, amounts=narrowed.amounts)
    if narrowed.account is not None:
        yield Narrowed(account=narrowed.account)
    for span in (Narrowed(began=narrowed.began), Narrowed(changed=narrowed.changed)):
        if span:
            yield span
