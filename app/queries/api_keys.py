"""Which keys of integrators are there, and how much was each used?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, RowMapping, bindparam, func, select

from app.models.api_keys import ApiKey, ApiKeyUse

_VALID = select(ApiKey.id, ApiKey.key_id, ApiKey.name, ApiKey.digest, ApiKey.scopes, ApiKey.rate_limit).where(
    ApiKey.revoked_at.is_(None)
)
_COUNT = select(func.count()).where(ApiKey.revoked_at.is_(None))
_NAMED = select(ApiKey.id).where(ApiKey.name == bindparam("name"))
_SHOWN = select(*(column for column in ApiKey.__table__.columns if column.key != "digest"))
_BY_ID = _SHOWN.where(ApiKey.id == bindparam("id"))
_ALL = _SHOWN.order_by(ApiKey.name)


def valid_keys(connection: Connection) -> Sequence[Row[*tuple[Any, ...]]]:
    """Every key that was not revoked."""
    return connection.execute(_VALID).all()


def all_keys(connection: Connection) -> Sequence[RowMapping]:
    """Every key, also the revoked ones, all columns but the digest, by name."""
    return connection.execute(_ALL).mappings().all()


def count_valid(connection: Connection) -> int:
    """How many keys were not revoked."""
    return connection.scalar(_COUNT) or 0


def is_name_used(connection: Connection, name: str) -> bool:
    """Whether a key has or had the name."""
    return connection.scalar(_NAMED, {"name": name}) is not None


def key_by_id(connection: Connection, api_key_id: int) -> RowMapping | None:
    """The key in this row, revoked or not, all columns but the digest; None where there is none."""
    return connection.execute(_BY_ID, {"id": api_key_id}).mappings().one_or_none()


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
