"""Records that somebody wrote past the gateway, so that their columns hold what their types cannot be."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from app.audit.services import record_separately
from app.audit.verification import verify_audit
from app.db.database import Database
from tests.actors import TESTER
from tests.applications import Audited

UNREADABLE = {
    "sqlite": [
        "at = 'soon'",
        "at = 7",
        "at = '2026-99-99'",
        "actor = X'FF'",
        "detail = CAST(X'FF' AS TEXT)",
        "mac = 'x'",
    ],
    "postgresql": ["at = 'infinity'", "at = '-infinity'", "at = '20000-01-01'"],
}


@pytest.mark.every_database
def test_unreadable_record_is_first_fault(database: Database, audited: Audited) -> None:
    """The one in the middle of a chunk, after records that are good."""
    for number in range(3):
        record_separately(*audited, TESTER, "test.action", f"subject {number}")
    with database.engine.connect() as connection:
        sealed = dict(connection.execute(text("SELECT * FROM audit_records WHERE id = 2")).one()._mapping)
    restored = text(
        f"UPDATE audit_records SET {', '.join(f'{name} = :{name}' for name in sealed)} WHERE id = 2"
    )
    for change in UNREADABLE[database.engine.dialect.name]:
        with database.engine.begin() as connection:
            connection.execute(text(f"UPDATE audit_records SET {change} WHERE id = 2"))
        found = verify_audit(*audited)
        assert (found.count, found.head[:2]) == (1, "1:"), change
        assert (found.fault or "").startswith("record 2 "), change
        with database.engine.begin() as connection:
            connection.execute(restored, sealed)
        assert verify_audit(*audited).fault is None
