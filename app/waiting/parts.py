"""What the application takes of waiting requests."""

from __future__ import annotations

from flask import Flask

from app.db.database import Database
from app.feed.projection.journal import JOURNAL_WRITTEN
from app.http.application import add_part
from app.transfers.services.status import StatusRows
from app.waiting.cached_rows import CachedRows
from app.waiting.register import Waiting


def add(app: Flask, database: Database, *, most_waiting: int) -> None:
    """Add who waits, and the rows that are in memory until they change."""
    rows = CachedRows(is_one_server=database.public.is_one_server)
    for engine in database.engines:
        JOURNAL_WRITTEN.hand_in(engine, rows.drop_at_end)
    add_part(app, StatusRows, rows)
    add_part(app, Waiting, Waiting(database.public, most_waiting, rows))
