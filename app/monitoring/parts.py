"""Adds monitoring to the application."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from flask import Flask

from app.db.database import Database
from app.http.application import add_part
from app.monitoring.readiness import ClockSkew, FeedAges, Readiness, look
from app.network.snapshot import SnapshotSource
from app.values.times import system_clock


def add(
    app: Flask,
    database: Database,
    snapshots: SnapshotSource,
    *,
    feed_max_age_seconds: Iterable[tuple[int, int]],
    fails_when_stale: bool,
) -> None:
    """Add the check whether the gateway is ready."""
    clock_skew = ClockSkew(database.reads, system_clock)
    feed_ages = FeedAges(database.reads, feed_max_age_seconds, fails=fails_when_stale)
    look_now = partial(look, database, snapshots, clock_skew, feed_ages)
    add_part(app, Readiness, Readiness(database.answers, look_now))
