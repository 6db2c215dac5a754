"""Counts of the requests that come with a key, by day."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, Engine, delete

from app.credentials.models import ApiKeyUse
from app.db.batched_counts import BatchedCounts
from app.db.upserts import add_up
from app.values.times import day_of

RETENTION: Final = timedelta(days=400)
"""A year and a month, so that a month can be compared with the same one of the year before."""

Use = tuple[int, bool]
"""The id of the key's row, and whether the request was beyond the key's limit."""


class KeyUses(BatchedCounts[Use]):
    """How many requests of each day had each key."""

    what = "uses of API keys"

    def __init__(self, engine: Engine, clock: Callable[[], datetime], seconds: float) -> None:
        super().__init__(engine, clock, seconds)
        self._pruned: int | None = None

    def used(self, api_key_id: int, *, limited: bool) -> None:
        """Count a request.

        :param api_key_id: of the key's row.
        :param limited: it was refused because it was beyond the key's limit.
        """
        self._add((api_key_id, limited))

    def _write(self, connection: Connection, counts: Mapping[Use, int]) -> None:
        day = day_of(self._clock())
        rows: dict[int, dict[str, Any]] = {}
        for (api_key_id, limited), count in sorted(counts.items()):
            empty = {"api_key_id": api_key_id, "day": day, "requests": 0, "limited": 0}
            row = rows.setdefault(api_key_id, empty)
            row["requests"] += count
            row["limited"] += count if limited else 0
        add_up(connection, ApiKeyUse, list(rows.values()))
        if self._pruned != day:
            connection.execute(delete(ApiKeyUse).where(ApiKeyUse.day < day - RETENTION.days))
            self._pruned = day
