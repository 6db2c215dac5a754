"""A bound that the planner knows: readers keep plans for any parameters."""

from __future__ import annotations

from typing import Any

from sqlalchemy import event

from app.db.database import Database
from app.db.engine import reading
from app.transfers.queries.lists import SCANNED, ListCount, TransferFilters, list_transfers


def test_page_statement_limits_its_rows(database: Database) -> None:
    statements = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        statements.append(statement)

    event.listen(database.reads, "before_cursor_execute", note)
    try:
        with reading(database.reads) as connection:
            list_transfers(connection, TransferFilters(), size=50, count=ListCount(1, at_least=True))
    finally:
        event.remove(database.reads, "before_cursor_execute", note)
    assert "LIMIT 51" in statements[0]
    assert f"LIMIT {SCANNED}" in statements[0]
