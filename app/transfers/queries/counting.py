"""Counts how many transfers a list has, on all its pages: exactly, or *at least* so many.

Rows that meet the filters are counted up to a bound. Connections for reads use the same plan for all values,
and that plan may read the whole table. So the values are written into the statement here: then PostgreSQL
knows which filter few rows meet, and which indexes to combine.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from sqlalchemy import Connection, func, literal, select

from app.db.types import at_most, with_values
from app.transfers.models import Transfer, transfer_is_open
from app.transfers.queries.lists import Condition, Narrowed
from app.values.codes import FINISHED_STATUSES

LEAST: Final = 10_000
"""Up to here a number is exact; of more, *at least* so many is said."""


class Listed(Struct, frozen=True):
    """How many transfers a list has: exactly, or ``at_least`` so many."""

    number: int
    at_least: bool = False


def count_listed(connection: Connection, narrowed: Narrowed) -> Listed:
    """How many transfers meet the filters."""
    conditions: list[Condition] = [*narrowed.conditions(Transfer)]
    statuses = narrowed.values.get("status", ())
    if statuses and FINISHED_STATUSES.isdisjoint(statuses):
        conditions.append(transfer_is_open)
    met = select(literal(1)).select_from(Transfer).where(*conditions).limit(at_most(LEAST + 1))
    number = connection.scalar(with_values(select(func.count()).select_from(met.subquery()))) or 0
    return Listed(LEAST, at_least=True) if number > LEAST else Listed(number)
