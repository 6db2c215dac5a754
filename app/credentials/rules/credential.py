"""What API keys and ingest tokens have in common: a name, a public id, and a secret of 256 random bits.

The id finds the row without looking at anything secret. The text is stored as a SHA-256: a slow password hash
would add no safety, because 2^256 values cannot be guessed at any speed.
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
    """The stored facts about a key or token, without its text."""

    name: str
    digest: bytes

    def is_(self, presented: bytes) -> bool:
        """Whether this is the presented one; takes the same time for every wrong text."""
        return hmac.compare_digest(self.digest, digest_of(presented))


class CredentialState(StrEnum):
    VALID = "valid"
    REVOKED = "revoked"
    EXPIRED = "expired"


def state_at(now: datetime, revoked_at: datetime | None, expires_at: datetime | None) -> CredentialState:
    if revoked_at is not None:
        return CredentialState.REVOKED
    has_expired = expires_at is not None and expires_at <= now
    return CredentialState.EXPIRED if has_expired else CredentialState.VALID


def digest_of(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()


def is_plain_name(name: str) -> bool:
    """One word that needs no quotes anywhere."""
    return bool(_NAME.fullmatch(name))
