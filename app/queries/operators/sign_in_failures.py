"""How often did sign-ins fail lately?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Select, select

from app.models.operators import SignInFailure


@dataclass(frozen=True, slots=True)
class FailureRow:
    """What is counted under one key: how many failures, and when the last one was."""

    key: str
    failures: int
    last_at: datetime


_Columns = tuple[str, int, datetime]


def sign_in_failures(connection: Connection, keys: Iterable[str]) -> list[FailureRow]:
    """What is counted under those of the keys that have anything."""
    return _rows(connection, _of(keys))


def locked_failures(connection: Connection, keys: Iterable[str]) -> list[FailureRow]:
    """As ``sign_in_failures``, by key, and nobody else changes the rows before this transaction ends.

    :param connection: opened by ``counting``.
    """
    return _rows(connection, _of(keys).order_by(SignInFailure.key).with_for_update())


def forgotten_failures(connection: Connection, until: datetime, limit: int) -> list[str]:
    """Keys under which nothing was counted after ``until``, without those that somebody is changing."""
    old = select(SignInFailure.key).where(SignInFailure.last_at <= until).order_by(SignInFailure.last_at)
    return list(connection.scalars(old.limit(limit).with_for_update(skip_locked=True)))


def _of(keys: Iterable[str]) -> Select[*_Columns]:
    columns = (SignInFailure.key, SignInFailure.failures, SignInFailure.last_at)
    return select(*columns).where(SignInFailure.key.in_(sorted(keys)))


def _rows(connection: Connection, query: Select[*_Columns]) -> list[FailureRow]:
    return [FailureRow(*row) for row in connection.execute(query)]
