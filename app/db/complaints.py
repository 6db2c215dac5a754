"""Why a database cannot be used, and what to do, in one line for its operator."""

from __future__ import annotations

import re
import sqlite3
from typing import Any, Final

from sqlalchemy.exc import DBAPIError

from app.db.writes import is_unavailable

_CORRECT: Final = "or correct DATABASE_URL"
_REMEDIES: Final = (
    ("is locked|lock timeout", "wait for the process that writes, and run the command again"),
    (
        "not a database|malformed",
        f"restore a backup (docs/operations.md#back-up-and-restore), {_CORRECT}",
    ),
    ("it is a folder", "name a file in it in DATABASE_URL"),
    ("the file does not exist", f"create it with flask --app wsgi db upgrade, {_CORRECT}"),
    ("unable to open", f"name a file, make its folder, and let this user write there, {_CORRECT}"),
    ("readonly database", "let this user write the file and its folder"),
    ("read-only transaction", "set DATABASE_URL to the primary"),
    ("[Nn]o space left|disk is full|could not extend", "make room, and run the command again"),
    ("database .* does not exist", f"create it, {_CORRECT}"),
    ("role .*|password|authentication|pg_hba", "correct the user and the password in DATABASE_URL"),
    ("permission denied", "GRANT it, or set DATABASE_URL to the role that owns the tables"),
    ("resolve host", "correct the host in DATABASE_URL"),
    (
        "too many (connections|clients)|connection slots|no connection was free",
        "allow more connections (docs/scaling.md#connections)",
    ),
)
"""What to do where the words of the cause match, the first of them; otherwise ``_START``."""

_START: Final = f"start it and run the command again, {_CORRECT}"

_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_NOT_ALLOWED: Final = "42501"  # PostgreSQL's insufficient_privilege


def is_operators(error: BaseException) -> bool:
    """Whether an exception is for the database's operator, and no fault of the code."""
    if is_unavailable(error):
        return True
    cause: Any = getattr(error, "orig", error)
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", 0) & 0xFF in _DAMAGED
    return isinstance(error, DBAPIError) and getattr(cause, "sqlstate", None) == _NOT_ALLOWED


def unusable(address: str, error: BaseException) -> str:
    """Why the database cannot be used, and what to do.

    :param address: of the database, without its password.
    """
    cause = _cause(error)
    remedy = next((words for pattern, words in _REMEDIES if re.search(pattern, cause)), _START)
    return f"the database {address} cannot be used ({cause}): {remedy}"


def _cause(error: BaseException) -> str:
    """The driver's own words, without what explains them."""
    lines = str(getattr(error, "orig", None) or error).strip().splitlines()
    found = lines[0] if lines else type(error).__name__
    if found.endswith(":") and len(lines) > 1:  # one of several addresses, each of which failed
        found = lines[1]
    return re.sub(r"^[ -]*|connection (failed|is bad): ", "", found)
