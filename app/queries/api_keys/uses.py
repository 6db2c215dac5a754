"""How much was each key used?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, func, select

from app.models.api_keys import ApiKeyUse


def uses_of(connection: Connection, api_key_id: int, first_day: int) -> Sequence[Row[*tuple[Any, ...]]]:
    """The requests of a key by day, the newest first, from a day on; days without any are left out.

    :param first_day: Unix time // 86400.
    """
    found = select(ApiKeyUse.day, ApiKeyUse.requests, ApiKeyUse.limited).where(
        ApiKeyUse.api_key_id == api_key_id, ApiKeyUse.day >= first_day
    )
    return connection.execute(found.order_by(ApiKeyUse.day.desc())).all()


def last_days(connection: Connection) -> Mapping[int, int]:
    """The last day (Unix time // 86400) on which each key was used, by the id of the key's row."""
    found = select(ApiKeyUse.api_key_id, func.max(ApiKeyUse.day).label("day")).group_by(ApiKeyUse.api_key_id)
    return {row.api_key_id: row.day for row in connection.execute(found)}
