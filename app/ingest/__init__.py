"""The door of reporters with a token: events in, refund asks out (docs/interface.md#event-feed)."""

from __future__ import annotations

from flask import Flask

from app.ingest.refund_requests import asks
from app.ingest.v1 import feed

__all__ = ["register_ingest"]


def register_ingest(app: Flask) -> None:
    """Add the operations of the feed to the application."""
    app.register_blueprint(asks, url_prefix="/ingest/v1")
    app.register_blueprint(feed, url_prefix="/ingest/v1")
