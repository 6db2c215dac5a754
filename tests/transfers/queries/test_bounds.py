"""A bound that the planner knows: readers store plans for any parameters."""

from __future__ import annotations

from app.db.database import Database
from app.db.engine import reading
from app.transfers.queries.lists import SCANNED, ListCount, TransferFilters, list_transfers
from tests.steps import statements


def test_transfer_list_statement_has_limits(database: Database) -> None:
    with statements(database.reads) as executed, reading(database.reads) as connection:
        list_transfers(connection, TransferFilters(), size=50, count=ListCount(1, at_least=True))
    assert "LIMIT 51" in executed[0]
    assert f"LIMIT {SCANNED}" in executed[0]
