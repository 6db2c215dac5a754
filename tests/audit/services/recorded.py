"""What the audit log has, for tests."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import select

from app.audit.models import AuditRecord
from app.db.database import Database
from app.db.engine import reading


def rows(database: Database) -> list[Any]:
    with reading(database.engine) as connection:
        return list(connection.execute(select(AuditRecord.__table__).order_by(AuditRecord.id)))


def last(database: Database) -> tuple[Any, list[dict[str, Any]]]:
    row = rows(database)[-1]
    return row, json.loads(row.changes)
