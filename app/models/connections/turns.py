"""Who writes next to SQLite, which gives its lock to whoever requests it at the right moment."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_SUFFIX: Final = "-turn"


def turns_of(database: str | None) -> Path | None:
    """The file beside a database by which the writers of all processes let each other go first.

    It is empty, and may be deleted while nothing writes. None where the database is no file.
    """
    if not database or database.startswith((":", "file:")):
        return None
    return Path(database + _SUFFIX)


@contextmanager
def going_first(file: Path | None) -> Iterator[None]:
    """Let those writers wait that do not go first. The system ends this with the process at the latest."""
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
    """Whether somebody waits who goes first."""
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
    """None where there is no such file, or it belongs to somebody else: then nobody goes first."""
    if file is None:
        return None
    try:
        return os.open(file, os.O_RDWR | flags, 0o600)
    except OSError:
        return None
