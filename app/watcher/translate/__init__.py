"""From the logs of a chain to the events of the feed, and to what these still wait for."""

from __future__ import annotations

from app.watcher.translate.heads import head_event, reorged_event
from app.watcher.translate.logs import translate
from app.watcher.translate.places import log_id, log_of
from app.watcher.translate.translation import Translation, Unreadable

__all__ = [
    "Translation", "Unreadable", "head_event", "log_id", "log_of", "reorged_event", "translate",
]  # fmt: skip
