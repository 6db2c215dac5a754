"""Adds what counts the outcomes of estimates, and lets edits of the network be priced."""

from __future__ import annotations

from flask import Flask

from app.db.database import Database
from app.estimates.planned import try_routes
from app.estimates.queries import pool_use, reported_fees
from app.estimates.services import EstimateCounts
from app.http.application import add_part
from app.network.edits.tried_routes import TRIAL_ESTIMATES
from app.network.handed_in import POOL_USE, REPORTED_FEES
from app.observability.counters import Counters


def add(app: Flask, database: Database, counters: Counters, *, counted_every: float) -> None:
    add_part(app, EstimateCounts, EstimateCounts(database.engine, database.clock, counted_every, counters))
    for engine in database.engines:
        POOL_USE.hand_in(engine, pool_use)
        REPORTED_FEES.hand_in(engine, reported_fees)
        TRIAL_ESTIMATES.hand_in(engine, try_routes)
