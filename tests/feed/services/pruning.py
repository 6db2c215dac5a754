"""What pruning takes out of the projections, and when."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from flask import Flask
from sqlalchemy import select

from app.db.database import Database
from app.db.engine import reading
from app.feed.services.ingest import Intake
from app.feed.services.prune import Pruning, prune
from app.http.application import part_of
from app.transfers.models import PrunedTransfer
from tests.actors import TESTER
from tests.applications import audited_of, change_part
from tests.feed.services.world import NOW

Rows = dict[str, list[tuple[Any, ...]]]
LATER = NOW + timedelta(days=30)
OF_TRANSFERS = ("transfers", "transfer_hashes", "refunds", "latency_records", "transfer_blocks")


def without(rows: Rows, gone: set[bytes]) -> Rows:
    """What is left when these transfers are taken out; sums over all of them stay."""
    subjects = {f"transfer:0x{transfer_id.hex()}" for transfer_id in gone}
    left = {name: [row for row in rows[name] if row[0] not in gone] for name in OF_TRANSFERS}
    left["transfer_accounts"] = [row for row in rows["transfer_accounts"] if row[2] not in gone]
    anomalies = [row for row in rows["anomalies"] if row[1] not in subjects]
    return rows | left | {"anomalies": anomalies, "pool_volumes": [], "course_counts": []}


def pruned_ids(database: Database) -> set[bytes]:
    with reading(database.engine) as connection:
        return set(connection.scalars(select(PrunedTransfer.transfer_id)))


def prune_later(app: Flask, before: datetime, *, dry_run: bool = False) -> Pruning:
    """Let a month pass for the application, and prune what is older than that time."""
    change_part(app, Database, clock=lambda: LATER)
    return prune(*audited_of(app), part_of(app, Intake), before, actor=TESTER, dry_run=dry_run)
