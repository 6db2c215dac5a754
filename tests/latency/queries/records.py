"""Latencies as the feed would have left them."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

from sqlalchemy import insert

from app.db.database import Database
from app.db.engine import writing
from app.feed.projection.latencies import recount
from app.latency.models import LatencyRecord
from app.transfers.models import Transfer
from app.values.codes import TransferHistoryStatus
from app.values.identifiers import ChainId

PAIR = ChainId(1), ChainId(56)
NOW = datetime(2026, 3, 8, 12, tzinfo=UTC)


def record(
    database: Database,
    latencies: list[int],
    *,
    src: int = 1,
    dst: int = 56,
    ago: timedelta = timedelta(hours=1),
    symbol: str | None = None,
) -> None:
    """Completed transfers with these latencies, released ``ago`` before now."""
    transfers = [
        {
            "transfer_id": random.randbytes(32),
            "status": TransferHistoryStatus.TRANSFER_COMPLETED,
            "refund_reason": 0,
            "updated_at": NOW,
            "symbol": symbol,
        }
        for _ in latencies
    ]
    pair = {"src_chain_id": src, "dst_chain_id": dst, "released_at": NOW - ago}
    records = [
        pair | {"transfer_id": transfer["transfer_id"], "latency_us": latency}
        for transfer, latency in zip(transfers, latencies, strict=True)
    ]
    with writing(database.engine) as connection:
        connection.execute(insert(Transfer), transfers)
        connection.execute(insert(LatencyRecord), records)


def count(database: Database) -> None:
    """Count the records, as the feed does now and then."""
    with writing(database.engine) as connection:
        recount(connection, NOW)
