"""What the audit log has, for tests."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import select

from app.audit.models import AuditRecord
from app.db.engine import reading
from tests.gateway import Gateway


def rows(gateway: Gateway) -> list[Any]:
    with reading(gateway.engine) as connection:
        return list(connection.execute(select(AuditRecord.__table__).order_by(AuditRecord.id)))


def last(gateway: Gateway) -> tuple[Any, list[dict[str, Any]]]:
    row = rows(gateway)[-1]
    return row, json.loads(row.changes)
