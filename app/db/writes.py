"""Whether the database takes changes: a disk may be full, or another server may have become the primary."""

from __future__ import annotations

import errno
import sqlite3
from typing import Any, Final

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

_REFUSED_STATES: Final = frozenset({"25006", "53100", "58030"})
"""PostgreSQL's codes: the server is read-only, its disk is full, its disk fails."""

_REFUSED_CODES: Final = frozenset(
    {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN}
)

_OPTION: Final = "gateway_writes"

_TOUCH: Final = "UPDATE alembic_version SET version_num = version_num"
_PROBES: Final = {
    "postgresql": (
        _TOUCH,
        "CREATE TEMPORARY TABLE gateway_probe ON COMMIT DROP AS"
        " SELECT repeat('x', 1000) FROM generate_series(1, 64)",
    ),
    "sqlite": (
        _TOUCH,
        "CREATE TABLE gateway_probe AS SELECT zeroblob(65536) AS x",
        "DROP TABLE gateway_probe",
    ),
}
"""Changes without effect: one of a table that always exists, and one that needs room on the disk."""


class Writes:
    """The result of the last writing transaction in this process."""

    def __init__(self) -> None:
        self.refused: str | None = None
        """Why it was refused, as a name of the driver's; None where it was not."""
        self.mark = object()
        """Replaced after each transaction: what was read before may be out of date."""

    def ended(self) -> None:
        """Replace the mark, however the transaction ended: a commit can fail after it was done."""
        # Not a counter: a thread that was interrupted could put an older number back.
        self.mark = object()

    def note(self, error: BaseException | None) -> None:
        """Note how a transaction ended; None for success. Other errors say nothing about the database."""
        if error is None:
            self.refused = None
        elif is_refusal(error):
            self.refused = type(getattr(error, "orig", error)).__name__

    def complaint(self, engine: Engine) -> str | None:
        """Why the database takes no changes now; None where it does, as far as is known.

        After a refusal, it tries a change.
        """
        if self.refused is None:
            return None
        try:
            with engine.begin() as connection:
                for probe in _PROBES[engine.dialect.name]:
                    connection.exec_driver_sql(probe)
        except SQLAlchemyError as error:
            self.note(error)
        else:
            self.note(None)
        return self.refused


def is_refusal(error: BaseException) -> bool:
    """Whether the database answered that it takes no changes."""
    cause: Any = getattr(error, "orig", None)
    if not isinstance(error, DBAPIError):
        return False
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", 0) & 0xFF in _REFUSED_CODES
    return getattr(cause, "sqlstate", None) in _REFUSED_STATES


def share_writes(engine: Engine, writes: Writes) -> None:
    engine.update_execution_options(**{_OPTION: writes})


def writes_of(engine: Engine) -> Writes:
    writes = engine.get_execution_options().get(_OPTION)
    if not isinstance(writes, Writes):
        writes = Writes()
        share_writes(engine, writes)
    return writes


DATABASE_UNAVAILABLE: Final = (OperationalError, InterfaceError, PoolTimeout)
"""Connection refused or lost, a lock or an answer not given in time, no free connection."""

_IDLE_IN_TRANSACTION: Final = "25P03"
_DISK: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE})


def is_unavailable(error: BaseException) -> bool:
    """Whether an exception is no fault of the code, but of the database or the machine."""
    if isinstance(error, DATABASE_UNAVAILABLE) or is_refusal(error):
        return True
    if isinstance(error, DBAPIError):
        return getattr(error.orig, "sqlstate", None) == _IDLE_IN_TRANSACTION
    return isinstance(error, OSError) and error.errno in _DISK
