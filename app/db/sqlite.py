"""Connections to SQLite: their settings, the threads for their statements, and which writer is next.

SQLite gives its lock to the first request after it is free. So writers with priority use a file next to the
database to go first.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Connection, Engine, event

from app.cooperation import in_native_thread
from app.db.timeouts import timeouts_of
from app.db.types import SqliteExactSum

CREATES: Final = "gateway_creates"
"""Execution option of an engine that creates the file and its folder where they do not exist. For others a
mistyped path would be a new, empty database.
"""

_SUFFIX: Final = "-turn"


def turns_of(database: str | None) -> Path | None:
    """The file next to the database by which the writers of all processes let each other go first.

    It is empty, and may be deleted while nothing writes. None where the database is no file.
    """
    if not database or database.startswith((":", "file:")):
        return None
    return Path(database + _SUFFIX)


@contextmanager
def going_first(file: Path | None) -> Iterator[None]:
    """Make writers without priority wait. The system ends this with the process at the latest."""
    descriptor = _opened(file, os.O_CREAT)
    if descriptor is None:
        yield
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


def is_another_first(file: Path | None) -> bool:
    """Whether a writer with priority waits."""
    descriptor = _opened(file)
    if descriptor is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _opened(file: Path | None, flags: int = 0) -> int | None:
    """Open the file. None where it does not exist or belongs to another user: then there is no priority."""
    if file is None:
        return None
    try:
        return os.open(file, os.O_RDWR | flags, 0o600)
    except OSError:
        return None


_BUSY: Final = 5  # SQLITE_BUSY
_FIRST_PAUSE: Final = 0.001
_LONGEST_PAUSE: Final = 0.02
_LONG: Final = 4.0
"""A writer that has waited for so many seconds goes first, too: it may have had bad luck."""


class NativeCursor(sqlite3.Cursor):
    """A cursor whose statements run in a native thread where greenlets serve.

    They may sort a table or wait for the disk, and SQLite would block all greenlets.
    """

    def execute(self, *args: Any) -> NativeCursor:
        in_native_thread(super().execute, *args)
        return self

    def executemany(self, sql: str, rows: Iterable[Any]) -> NativeCursor:
        in_native_thread(super().executemany, sql, rows)
        return self

    def fetchall(self) -> list[Any]:
        return in_native_thread(super().fetchall)


class NativeConnection(sqlite3.Connection):
    """A connection with such cursors, and a commit that waits for the disk in a native thread."""

    def cursor(self, factory: Any = None) -> Any:
        return super().cursor(factory or NativeCursor)

    def commit(self) -> None:
        in_native_thread(super().commit)


def file_of(url: URL) -> Path | None:
    """The file of the database; None where a URI names it."""
    name = url.database
    return Path(name) if name and not name.startswith((":", "file:")) else None


def prepare_sqlite(engine: Engine, *, reader: bool, writer_option: str) -> None:
    """Attach the behaviour to an engine.

    :param reader: its connections read by index and never open a transaction: switching to another thread
        would cost more than the read.
    :param writer_option: the execution option of a connection that is about to write.
    """

    @event.listens_for(engine, "do_connect")
    def _open(_dialect: Any, _record: Any, _args: Any, params: dict[str, Any]) -> None:
        if file := file_of(engine.url):
            with suppress(OSError):  # the driver has the better message: it cannot open the file
                if engine.get_execution_options().get(CREATES):
                    _create(file)
                _own(file)
        if not reader:
            params["factory"] = NativeConnection

    @event.listens_for(engine, "connect")
    def _connect(dbapi: sqlite3.Connection, _record: Any) -> None:
        # The driver's own implicit BEGIN comes too late for a stable snapshot.
        dbapi.isolation_level = None
        dbapi.create_aggregate("exact_sum", 1, SqliteExactSum)  # type: ignore[arg-type]
        _wait_for_locks(dbapi, engine)
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            dbapi.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        options = connection.get_execution_options()
        if reader or options.get("isolation_level") == "AUTOCOMMIT":
            return
        if options.get(writer_option):
            _begin_writing(connection)
        else:
            connection.exec_driver_sql("BEGIN")


def _create(file: Path) -> None:
    """Create the file, which SQLite would let every user read, unless there is one.

    SQLite gives the -wal and -shm files next to it the same mode.
    """
    file.parent.mkdir(parents=True, exist_ok=True)  # a fresh checkout has no instance/
    with suppress(FileExistsError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _own(file: Path) -> None:
    """Remove the access of users who are neither its owner nor of its group.

    :raises OperationalError: it is a folder, or does not exist, so that SQLite would create it.
    """
    try:
        mode = file.stat().st_mode
    except FileNotFoundError:
        raise _cannot_open("the file does not exist") from None
    if stat.S_ISDIR(mode):
        raise _cannot_open("it is a folder")
    if mode & stat.S_IRWXO:
        file.chmod(stat.S_IMODE(mode) & ~stat.S_IRWXO)


def _cannot_open(reason: str) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError(reason)
    error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
    return error


def _begin_writing(connection: Connection, monotonic: Callable[[], float] = time.monotonic) -> None:
    """Take the only writer's lock.

    SQLite would wait for it inside one call. In a process of greenlets the holder of the lock could not go on
    meanwhile, so the waiting is done here. All others let writers with priority pass.

    :raises OperationalError: "database is locked": it was not free in time.
    """
    dbapi = connection.connection.dbapi_connection
    assert isinstance(dbapi, sqlite3.Connection)  # noqa: S101  this listener is only for SQLite
    timeouts, turns = timeouts_of(connection), turns_of(connection.engine.url.database)
    began, pause = monotonic(), _FIRST_PAUSE
    goes_first = False
    dbapi.execute("PRAGMA busy_timeout=0")
    try:
        with ExitStack() as waiting:
            while not ((goes_first or not is_another_first(turns)) and _has_begun(dbapi)):
                waited = monotonic() - began
                if waited >= timeouts.lock:
                    # So that SQLAlchemy raises its usual error.
                    connection.exec_driver_sql("BEGIN IMMEDIATE")
                    return
                if not goes_first and (timeouts.goes_first or waited >= _LONG):
                    waiting.enter_context(going_first(turns))
                    goes_first = True
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
    finally:
        _wait_for_locks(dbapi, connection)


def _has_begun(dbapi: sqlite3.Connection) -> bool:
    """Whether the lock was free. It is then taken."""
    try:
        dbapi.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != _BUSY:
            raise
        return False
    return True


def _wait_for_locks(dbapi: sqlite3.Connection, bind: Engine | Connection) -> None:
    """Let any other statement wait for locks: a migration for a writer, others while the file is repaired."""
    dbapi.execute(f"PRAGMA busy_timeout={round(timeouts_of(bind).lock * 1000)}")
