"""The keys that seal the audit log."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from app.audit.anchors import Anchors
from app.audit.rules.records import key_id

KEY_BYTES = 32


class KeyFileUnusable(Exception):
    """The key file cannot be read or written, or holds no key. The message begins with its name."""


def stored_key(file: Path) -> str:
    """The key stored in the file, made at the first call; only its owner may read it.

    Processes that make it at the same time all get the same key: the file appears whole or not at all.

    :returns: 64 hexadecimal digits where it was made here.
    :raises KeyFileUnusable: where the file cannot be read or written, or is empty.
    """
    try:
        try:
            key = file.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            _make(file)
            key = file.read_text(encoding="ascii").strip()
    except OSError as error:
        raise KeyFileUnusable(
            f"{file} cannot be used: {error.strerror}: let this user read and write it"
        ) from None
    except UnicodeDecodeError:
        raise KeyFileUnusable(f"{file} does not contain a key: restore it from a backup") from None
    if not key:
        raise KeyFileUnusable(f"{file} is empty: delete it and start again")
    return key


def _make(file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}-{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as output:
            output.write(secrets.token_hex(KEY_BYTES) + "\n")
            output.flush()
            os.fsync(output.fileno())
        with suppress(FileExistsError):  # another process has made one: its key is used
            os.link(draft, file)
    finally:
        draft.unlink()


class AuditKeyUnusable(Exception):
    """There is no key to seal with, so nothing that must be recorded can be done."""


class AuditKeys:
    """The present key and its predecessors, read at first need.

    :param present: empty where none is set; then the one stored in ``file`` is used.
    :param old: keys of earlier records, the oldest first.
    :param anchors: where the heads of sealed records are noted; None: nowhere.
    """

    def __init__(
        self, present: str, old: tuple[str, ...], file: Path, anchors: Anchors | None = None
    ) -> None:
        self.anchors = anchors or Anchors()
        self._present = present
        self._old = old
        self._file = file

    @cached_property
    def present(self) -> bytes:
        """The key that seals new records.

        :raises AuditKeyUnusable: none is set, and none can be stored.
        """
        if self._present:
            return self._present.encode()
        try:
            return stored_key(self._file).encode()
        except KeyFileUnusable as unusable:
            raise AuditKeyUnusable(f"AUDIT_KEY is not set, and {unusable}") from None

    @cached_property
    def by_id(self) -> Mapping[str, bytes]:
        """Every key by its public name, from the oldest to the present one."""
        return {key_id(key): key for key in (*(old.encode() for old in self._old), self.present)}
