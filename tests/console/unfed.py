"""Transfers of which there are no events."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import insert

from app.db.database import Database
from app.db.engine import writing
from app.transfers.models import Transfer
from tests.console.visitor import NOW


def without_events(database: Database, *statuses: int) -> list[str]:
    """Transfers of which there are no events, at these statuses for two hours."""
    at = NOW - timedelta(hours=2)
    ids = [n.to_bytes(32, "big") for n in range(1, len(statuses) + 1)]
    moments = {"status_since": at, "updated_at": at}
    where = {"src_chain_id": 1, "dst_chain_id": 56, "symbol": "USDT", "amount": 25 * 10**6}
    with writing(database.engine) as connection:
        for transfer_id, status in zip(ids, statuses, strict=True):
            row = {"transfer_id": transfer_id, "status": status, "refund_reason": 0} | moments | where
            connection.execute(insert(Transfer).values(row))
    return [f"0x{transfer_id.hex()}" for transfer_id in ids]
