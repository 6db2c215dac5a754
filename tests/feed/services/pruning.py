"""What pruning takes out of the projections."""

from __future__ import annotations

from typing import Any

Rows = dict[str, list[tuple[Any, ...]]]
OF_TRANSFERS = ("transfers", "transfer_hashes", "refunds", "latency_records", "transfer_blocks")


def without(rows: Rows, gone: set[bytes]) -> Rows:
    """What is left when these transfers are taken out; sums over all of them stay."""
    subjects = {f"transfer:0x{transfer_id.hex()}" for transfer_id in gone}
    kept = {name: [row for row in rows[name] if row[0] not in gone] for name in OF_TRANSFERS}
    kept["transfer_accounts"] = [row for row in rows["transfer_accounts"] if row[2] not in gone]
    anomalies = [row for row in rows["anomalies"] if row[1] not in subjects]
    return rows | kept | {"anomalies": anomalies, "pool_volumes": [], "course_counts": []}
