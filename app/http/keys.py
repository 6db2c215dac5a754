"""The API key of the request being served, once it was recognised."""

from __future__ import annotations

from flask import g

from app.domain.api_keys import ApiKey, Scope
from app.domain.errors import Forbidden, Unauthorized


def keep_key(key: ApiKey) -> None:
    """Keep what was recognised, for as long as the request lasts."""
    g.api_key = key


def current_key() -> ApiKey | None:
    """The valid key that came with the request; None where none did."""
    key: ApiKey | None = g.get("api_key")
    return key


def require_key(scope: Scope) -> ApiKey:
    """The key that came with the request, for an operation that needs one.

    :raises Unauthorized: none did.
    :raises Forbidden: it does not have the scope.
    """
    key = current_key()
    if key is None:
        raise Unauthorized(f"an API key with the scope {scope} is required: send Authorization: Bearer gwk_…")
    require_scope(key, scope)
    return key


def require_scope(key: ApiKey, scope: Scope) -> None:
    """Make sure that the key's bearer may do it.

    :raises Forbidden: the key does not have the scope.
    """
    if not key.may(scope):
        has = ", ".join(sorted(key.scopes))
        raise Forbidden(
            f"the API key lacks the scope {scope}, it has {has}: ask the operator for another key"
        )
