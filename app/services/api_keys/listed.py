"""The keys of integrators, as commands list them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

from app.db.engine import reading
from app.domain.times import day_start
from app.queries.api_keys import all_keys, last_days
from app.runtime.gateway import Gateway


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """A key, as far as it is stored. ``last_used`` is a day in UTC, None where it was never used."""

    api_key_id: int
    name: str
    key_id: str
    scopes: tuple[str, ...]
    rate_limit: str
    created_at: datetime
    revoked_at: datetime | None
    last_used: date | None


def list_keys(gateway: Gateway) -> list[KeyRecord]:
    """Every key, also the revoked ones, by name."""
    with reading(gateway.reads) as connection:
        keys, days = all_keys(connection), last_days(connection)
    return [
        KeyRecord(
            row["id"],
            row["name"],
            row["key_id"],
            tuple(row["scopes"]),
            row["rate_limit"],
            row["created_at"],
            row["revoked_at"],
            day_start(days[row["id"]]).date() if row["id"] in days else None,
        )
        for row in keys
    ]
