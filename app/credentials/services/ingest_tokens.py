"""Reporters' tokens: made, replaced, listed, revoked, and recognised when they are presented."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import asdict, replace
from sqlalchemy import Connection, Row, insert, update

from app.accounts.proposal import INGEST_TOKENS, TwoPersons
from app.accounts.services.proposals import require_leave
from app.audit.keys import AuditKeys
from app.audit.records import Actor, AuditedChange
from app.audit.services import as_recorded, record_change
from app.credentials import models as table
from app.credentials.ingest_token import (
    KEY_ID_BYTES,
    SECRET_BYTES,
    EnvironmentTokens,
    Quota,
    Scope,
    digest_of,
    is_token_name,
    quota_fault,
    token_text,
)
from app.credentials.queries import every_token, last_accepted, tokens_named
from app.credentials.services.presented_tokens import quota_of, scope_of
from app.db.database import Database
from app.db.engine import reading, writing
from app.transfers.event_types import EventType
from app.values.identifiers import MAX_CHAIN_ID

DOCUMENTED = ("name", "types", "chains", "created_at", "revoked_at")
DOCUMENTED_LIMITS = ("expires_at", "quota_events", "quota_seconds")
"""The columns that the audit log keeps; limits only where there are any."""

TYPES = tuple(event_type for event_type in EventType if event_type is not EventType.EVENTS_RETRACTED)
"""Event types that reporters report."""


MOST_VALID: Final = 2
"""Tokens of one reporter that are valid at a time: the one in use and the one that replaces it."""


class TokenRefused(ValueError):
    """Why a token is not made or not revoked, for the operator who asked."""


class TokenRecord(Struct, frozen=True):
    """What operators see of a token. Without times it is one of the environment."""

    name: str
    scope: Scope
    key_id: str | None = None
    created_at: datetime | None = None
    revoked_at: datetime | None = None
    expires_at: datetime | None = None
    quota: Quota | None = None
    last_received_at: datetime | None = None


def revoke_token(
    database: Database,
    audit_keys: AuditKeys,
    environment_tokens: EnvironmentTokens,
    name: str,
    *,
    actor: Actor,
    key_id: str | None = None,
) -> datetime:
    """Let a reporter's tokens count no longer; when the last of them was revoked.

    It takes the writers' turn: when this returns, nothing more is accepted from the tokens' bearer
    in any process, not even the rest of an upload that has begun. Revoking again changes nothing.

    :param key_id: the key ID of the one token that is meant; without it all of the reporter's are.
    :raises TokenRefused: there is no such token, or it is one of the environment.
    """
    if name in {token.name for token in environment_tokens}:
        raise TokenRefused(f"{name} is set in INGEST_TOKENS; remove it there and restart the gateway")
    with writing(database.engine) as connection:
        rows = [row for row in tokens_named(connection, name) if key_id in (None, row.key_id)]
        if not rows:
            raise TokenRefused(f"there is no token {name}" + (f" with the key ID {key_id}" if key_id else ""))
        now = database.clock()
        for row in rows:
            if row.revoked_at is None:
                _revoke(connection, database, audit_keys, actor, row, now)
        return max(row.revoked_at or now for row in rows)


def _revoke(
    connection: Connection,
    database: Database,
    audit_keys: AuditKeys,
    actor: Actor,
    row: Row[*tuple[Any, ...]],
    now: datetime,
) -> None:
    of_row = table.IngestToken.id == row.id
    connection.execute(update(table.IngestToken).where(of_row).values(revoked_at=now))
    before = dict(row._mapping)
    states = (documented(state) for state in (before, before | {"revoked_at": now}))
    change = AuditedChange(f"ingest token {row.name}", *states)
    record_change(connection, database, audit_keys, actor, "ingest_token.revoke", change)


def documented(row: Mapping[str, Any]) -> dict[str, Any]:
    """What the audit log keeps of a token: nothing of its text but the key ID, not even the digest."""
    kept = {column: row.get(column) for column in DOCUMENTED}
    kept |= {column: row[column] for column in DOCUMENTED_LIMITS if row.get(column) is not None}
    return as_recorded(kept)


def list_tokens(database: Database, environment_tokens: EnvironmentTokens) -> list[TokenRecord]:
    """Every token there is and was: the environment's first, then the others by name."""
    with reading(database.reads) as connection:
        records = [TokenRecord(token.name, token.scope) for token in environment_tokens]
        for row in every_token(connection):
            scope = scope_of(row.types, row.chains)
            quota = quota_of(row.quota_events, row.quota_seconds)
            records.append(
                TokenRecord(
                    row.name, scope, row.key_id, row.created_at, row.revoked_at, row.expires_at, quota
                )
            )
        return [
            replace(record, last_received_at=last.received_at)
            if (last := last_accepted(connection, record.name))
            else record
            for record in records
        ]


