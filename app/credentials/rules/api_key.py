"""The keys that integrators may present to the public interfaces, and what their bearers may do."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from app.credentials.rules.credential import Credential, is_plain_name

PREFIX: Final = "gwk_"
ALPHABET: Final = string.digits + string.ascii_letters
SECRET_LENGTH: Final = 43
"""Characters of ``ALPHABET``: 62^43 is a little more than 2^256."""

_MADE_HERE: Final = re.compile(rf"{PREFIX}([0-9a-f]{{16}})[0-9A-Za-z]{{{SECRET_LENGTH}}}", re.ASCII)


class Scope(StrEnum):
    READ = "read"
    """Call the public operations, by the key's own limit."""

    WEBHOOKS = "webhooks"
    """Subscribe to events of accounts and transfers that it names."""

    ALL_WEBHOOKS = "webhooks:all"
    """Subscribe to events of every transfer, too."""


class ApiKey(Credential, frozen=True):
    """``id`` is that of its row, ``key_id`` the public part of its text. ``rate_limit`` has the form of
    ``RATE_LIMIT``; empty is none.
    """

    id: int
    key_id: str
    scopes: frozenset[Scope]
    rate_limit: str = ""

    def may(self, scope: Scope) -> bool:
        """Whether the scope is among the key's. A key for every transfer may also subscribe to some."""
        return scope in self.scopes or (scope is Scope.WEBHOOKS and Scope.ALL_WEBHOOKS in self.scopes)


def key_fault(name: str, scopes: Sequence[str]) -> str | None:
    if not is_plain_name(name):
        return (
            f"{name!r} is not a valid name; enter 1 to 64 of a-z, 0-9, '.', '_' and '-', starting with a "
            "letter or digit"
        )
    if not scopes:
        return f"a key needs at least one scope; choose from {', '.join(Scope)}"
    unknown = [scope for scope in scopes if scope not in set(Scope)]
    return f"{unknown[0]!r} is not a scope; choose from {', '.join(Scope)}" if unknown else None


def key_text(key_id: str, secret: str) -> str:
    return f"{PREFIX}{key_id}{secret}"


def key_id_of(presented: str) -> str | None:
    """The public id in a key; None for any other text."""
    match = _MADE_HERE.fullmatch(presented)
    return match[1] if match else None


def key_in(authorization: str) -> str | None:
    """The text presented as a key in an ``Authorization`` header, well formed or not. None for other schemes
    and texts: some pages send a header of their own with every request (docs/interface/answers.md#cors).
    """
    scheme, _, text = authorization.partition(" ")
    text = text.strip(" ")
    return text if scheme.lower() == "bearer" and text.startswith(PREFIX) else None
