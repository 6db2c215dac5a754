"""Which keys of integrators are there?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, RowMapping, bindparam, func, select

from app.models.api_keys import ApiKey

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
