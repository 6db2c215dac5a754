"""The keys that seal the audit log, and where its heads are noted: outside of the database."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from app.domain.audit import key_id
from app.runtime.key_file import KeyFileUnusable, kept_key
from app.runtime.outside.anchors import Anchors


class AuditKeyUnusable(Exception):
    """There is no key to seal with, so nothing that must be recorded can be done."""


class AuditKeys:
    """The present key and those it followed. One per application; read at first need, then kept.

    ``anchors`` is where the heads of sealed records are noted.
    """

    def __init__(
        self, present: str, old: tuple[str, ...], file: Path, anchors: Anchors | None = None
    ) -> None:
        """Take the keys of the settings.

        :param present: empty where none is set; then the one kept in ``file`` counts.
        :param old: keys of earlier records, the oldest first.
        :param anchors: nowhere, where left out.
        """
        self.anchors = anchors or Anchors()
        self._present = present
        self._old = old
        self._file = file

    @cached_property
    def present(self) -> bytes:
        """The key that seals new records.

        :raises AuditKeyUnusable: where none is set and none can be kept.
        """
        if self._present:
            return self._present.encode()
        try:
            return kept_key(self._file).encode()
        except KeyFileUnusable as unusable:
            raise AuditKeyUnusable(f"AUDIT_KEY is not set, and {unusable}") from None

    @cached_property
    def by_id(self) -> Mapping[str, bytes]:
        """Every key by its public name, in the order in which they followed each other."""
        return {key_id(key): key for key in (*(old.encode() for old in self._old), self.present)}
