"""Which accounts are there?"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, RowMapping, func, select

from app.models.operators import Operator


def account_by_id(connection: Connection, account_id: int) -> RowMapping | None:
    """All columns of the account, None where there is none."""
    return _account(connection, Operator.id == account_id)


def account_by_email(connection: Connection, email: str) -> RowMapping | None:
    """All columns of the account with this email in lower case, None where there is none."""
    return _account(connection, Operator.email == email)


def account_by_uniquifier(connection: Connection, uniquifier: str | None) -> RowMapping | None:
    """All columns of the account that sessions name like this, None where there is none."""
    return _account(connection, Operator.fs_uniquifier == uniquifier)


def _account(connection: Connection, which: ColumnElement[bool]) -> RowMapping | None:
    return connection.execute(select(Operator.__table__).where(which)).mappings().one_or_none()


def all_accounts(connection: Connection) -> Sequence[RowMapping]:
    """All columns of every account, by email."""
    return connection.execute(select(Operator.__table__).order_by(Operator.email)).mappings().all()


def has_active_account(connection: Connection) -> bool:
    """Whether there is an account that may sign in."""
    return connection.scalar(select(Operator.id).where(Operator.active).limit(1)) is not None


def count_active_with_role(connection: Connection, role: str) -> int:
    """How many accounts that may sign in have the role."""
    counted = select(func.count()).select_from(Operator).where(Operator.active, Operator.role == role)
    return connection.scalar(counted) or 0
