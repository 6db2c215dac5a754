"""Transactions for counters that nobody folds. They have no place in the order of writers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine

from app.models.engine import WRITER


@contextmanager
def counting(engine: Engine) -> Iterator[Connection]:
    """One transaction that reads rows and writes them, beside the writer of facts where the database can.

    On PostgreSQL it waits for the rows alone: the caller locks them with ``FOR UPDATE``, in the order of
    their keys. SQLite has one lock for every writer (docs/decisions/0013-counted-before-judged.md).
    """
    options: dict[str, Any] = {WRITER: True}
    if engine.dialect.name == "postgresql":
        # Stricter levels would refuse what another transaction counted meanwhile instead of reading it.
        options["isolation_level"] = "READ COMMITTED"
    with engine.connect().execution_options(**options) as connection, connection.begin():
        yield connection
