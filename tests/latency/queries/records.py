"""Latencies as the feed would have left them."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

from sqlalchemy import insert

from app.db.database import Database
from app.db.engine import writing
from app.latency.models import LatencyRecord
from app.transfers.models import Transfer
from app.values.codes import TransferHistoryStatus

NOW = datetime(2026, 3, 8, 12, tzinfo=UTC)


def record(
    database: Database,
    latencies: list[int],
    *,
    src: int = 1,
    dst: int = 56,
    ago: timedelta = timedelta(hours=1),
) -> None:
    """Completed transfers with these latencies, released ``ago`` before now."""
    ids = [random.randbytes(32) for _ in latencies]
    with writing(database.engine) as connection:
        if not latencies:
            return
        connection.execute(
            insert(Transfer),
            [
                {
                    "transfer_id": key,
                    "status": TransferHistoryStatus.TRANSFER_COMPLETED,
                    "refund_reason": 0,
                    "updated_at": NOW,
                }
                for key in ids
            ],
        )
        connection.execute(
            insert(LatencyRecord),
            [
                {
                    "transfer_id": key,
                    "src_chain_id": src,
                    "dst_chain_id": dst,
                    "released_at": NOW - ago,
                    "latency_us": latency,
                }
                for key, latency in zip(ids, latencies, strict=True)
            ],
        )
