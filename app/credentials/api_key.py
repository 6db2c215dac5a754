"""The keys that integrators may present to the public interfaces, and what their bearers may do."""

from __future__ import annotations

import hmac
import re
import string
from enum import StrEnum
from typing import Final

from msgspec import Struct

from app.credentials.ingest_token import digest_of

PREFIX: Final = "gwk_"
ALPHABET: Final = string.digits + string.ascii_letters
SECRET_LENGTH: Final = 43
"""Characters of ``ALPHABET``: 62^43 is a little more than 2^256."""

_MADE_HERE: Final = re.compile(rf"{PREFIX}([0-9a-f]{{16}})[0-9A-Za-z]{{{SECRET_LENGTH}}}", re.ASCII)


class Scope(StrEnum):
    """What the bearer of a key may do."""

    READ = "read"
    """Ask the public operations, by the key's own limit."""

    WEBHOOKS = "webhooks"
    """Subscribe to what becomes of accounts and transfers that it names."""

    ALL_WEBHOOKS = "webhooks:all"
    """Subscribe to what becomes of every transfer, too."""


class ApiKey(Struct, frozen=True):
    """What the gateway knows of a key: never the key itself.

    ``id`` is its row's, ``key_id`` the public part of its text. ``rate_limit`` is written as ``RATE_LIMIT``
    is; empty is none.
    """

    id: int
    key_id: str
    name: str
    digest: bytes
    scopes: frozenset[Scope]
    rate_limit: str = ""

    def is_(self, presented: str) -> bool:
        """Whether this is the key presented; takes the same time for every wrong one."""
        return hmac.compare_digest(self.digest, digest_of(presented.encode()))

    def may(self, scope: Scope) -> bool:
        """Whether the scope is among the key's. Who may subscribe to everything may subscribe to a part."""
        return scope in self.scopes or (scope is Scope.WEBHOOKS and Scope.ALL_WEBHOOKS in self.scopes)


def key_text(key_id: str, secret: str) -> str:
    """The key with this public id and secret."""
    return f"{PREFIX}{key_id}{secret}"


def key_id_of(presented: str) -> str | None:
    """The public id in a key; None for any other text."""
    match = _MADE_HERE.fullmatch(presented)
    return match[1] if match else None


def key_in(authorization: str) -> str | None:
    """What is presented as a key in the value of an ``Authorization`` header, well formed or not.

    None where nothing is. Other schemes and other texts are no keys: some pages send a header of their own
    with every request (docs/interface.md#cors).
    """
    scheme, _, text = authorization.partition(" ")
    text = text.strip(" ")
    return text if scheme.lower() == "bearer" and text.startswith(PREFIX) else None
