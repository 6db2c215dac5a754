"""The application, where a hash of a password takes its time, but no processor."""

from __future__ import annotations

import time
from typing import Any

from passlib.context import CryptContext

from app import create_app
from app.accounts.services import passwords

SECONDS = 0.1


class WaitingHashes(passwords.NativeHashes):
    """One hash at a time, as it is."""

    def hash(self, *args: Any, **kwargs: Any) -> Any:
        with self._one_at_a_time:
            time.sleep(SECONDS)
            return CryptContext.hash(self, *args, **kwargs)

    def verify(self, *args: Any, **kwargs: Any) -> Any:
        with self._one_at_a_time:
            time.sleep(SECONDS)
            return CryptContext.verify(self, *args, **kwargs)


passwords.HASHES = WaitingHashes(  # type: ignore[misc]
    schemes=["argon2"], argon2__time_cost=1, argon2__memory_cost=8, argon2__parallelism=1
)
app = create_app()
