"""Which key was presented? Answered from memory: the valid keys are read together and kept for a moment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlalchemy import Connection

from app.db.engine import ask
from app.domain.api_keys import ApiKey, Scope
from app.domain.api_keys.key import key_id_of, key_in
from app.domain.errors import Unauthorized
from app.queries.api_keys import valid_keys
from app.runtime.gateway import Gateway

NOT_VALID: Final = (
    "the API key is not valid: it is unknown or revoked; ask the operator for a new one, or leave the "
    "Authorization header out"
)
MALFORMED: Final = (
    "the API key is malformed: it must be gwk_ and 59 letters and digits; copy all of it, or leave the "
    "Authorization header out"
)


def presented_key(gateway: Gateway, authorization: str) -> ApiKey | None:
    """The valid key in the value of an ``Authorization`` header; None where the header presents none.

    A key that was revoked is refused within ``CONFIG_MAX_AGE_SECONDS`` in every process, in the one that
    revoked it at once.

    :raises Unauthorized: what is presented as a key is none, unknown or revoked.
    """
    text = key_in(authorization)
    if text is None:
        return None
    key_id = key_id_of(text)
    if key_id is None:
        raise Unauthorized(MALFORMED)
    keys, _ = gateway.kept_reads.ask((valid_keys,), lambda: ask(gateway.reads, _keys_by_id))
    key = keys.get(key_id)
    if key is None or not key.is_(text):
        raise Unauthorized(NOT_VALID)
    return key


def _keys_by_id(connection: Connection) -> Mapping[str, ApiKey]:
    return {
        row.key_id: ApiKey(
            row.id, row.key_id, row.name, row.digest, frozenset(map(Scope, row.scopes)), row.rate_limit
        )
        for row in valid_keys(connection)
    }
