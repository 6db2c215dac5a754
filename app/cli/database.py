"""``flask --app wsgi backup`` copies the embedded database, ``version`` prints the release."""

from __future__ import annotations

import errno
import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import click
from flask.cli import with_appcontext
from msgspec import Struct
from sqlalchemy import URL

from app.cli.terminal import OneLineCommand, Refusal, say
from app.db.complaints import unusable
from app.db.database import Database
from app.db.schema import newest_schema
from app.http.application import current
from app.release import Release

_BUSY_SECONDS: Final = 60.0

_LINKLESS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
"""Error codes of file systems without hard links."""


class BackupRefused(Exception):
    """No backup was made; the message says why, and no file is left."""


class Backup(Struct, frozen=True):
    """The file that was written: its size in bytes, and the revision of its schema as in ``flask db
    current``.
    """

    size: int
    revision: str


def back_up(url: URL, target: Path) -> Backup:
    """Copy a snapshot of the database to a file that only its owner may read.

    Writers continue meanwhile. The file appears complete and verified, or not at all.

    :param url: of the database.
    :raises BackupRefused: it is not SQLite or not there, the file exists or cannot be written, or the copy is
        damaged.
    """
    source = _file_of(url)
    if os.path.lexists(target):
        raise BackupRefused(f"{target} exists: nothing is overwritten; choose another name")
    draft = target.with_name(f".{target.name}-{secrets.token_hex(8)}")
    try:
        with _thrown_away(draft):
            _copy(source, draft)
            made = Backup(draft.stat().st_size, _checked(draft))
            _appear(draft, target)
    except FileExistsError:
        raise BackupRefused(
            f"{target} was created meanwhile: nothing is overwritten; choose another name"
        ) from None
    except OSError as error:
        raise BackupRefused(f"{target} cannot be written: {error.strerror}; choose another place") from None
    except sqlite3.Error as error:
        raise BackupRefused(f"nothing was backed up: {unusable(str(url), error)}") from None
    return made


def _file_of(url: URL) -> Path:
    if url.get_backend_name() != "sqlite":
        raise BackupRefused(
            "DATABASE_URL is PostgreSQL: back it up with pgBackRest or pg_basebackup "
            "(docs/operations.md#back-up-and-restore)"
        )
    file = Path(url.database or "")
    if not file.is_file():
        raise BackupRefused(f"{file} does not exist: correct DATABASE_URL")
    return file


@contextmanager
def _thrown_away(draft: Path) -> Iterator[None]:
    """Make the file, and remove it at the end; by then it may have another name as well."""
    os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        yield
    finally:
        for made in (draft, *(draft.with_name(draft.name + end) for end in ("-wal", "-shm", "-journal"))):
            made.unlink(missing_ok=True)


def _copy(source: Path, draft: Path) -> None:
    with (
        closing(sqlite3.connect(source, timeout=_BUSY_SECONDS)) as live,
        closing(sqlite3.connect(draft)) as copy,
    ):
        # All pages in one step: this is one snapshot, and in WAL mode it stops no writer. In several steps
        # each write in between would start it again.
        live.backup(copy, pages=-1)
        # A single file without others next to it. The gateway switches it back when it opens it.
        copy.execute("PRAGMA journal_mode=DELETE")


def _checked(draft: Path) -> str:
    """The revision of the copy's schema.

    :raises BackupRefused: its pages, rows and indexes do not agree, or it was never migrated.
    """
    with closing(sqlite3.connect(draft)) as copy:
        (found,) = copy.execute("PRAGMA integrity_check(1)").fetchone()
        if found != "ok":
            raise BackupRefused(
                f"the database is damaged: {found}; restore a backup (docs/operations.md#back-up-and-restore)"
            )
        try:
            revisions = [name for (name,) in copy.execute("SELECT version_num FROM alembic_version")]
        except sqlite3.OperationalError:
            revisions = []
    if not revisions:
        raise BackupRefused(
            "the database was never migrated: run flask --app wsgi db upgrade, or correct DATABASE_URL"
        )
    return ", ".join(sorted(revisions))


def _appear(draft: Path, target: Path) -> None:
    """Give the file its name, after it is on the disk.

    :raises FileExistsError: the name was taken meanwhile.
    """
    _sync(draft)
    try:
        os.link(draft, target)  # unlike a rename it never replaces a file
    except OSError as error:
        if error.errno not in _LINKLESS:
            raise
        draft.rename(target)
    _sync(target.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@click.command("backup", cls=OneLineCommand)
@click.argument("file", type=click.Path(path_type=Path))
@with_appcontext
def backup(file: Path) -> None:
    """Write a copy of the SQLite database to FILE, while the gateway runs.

    FILE must not exist yet. The command verifies the copy before it has that name, and only its owner can
    read it. It does not contain the keys (SECRET_KEY, AUDIT_KEY): store them elsewhere.
    """
    try:
        made = back_up(current(Database).engine.url, file)
    except BackupRefused as refused:
        raise Refusal(str(refused)) from None
    say(f"{file}: {made.size} bytes, revision {made.revision}, integrity checked")


@click.command("version")
@with_appcontext
def version() -> None:
    """Print the release, and the schema that it is made for."""
    click.echo(f"{current(Release)}, schema {newest_schema()}")
