"""The door of the event feed: reporters with a token post events, never a web page."""

from __future__ import annotations

from flask import Flask

from app.ingest.v1 import feed

__all__ = ["register_ingest"]


def register_ingest(app: Flask) -> None:
    """Open the door."""
    app.register_blueprint(feed, url_prefix="/ingest/v1")
