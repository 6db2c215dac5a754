"""Finding rows by the keys of events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_
from sqlalchemy.orm import InstrumentedAttribute

from app.domain.transfer.subjects import EventKey
from app.models.choice import is_one_of

MOST_IN_STATEMENT: Final = 10_000
"""Values named in one statement: SQLite takes 32,766, PostgreSQL 65,535."""


def with_keys(
    connection: Connection,
    event_id: InstrumentedAttribute[str],
    subject: InstrumentedAttribute[str],
    keys: Iterable[EventKey],
) -> Iterator[ColumnElement[bool]]:
    """Conditions that together hold for the rows of these keys, for one statement each.

    One for each subject: so both databases look the rows up in an index that begins with these columns.
    """
    ids: dict[str, list[Any]] = defaultdict(list)
    for key in keys:
        ids[key.subject].append(key.id)
    for about, of_subject in ids.items():
        for start in range(0, len(of_subject), MOST_IN_STATEMENT):
            chunk = of_subject[start : start + MOST_IN_STATEMENT]
            yield and_(is_one_of(connection, event_id, chunk), subject == about)
