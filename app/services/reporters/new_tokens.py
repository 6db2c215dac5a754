"""Reporters' tokens are made: the first of a reporter, and the second that replaces it."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Row, insert

from app.db.engine import writing
from app.domain.audit import Actor, AuditedChange
from app.domain.keys import MAX_CHAIN_ID
from app.domain.proposals.two_persons import INGEST_TOKENS
from app.domain.reporting.quota import quota_fault
from app.domain.reporting.token import KEY_ID_BYTES, SECRET_BYTES, digest_of, is_token_name, token_text
from app.models import ingest_tokens as table
from app.queries.reporters import tokens_named
from app.runtime.gateway import Gateway
from app.services.audit.record import record_change
from app.services.proposals.break_glass import require_leave
from app.services.reporters.tokens import TYPES, TokenRefused, documented, state_of

MOST_VALID: Final = 2
"""Tokens of one reporter that are valid at a time: the one in use and the one that replaces it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenTerms:
    """What a new token allows beside its scope: until when, and how much. None is no limit."""

    expires_at: datetime | None = None
    quota_events: int | None = None
    quota_seconds: int | None = None


UNLIMITED: Final = TokenTerms()


def create_token(
    gateway: Gateway,
    name: str,
    types: Iterable[str] = (),
    chains: Iterable[int] = (),
    *,
    actor: Actor,
    terms: TokenTerms = UNLIMITED,
    break_glass: str | None = None,
) -> str:
    """Make a reporter's first token and keep its digest. The text returned is not kept: it is shown once.

    :param types: event types that its bearer may report; none given allows all.
    :param chains: ids of the chains it may report about; none given allows all.
    :param break_glass: why one person alone does so where ``TWO_PERSONS`` names tokens.
    :raises TokenRefused: the name is taken, also by a revoked token, or an argument is no such thing.
    :raises SecondPersonNeeded: it waits for a second administrator, and ``break_glass`` is not given.
    """
    token, row = new_token(name, types, chains, terms)
    with _leave_to_make(gateway, actor, name, break_glass) as connection:
        create_within(connection, gateway, row, actor=actor)
    return token


def rotate_token(
    gateway: Gateway,
    name: str,
    *,
    actor: Actor,
    expires_at: datetime | None = None,
    break_glass: str | None = None,
) -> str:
    """Make a second token of a reporter, with the scope and quota of its first, which stays valid.

    :param expires_at: when it ends; None lets it last as long as the first was made for.
    :param break_glass: why one person alone does so where ``TWO_PERSONS`` names tokens.
    :raises TokenRefused: it has no valid token, or two already.
    :raises SecondPersonNeeded: it waits for a second administrator, and ``break_glass`` is not given.
    """
    with _leave_to_make(gateway, actor, name, break_glass) as connection:
        token, row = second_token(connection, gateway, name, expires_at)
        create_within(connection, gateway, row, actor=actor, second=True)
    return token


@contextmanager
def _leave_to_make(
    gateway: Gateway, actor: Actor, name: str, break_glass: str | None
) -> Iterator[Connection]:
    guarded = [INGEST_TOKENS] if gateway.two_persons.guards(INGEST_TOKENS) else []
    with writing(gateway.engine) as connection:
        require_leave(
            connection, gateway, actor, guarded, subject=f"ingest token {name}", break_glass=break_glass
        )
        yield connection


def new_token(
    name: str, types: Iterable[str], chains: Iterable[int], terms: TokenTerms = UNLIMITED
) -> tuple[str, dict[str, Any]]:
    """The text of a reporter's first token, and what would be kept of it.

    :raises TokenRefused: an argument is no such thing.
    """
    allowed_types, allowed_chains = sorted(set(types)), sorted(set(chains))
    _check(name, allowed_types, allowed_chains)
    if fault := quota_fault(terms.quota_events, terms.quota_seconds):
        raise TokenRefused(fault)
    scope = {"types": allowed_types or None, "chains": allowed_chains or None}
    return _made({"name": name, **scope, **asdict(terms)})


