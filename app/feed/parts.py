"""Adds the feed to the application."""

from __future__ import annotations

from flask import Flask

from app.db.database import Database
from app.feed.services.ingest import Intake
from app.feed.services.reprojection import follow_network_changes, follow_refund_request
from app.http.application import add_part
from app.network.changes import NETWORK_CHANGED
from app.observability.counters import Counters
from app.refunds.services import REQUEST_STORED


def add(app: Flask, database: Database, counters: Counters, *, max_reorg_blocks: int) -> None:
    add_part(app, Intake, Intake(max_reorg_blocks, counters))
    for engine in database.engines:
        NETWORK_CHANGED.hand_in(engine, follow_network_changes)
        REQUEST_STORED.hand_in(engine, follow_refund_request)
