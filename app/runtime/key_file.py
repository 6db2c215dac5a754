"""Secrets that this installation makes for itself and keeps in files."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

KEY_BYTES = 32


class KeyFileUnusable(Exception):
    """The file cannot be read, written, or holds no key; the message says which, after its name."""


def kept_key(file: Path) -> str:
    """The key kept in the file, made at the first call; only its owner may read it.

    Of several processes that make it at once, all get the same: a key appears whole or not at all.

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
        raise KeyFileUnusable(f"{file} cannot be used: {error.strerror}") from None
    except UnicodeDecodeError:
        raise KeyFileUnusable(f"{file} does not contain a key") from None
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
        with suppress(FileExistsError):  # another process has made one: its key counts
            os.link(draft, file)
    finally:
        draft.unlink()
