"""Raises the versions of the parts of the configuration, by which readers notice a change."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import Connection

from app.db.upserts import upsert
from app.models.network import NetworkPart
from app.queries.network import load_versions
from app.services.network.sections import Part


def raise_versions(connection: Connection, parts: Iterable[Part], now: datetime) -> None:
    """Raise the version of each part by one, in the writing transaction of the change."""
    before = load_versions(connection)
    upsert(
        connection,
        NetworkPart,
        [
            {
                "part": part.value,
                "version": before[part].version + 1 if part in before else 1,
                "changed_at": now,
            }
            for part in sorted(set(parts))
        ],
    )
