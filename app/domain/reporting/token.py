"""The tokens that reporters of events present.

A token made here is ``gwi_``, a public id of 16 hex digits, ``_`` and 43 characters that only its
bearer knows (256 random bits). The id finds the token without looking at anything secret; what is
kept of the rest is a SHA-256. A slow password hash would add no safety, because 2^256 values cannot be
guessed at any speed, and it would slow down every request.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass
from datetime import datetime

from app.domain.reporting.quota import Quota
from app.domain.reporting.scope import EVERYTHING, Scope

KEY_ID_BYTES = 8
SECRET_BYTES = 32

ENVIRONMENT = "env-"
FROM_FILES = "cli"
"""The reporter of what commands take from files, and of what they retract."""

OWN_REPORTERS = frozenset({FROM_FILES, "operator", "sandbox", "watcher"})
"""Reporters of this gateway itself; a token of their name would be taken for them."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}", re.ASCII)
_MADE_HERE = re.compile(rb"gwi_([0-9a-f]{16})_[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class IngestToken:
    """What the gateway knows of a token: never the token itself.

    ``name`` is its reporter's. ``key_id`` is the public part of its text; None for one of the environment.
    """

    name: str
    digest: bytes
    scope: Scope = EVERYTHING
    key_id: str | None = None
    expires_at: datetime | None = None
    quota: Quota | None = None

    def is_(self, presented: bytes) -> bool:
        """Whether this is the token presented; takes the same time for every wrong one."""
        return hmac.compare_digest(self.digest, digest_of(presented))


def digest_of(token: bytes) -> bytes:
    """What is kept of a token: its SHA-256."""
    return hashlib.sha256(token).digest()


def token_text(key_id: str, secret: str) -> str:
    """The token with this public id and secret."""
    return f"gwi_{key_id}_{secret}"


def key_id_of(presented: bytes) -> str | None:
    """The public id in a token that was made here; None for any other text."""
    match = _MADE_HERE.fullmatch(presented)
    return match[1].decode() if match else None


def environment_token(token: str) -> IngestToken:
    """A token of the environment, which may report everything.

    It is named by its fingerprint, not by its position in the list: a reporter that asks for its cursor
    must not get another's because the list was reordered.
    """
    digest = digest_of(token.encode(errors="surrogateescape"))  # the bytes that the environment holds
    return IngestToken(ENVIRONMENT + digest.hex()[:8], digest)


def is_plain_name(name: str) -> bool:
    """Whether it is a name as tokens and keys have them: one word that needs no quotes anywhere."""
    return bool(_NAME.fullmatch(name))


def is_token_name(name: str) -> bool:
    """Whether a stored token may have this name."""
    return is_plain_name(name) and name not in OWN_REPORTERS and not name.startswith(ENVIRONMENT)
