"""The door of the event feed: reporters with a token post events (docs/interface.md#event-feed)."""

from __future__ import annotations

from flask import Flask

from app.ingest.v1 import feed

__all__ = ["register_ingest"]


def register_ingest(app: Flask) -> None:
    """Add the operations of the feed to the application."""
    app.register_blueprint(feed, url_prefix="/ingest/v1")
