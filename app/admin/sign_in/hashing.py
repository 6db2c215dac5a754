"""Hashes of passwords, made and checked while other requests go on."""

from __future__ import annotations

from typing import Any

from passlib.context import CryptContext

from app.cooperation import one_at_a_time


class NativeHashes(CryptContext):
    """A context whose slow work is done in a thread of its own: a hash takes as long as a hundred answers."""

    def hash(self, *args: Any, **kwargs: Any) -> Any:
        """The hash of a password, as the base class makes it."""
        return one_at_a_time(super().hash, *args, **kwargs)

    def verify(self, *args: Any, **kwargs: Any) -> Any:
        """Whether a password belongs to a hash, as the base class finds it."""
        return one_at_a_time(super().verify, *args, **kwargs)
