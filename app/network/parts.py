"""Adds the network in memory, which transactions use as well."""

from __future__ import annotations

from flask import Flask

from app.db.database import Database
from app.http.application import add_part
from app.network.queries import share_facts
from app.network.services import NetworkSnapshots
from app.network.snapshot import SnapshotSource


def add(app: Flask, database: Database, *, max_age_seconds: float) -> NetworkSnapshots:
    snapshots = NetworkSnapshots(
        database.engine,
        max_age_seconds,
        reads=database.reads,
        clock=database.clock,
        in_background=True,
        answers=database.answers,
    )
    for engine in database.engines:
        share_facts(engine, snapshots)
    add_part(app, SnapshotSource, snapshots)
    return snapshots