def state_of(row: Row[*tuple[Any, ...]], now: datetime) -> str | None:
    """Why a token does not count; None where it does."""
    if row.revoked_at is not None:
        return "revoked"
    return "expired" if row.expires_at is not None and row.expires_at <= now else None


class TokenTerms(Struct, frozen=True, kw_only=True):
    """What a new token allows beside its scope: until when, and how much. None is no limit."""

    expires_at: datetime | None = None
    quota_events: int | None = None
    quota_seconds: int | None = None


UNLIMITED: Final = TokenTerms()


def create_token(
    database: Database,
    audit_keys: AuditKeys,
    two_persons: TwoPersons,
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
    with _leave_to_make(database, audit_keys, two_persons, actor, name, break_glass) as connection:
        create_within(connection, database, audit_keys, row, actor=actor)
    return token


def rotate_token(
    database: Database,
    audit_keys: AuditKeys,
    two_persons: TwoPersons,
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
    with _leave_to_make(database, audit_keys, two_persons, actor, name, break_glass) as connection:
        token, row = second_token(connection, database, name, expires_at)
        create_within(connection, database, audit_keys, row, actor=actor, second=True)
    return token


@contextmanager
def _leave_to_make(
    database: Database,
    audit_keys: AuditKeys,
    two_persons: TwoPersons,
    actor: Actor,
    name: str,
    break_glass: str | None,
) -> Iterator[Connection]:
    guarded = [INGEST_TOKENS] if two_persons.guards(INGEST_TOKENS) else []
    with writing(database.engine) as connection:
        require_leave(
            connection,
            database,
            audit_keys,
            actor,
            guarded,
            subject=f"ingest token {name}",
            break_glass=break_glass,
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
    connection: Connection, database: Database, name: str, expires_at: datetime | None = None
) -> tuple[str, dict[str, Any]]:
    """The text of a token that replaces a reporter's, and what would be kept of it.

    :param expires_at: None lets it last as long as the one that it replaces was made for.
    :raises TokenRefused: there is none to replace, or two are valid already.
    """
    first = require_replaceable(connection, database, name)
    columns = ("name", "types", "chains", "quota_events", "quota_seconds")
    if expires_at is None and first.expires_at is not None:
        expires_at = database.clock() + (first.expires_at - first.created_at)
    return _made({column: getattr(first, column) for column in columns} | {"expires_at": expires_at})


def _made(columns: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    key_id, secret = secrets.token_hex(KEY_ID_BYTES), secrets.token_urlsafe(SECRET_BYTES)
    token = token_text(key_id, secret)
    return token, {**columns, "key_id": key_id, "digest": digest_of(token.encode())}


def create_within(
    connection: Connection,
    database: Database,
    audit_keys: AuditKeys,
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
    now, expires_at = database.clock(), row["expires_at"]
    if expires_at is not None and expires_at <= now:
        raise TokenRefused("the expiry time is in the past; give one in the future")
    if second:
        require_replaceable(connection, database, row["name"])
    else:
        require_free_name(connection, row["name"])
    made = {**row, "created_at": now}
    connection.execute(insert(table.IngestToken).values(made))
    change = AuditedChange(f"ingest token {row['name']}", None, documented(made))
    action = f"ingest_token.{'rotate' if second else 'create'}"
    return record_change(connection, database, audit_keys, actor, action, change, note=note)


def require_free_name(connection: Connection, name: str) -> None:
    """Make sure that no token has, or had, the name.

    :raises TokenRefused: one has.
    """
    if tokens_named(connection, name):
        raise TokenRefused(f"the name {name} is already used, or was used before; enter another name")


def require_replaceable(connection: Connection, database: Database, name: str) -> Row[*tuple[Any, ...]]:
    """The one valid token of the reporter, which a second one may replace.

    :raises TokenRefused: it has no valid token, or two already.
    """
    valid = [row for row in tokens_named(connection, name) if state_of(row, database.clock()) is None]
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
