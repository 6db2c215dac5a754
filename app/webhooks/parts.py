"""Adds webhooks to the application."""

from __future__ import annotations

from collections.abc import Iterable

from flask import Flask

from app.audit.services import HEAD_WRITTEN
from app.db.database import Database
from app.feed.projection.transfers import STATUSES_CHANGED
from app.http.application import add_part
from app.webhooks.rules.addresses import AllowedNetworks, parse_networks
from app.webhooks.services.outbox import publish_changes, publish_head


def add(app: Flask, database: Database, *, allowed_networks: Iterable[str]) -> None:
    """Add the networks that webhooks may go to. Each change writes its deliveries in its own transaction."""
    add_part(app, AllowedNetworks, parse_networks(allowed_networks))
    for engine in database.engines:
        HEAD_WRITTEN.hand_in(engine, publish_head)
        STATUSES_CHANGED.hand_in(engine, publish_changes)
