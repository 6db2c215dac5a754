"""Rows of transfers, written past the feed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy import insert

from app.db.database import Database
from app.db.engine import writing
from app.latency.models import LatencyRecord
from app.transfers.models import Transfer
from tests.feed.services.world import NOW


def put(database: Database, *rows: dict[str, Any]) -> None:
    """Projected transfers: ``since`` is so many seconds before NOW."""
    values = []
    for n, row in enumerate(rows, 1):
        since = NOW - timedelta(seconds=row.pop("since"))
        fields = {"refund_reason": 0, "src_chain_id": 1, "dst_chain_id": 2, "symbol": "USDT", "amount": 1}
        moment = {"status_since": since, "updated_at": since}
        values.append({"transfer_id": n.to_bytes(32, "big"), **fields, **moment, **row})
    with writing(database.engine) as connection:
        connection.execute(insert(Transfer), values)


def took(database: Database, src: int, dst: int, *seconds: float, released: float = 60) -> None:
    """Completed transfers that took so long, released so many seconds before NOW."""
    with writing(database.engine) as connection:
        for n, latency in enumerate(seconds):
            key = b"\xff" + bytes([src, dst, n % 256, n // 256]) + bytes(27)
            at = NOW - timedelta(seconds=released)
            row = {"transfer_id": key, "status": 5, "refund_reason": 0, "status_since": at, "updated_at": at}
            connection.execute(insert(Transfer).values(**row, src_chain_id=src, dst_chain_id=dst))
            record = {"src_chain_id": src, "dst_chain_id": dst, "latency_us": round(latency * 1_000_000)}
            connection.execute(insert(LatencyRecord).values(transfer_id=key, released_at=at, **record))
