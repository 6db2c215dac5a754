"""The public operations about latencies."""

from __future__ import annotations

from typing import Any

from app.db.database import Database
from app.http.application import current
from app.latency.services import LatencyStats, latency_stats, median_latency
from app.network.snapshot import SnapshotSource


def get_latest_7_day_transfer_latency(requested: dict[str, Any]) -> float:
    chains = requested["src_chain_id"], requested["dst_chain_id"]
    return median_latency(current(Database), current(SnapshotSource), *chains)


def get_transfer_latency_stats(requested: dict[str, Any]) -> LatencyStats:
    of = requested["src_chain_id"], requested["dst_chain_id"], requested.get("token_symbol")
    return latency_stats(current(Database), current(SnapshotSource), *of)
