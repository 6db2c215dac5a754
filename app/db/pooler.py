"""Checks whether the settings are right about a pooler between this process and PostgreSQL.

Clients do not notice a pooler that shares connections between transactions. If the settings do not name it, a
statement that one client prepared may run for another, and answers could be wrong.
"""

from __future__ import annotations

import logging
from typing import Any, Final

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from app.db.database import Database
from app.db.engine import is_pooled, reading
from app.db.schema import LIMITS, server_process, session_of
from app.db.timeouts import within

_TRIES: Final = 5
"""How often a shared connection is looked for: others may be quicker to borrow it."""

_REPLICA_SECONDS: Final = 0.5
"""How long to wait for it. The gateway can serve without it."""

_REFUSED_TRANSACTION: Final = "not allowed in statement pooling mode"
_NO_TRANSACTIONS: Final = (
    "DATABASE_URL leads through a pooler that splits transactions: set its pool_mode = transaction, "
    "and DATABASE_POOLER=1"
)

_SENSIBLE: Final = dict(zip(LIMITS, ("20s", "2s", "60s"), strict=True))

_log = logging.getLogger(__name__)


def check_pooler(database: Database) -> None:
    """Check the pooler, and log in one line what is wrong.

    :raises SystemExit: it would not be safe to go on.
    """
    if complaint := pooler_complaint(database):
        raise SystemExit(complaint)
    if lack := missing_limits(database):
        _log.warning("%s", lack)


def pooler_complaint(database: Database) -> str | None:
    """Why it is not safe to use the database this way, in words for the operator.

    None where it is, and where the database cannot be reached.
    """
    if database.engine.dialect.name != "postgresql":
        return None
    try:
        if not is_pooled(database.engine):
            return _unknown_pooler(database)
        return (
            _wrong_zone(database.reads) or _wrong_zone_of_replica(database) or _parted_transactions(database)
        )
    except SQLAlchemyError as error:
        return _NO_TRANSACTIONS if _REFUSED_TRANSACTION in str(error) else None


def missing_limits(database: Database) -> str | None:
    """Which limits of reads the role lacks behind a pooler, with what sets them; None where it has all."""
    if not is_pooled(database.engine):
        return None
    try:
        with reading(database.reads) as connection:
            session = session_of(connection)
    except SQLAlchemyError:
        return None
    if not (missing := [name for name in LIMITS if session.limits[name] == "0"]):
        return None
    alter = "; ".join(f"ALTER ROLE {session.role} SET {name} = '{_SENSIBLE[name]}'" for name in missing)
    return f"DATABASE_POOLER: reads have no {' and no '.join(missing)}: {alter}"


def _unknown_pooler(database: Database) -> str | None:
    with reading(database.reads) as outside:
        if not leads_through_pooler(outside) or not _is_shared(outside, database.engine):
            return None
    return (
        "DATABASE_URL leads through a pooler that shares connections between transactions, such as PgBouncer "
        "with pool_mode = transaction: set DATABASE_POOLER=1"
    )


def leads_through_pooler(connection: Connection) -> bool:
    """Whether another process answers than the one that the connection was announced with."""
    return server_process(connection) != _announced_process(connection)


def _announced_process(connection: Connection) -> int:
    """The process that the connection would name to cancel a statement; a pooler makes one up."""
    dbapi: Any = connection.connection.dbapi_connection
    announced: int = dbapi.info.backend_pid
    return announced


def _is_shared(outside: Connection, engine: Engine) -> bool:
    """Whether the server process of an open connection is meanwhile lent to another one, or changes."""
    first = server_process(outside)
    for _ in range(_TRIES):
        with engine.connect() as connection, connection.begin():
            if server_process(connection) == first:
                return True
        if server_process(outside) != first:
            return True
    return False


def _wrong_zone_of_replica(database: Database) -> str | None:
    if database.public.replica is None:
        return None
    try:
        with within(_REPLICA_SECONDS):
            return _wrong_zone(database.public.replica.engine)
    except SQLAlchemyError:
        return None


def _wrong_zone(engine: Engine) -> str | None:
    with reading(engine) as connection:
        session = session_of(connection)
    if session.in_utc:
        return None
    return (
        f"DATABASE_POOLER: reads would have the time zone {session.time_zone}: "
        f"ALTER ROLE {session.role} SET TimeZone = 'UTC', unset PGTZ, and let the pooler reconnect"
    )


def _parted_transactions(database: Database) -> str | None:
    """Whether transactions are split. PgBouncer refuses transactions in such a mode; others may not."""
    with database.engine.connect() as connection, connection.begin():
        same = server_process(connection) == server_process(connection)
    return None if same else _NO_TRANSACTIONS