def second_token(
    connection: Connection, gateway: Gateway, name: str, expires_at: datetime | None = None
) -> tuple[str, dict[str, Any]]:
    """The text of a token that replaces a reporter's, and what would be kept of it.

    :param expires_at: None lets it last as long as the one that it replaces was made for.
    :raises TokenRefused: there is none to replace, or two are valid already.
    """
    first = require_replaceable(connection, gateway, name)
    columns = ("name", "types", "chains", "quota_events", "quota_seconds")
    if expires_at is None and first.expires_at is not None:
        expires_at = gateway.clock() + (first.expires_at - first.created_at)
    return _made({column: getattr(first, column) for column in columns} | {"expires_at": expires_at})


def _made(columns: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    key_id, secret = secrets.token_hex(KEY_ID_BYTES), secrets.token_urlsafe(SECRET_BYTES)
    token = token_text(key_id, secret)
    return token, {**columns, "key_id": key_id, "digest": digest_of(token.encode())}


def create_within(
    connection: Connection,
    gateway: Gateway,
    row: Mapping[str, Any],
    *,
    actor: Actor,
    second: bool = False,
    note: str = "",
) -> int:
    """Keep the row of a new token, in a writing transaction of the caller, who has asked for leave.

    :param second: it replaces one of the same name.
    :param note: stands before what the audit record says.
    :returns: the id of that record.
    :raises TokenRefused: the name is taken, or there is nothing to replace, or it would be expired already.
    """
    now, expires_at = gateway.clock(), row["expires_at"]
    if expires_at is not None and expires_at <= now:
        raise TokenRefused("the expiry time is in the past; give one in the future")
    if second:
        require_replaceable(connection, gateway, row["name"])
    else:
        require_free_name(connection, row["name"])
    made = {**row, "created_at": now}
    connection.execute(insert(table.IngestToken).values(made))
    change = AuditedChange(f"ingest token {row['name']}", None, documented(made))
    action = f"ingest_token.{'rotate' if second else 'create'}"
    return record_change(connection, gateway, actor, action, change, note=note)


def require_free_name(connection: Connection, name: str) -> None:
    """Make sure that no token has, or had, the name.

    :raises TokenRefused: one has.
    """
    if tokens_named(connection, name):
        raise TokenRefused(f"the name {name} is already used, or was used before; enter another name")


def require_replaceable(connection: Connection, gateway: Gateway, name: str) -> Row[*tuple[Any, ...]]:
    """The one valid token of the reporter, which a second one may replace.

    :raises TokenRefused: it has no valid token, or two already.
    """
    valid = [row for row in tokens_named(connection, name) if state_of(row, gateway.clock()) is None]
    if not valid:
        raise TokenRefused(f"there is no valid token {name} to replace; add one with a new name")
    if len(valid) >= MOST_VALID:
        raise TokenRefused(
            f"{name} already has {MOST_VALID} valid tokens; revoke the older one first, {valid[0].key_id}"
        )
    return valid[-1]


def _check(name: str, types: Iterable[str], chains: Iterable[int]) -> None:
    if not is_token_name(name):
        raise TokenRefused(
            f"{name!r} is not a valid name; enter 1 to 64 of a-z, 0-9, '.', '_' and '-', starting with "
            "a letter or digit, and not a name of the gateway's own (cli, operator, sandbox, watcher, env-…)"
        )
    for event_type in types:
        if event_type not in TYPES:
            raise TokenRefused(f"{event_type!r} is not an event type; choose from {', '.join(TYPES)}")
    for chain_id in chains:
        if not 1 <= chain_id <= MAX_CHAIN_ID:
            raise TokenRefused(f"{chain_id} is not a chain id; enter one from 1 to {MAX_CHAIN_ID}")
