"""Which version of the configuration is current?"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, select

from app.models.network import NetworkPart


class PartVersion(NamedTuple):
    """How often a part of the configuration has changed, and when it last did."""

    version: int
    changed_at: datetime


def load_versions(connection: Connection) -> dict[str, PartVersion]:
    """The version of each part that has ever been written, by its name."""
    rows = connection.execute(select(NetworkPart.part, NetworkPart.version, NetworkPart.changed_at))
    return {row.part: PartVersion(row.version, row.changed_at) for row in rows}
