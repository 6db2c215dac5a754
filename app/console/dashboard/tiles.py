"""The tiles at the top of the dashboard: what each shows, how it looks, and what is not known about it."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from msgspec import Struct

from app.console.shell.formats import Look, grouped, look_of_count
from app.console.transfers.stuck import StuckCount


class Doubt(Struct, frozen=True):
    """Why something may be wrong that nobody reported. ``since`` is None where it never was known."""

    words: str
    since: datetime | None


class Tile(Struct, frozen=True):
    """What a tile shows. ``doubt`` is why its number may be wrong."""

    shown: str
    look: Look
    note: str = ""
    doubt: Doubt | None = None
    is_age: bool = False


TILES: Final = (
    ("stuck", "Stuck: bridge must act", "#stuck"),
    ("waiting", "Stuck: user must act", "#waiting"),
    ("refunds", "Refunds waiting", "#refunds"),
    ("anomalies", "Open anomalies", "#anomalies"),
    ("not_read", "Chains not read", "#freshness"),
    ("pools", "Pools near a limit", "#pools"),
    ("last_event", "Last event", "#freshness"),
)
"""The tiles in their order: name, label, and the panel that each opens."""


def new_of(count: StuckCount) -> str:
    """How many of them are new, in words; empty where none is."""
    return f"{grouped(count.new)} new in 24 h" if count.new else ""


def number_of(number: int, otherwise: Look, existing: int, where_none: str) -> Tile:
    """A number of some that exist. Where none exist, nothing is known of them."""
    look = look_of_count(number, otherwise, known=existing > 0)
    return Tile(grouped(number), look) if existing else Tile("–", look, where_none)
