"""What pruning takes out of the projections, and when."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy import select

from app.db.engine import reading
from app.transfers.models import PrunedTransfer
from tests.feed.services.world import NOW
from tests.gateway import Gateway

Rows = dict[str, list[tuple[Any, ...]]]
LATER = NOW + timedelta(days=30)
OF_TRANSFERS = ("transfers", "transfer_hashes", "refunds", "latency_records", "transfer_blocks")


def without(rows: Rows, gone: set[bytes]) -> Rows:
    """What is left when these transfers are taken out; sums over all of them stay."""
    subjects = {f"transfer:0x{transfer_id.hex()}" for transfer_id in gone}
    kept = {name: [row for row in rows[name] if row[0] not in gone] for name in OF_TRANSFERS}
    kept["transfer_accounts"] = [row for row in rows["transfer_accounts"] if row[2] not in gone]
    anomalies = [row for row in rows["anomalies"] if row[1] not in subjects]
    return rows | kept | {"anomalies": anomalies, "pool_volumes": [], "course_counts": []}


def pruned_ids(gateway: Gateway) -> set[bytes]:
    with reading(gateway.engine) as connection:
        return set(connection.scalars(select(PrunedTransfer.transfer_id)))
