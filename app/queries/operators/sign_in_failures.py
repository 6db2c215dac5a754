"""How often did sign-ins fail lately?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, Row, select

from app.models.operators import SignInFailure


def sign_in_failures(connection: Connection, keys: Iterable[str]) -> Sequence[Row[*tuple[Any, ...]]]:
    """Key, number of failures and time of the last one, of those of the keys that have any."""
    columns = (SignInFailure.key, SignInFailure.failures, SignInFailure.last_at)
    return connection.execute(select(*columns).where(SignInFailure.key.in_(list(keys)))).all()
