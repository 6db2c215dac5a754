"""What API keys and ingest tokens have in common: a name, a public id, and a secret of 256 random bits.

The id finds the row without looking at anything secret. What is stored of the text is a SHA-256. A slow
password hash would add no safety, because 2^256 values cannot be guessed at any speed, and it would slow down
every request.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

KEY_ID_BYTES = 8

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}", re.ASCII)


class Credential(Struct, frozen=True):
    """What the gateway knows of a key or token, without its text."""

    name: str
    digest: bytes

    def is_(self, presented: bytes) -> bool:
        """Whether this is the presented one; takes the same time for every wrong text."""
        return hmac.compare_digest(self.digest, digest_of(presented))


class CredentialState(StrEnum):
    """Whether a key or token is valid, and why not."""

    VALID = "valid"
    REVOKED = "revoked"
    EXPIRED = "expired"


def state_at(now: datetime, revoked_at: datetime | None, expires_at: datetime | None) -> CredentialState:
    """The state of a key or token with these stored times."""
    if revoked_at is not None:
        return CredentialState.REVOKED
    has_expired = expires_at is not None and expires_at <= now
    return CredentialState.EXPIRED if has_expired else CredentialState.VALID


def digest_of(text: bytes) -> bytes:
    """What is stored of a key or token: its SHA-256."""
    return hashlib.sha256(text).digest()


def is_plain_name(name: str) -> bool:
    """Whether it is a valid name of a key or token: one word that needs no quotes anywhere."""
    return bool(_NAME.fullmatch(name))
