"""Which filters has an account saved?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, select

from app.models.desk.saved_filters import SavedFilter


class SavedFilterRow(NamedTuple):
    """A filter; ``query`` as a URL has it."""

    id: int
    name: str
    query: str


def filters_of(connection: Connection, operator_id: int) -> Sequence[SavedFilterRow]:
    """The account's filters, in the order in which they were first saved."""
    saved = SavedFilter
    rows = connection.execute(
        select(saved.id, saved.name, saved.query).where(saved.operator_id == operator_id).order_by(saved.id)
    )
    return [SavedFilterRow(*row) for row in rows]
