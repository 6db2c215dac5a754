"""Differences between stored rows and those that follow from the log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, Select

from app.db.models import Base

Values = Mapping[str, Any]


class Difference(Struct, frozen=True):
    """A row that differs from the log. None: there is no such row, or there should be none."""

    table: str
    key: Values
    stored: Values | None
    expected: Values | None
    reason: str = ""
    """Why it differs, where the log shows that an earlier release read it in another way."""

    def __str__(self) -> str:
        return f"{self._words()} (because {self.reason})" if self.reason else self._words()

    def _words(self) -> str:
        row = " ".join([self.table, *(f"{name}={_text(value)}" for name, value in self.key.items())])
        if self.stored is None:
            return f"{row}: is missing"
        if self.expected is None:
            return f"{row}: does not follow from the log"
        columns = (
            f"{name} is {_text(self.stored[name])} and should be {_text(value)}"
            for name, value in self.expected.items()
            if self.stored[name] != value
        )
        return f"{row}: {', '.join(columns)}"

    def more(self, name: str) -> Any:
        """The amount that a column of a sum lacks."""
        expected, stored = ((row or {}).get(name, 0) for row in (self.expected, self.stored))
        return expected - stored


class Part(Struct, frozen=True):
    """A part of the projections that can be compared separately.

    ``compare`` reads it and its log at one moment; ``repair`` writes what follows from the log, as the only
    writer. A sum over very many rows is repaired ``by_difference``: reports change the rows and
    their sum alike, so the difference stays the same, and the only writer need not count again.
    """

    compare: Callable[[Connection], list[Difference]]
    repair: Callable[[Connection, Sequence[Difference], datetime], None]
    transfers: int = 0
    by_difference: bool = False


def rows_of(connection: Connection, query: Select[*tuple[Any, ...]]) -> list[Values]:
    """The rows of a query by the names of their columns."""
    return [row._asdict() for row in connection.execute(query)]


def differences(
    model: type[Base],
    stored: Iterable[Values],
    expected: Iterable[Values],
    *,
    key: Sequence[str] = (),
) -> Iterator[Difference]:
    """The rows of a table that differ.

    :param expected: rows with the columns to be compared.
    :param key: what names a row; by default its primary key.
    """
    names = tuple(key) or tuple(column.name for column in model.__table__.primary_key)
    there = {tuple(row[name] for name in names): row for row in stored}
    wanted = {tuple(row[name] for name in names): row for row in expected}
    for found in sorted(there.keys() | wanted.keys(), key=repr):
        before, after = there.get(found), wanted.get(found)
        if before is None or after is None or any(before[name] != after[name] for name in after):
            yield Difference(model.__tablename__, dict(zip(names, found, strict=True)), before, after)


def _text(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    return value.isoformat() if isinstance(value, datetime) else str(value)
