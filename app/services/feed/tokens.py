"""Reporters' tokens: made, listed, revoked, and recognised when they are presented."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, update

from app.domain.audit import Actor, AuditedChange
from app.domain.errors import Unauthorized
from app.domain.proposals.two_persons import INGEST_TOKENS
from app.domain.reporting.scope import Scope
from app.domain.reporting.token import (
    KEY_ID_BYTES,
    SECRET_BYTES,
    IngestToken,
    digest_of,
    is_token_name,
    key_id_of,
    token_text,
)
from app.domain.transfer.events import EventType
from app.models import ingest_tokens as table
from app.models.engine import ask, reading, writing
from app.queries.reporters.tokens import every_token, last_accepted, token_named, valid_token
from app.runtime.gateway import Gateway
from app.services.audit.record import record
from app.services.feed.schema import MAX_CHAIN_ID, SCHEMAS
from app.services.proposals.break_glass import require_leave

DOCUMENTED = ("name", "types", "chains", "created_at", "revoked_at")
"""The columns that the audit log keeps."""

TYPES = tuple(SCHEMAS)
"""Event types that reporters report."""


class TokenRefused(ValueError):
    """Why a token is not made or not revoked, for the operator who asked."""


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """What operators see of a token. Without times it is one of the environment."""

    name: str
    scope: Scope
    key_id: str | None = None
    created_at: datetime | None = None
    revoked_at: datetime | None = None
    last_received_at: datetime | None = None


def create_token(
    gateway: Gateway,
    name: str,
    types: Iterable[str] = (),
    chains: Iterable[int] = (),
    *,
    actor: Actor,
    break_glass: str | None = None,
) -> str:
    """Make a token and keep its digest. The text returned is not kept: it can be shown once only.

    :param types: event types that its bearer may report; none given allows all.
    :param chains: ids of the chains it may report about; none given allows all.
    :param break_glass: why one person alone does so where ``TWO_PERSONS`` names tokens.
    :raises TokenRefused: the name is taken, also by a revoked token, or an argument is no such thing.
    :raises SecondPersonNeeded: it waits for a second administrator, and ``break_glass`` is not given.
    """
    token, row = new_token(name, types, chains)
    guarded = [INGEST_TOKENS] if gateway.two_persons.guards(INGEST_TOKENS) else []
    subject = f"ingest token {name}"
    with writing(gateway.engine) as connection:
        require_leave(connection, gateway, actor, guarded, subject=subject, break_glass=break_glass)
        create_within(connection, gateway, row, actor=actor)
    return token


def new_token(name: str, types: Iterable[str], chains: Iterable[int]) -> tuple[str, dict[str, Any]]:
    """A token's text, and what would be kept of it.

    :raises TokenRefused: an argument is no such thing.
    """
    allowed_types, allowed_chains = sorted(set(types)), sorted(set(chains))
    _check(name, allowed_types, allowed_chains)
    key_id, secret = secrets.token_hex(KEY_ID_BYTES), secrets.token_urlsafe(SECRET_BYTES)
    token = token_text(key_id, secret)
    row = {
        "name": name,
        "key_id": key_id,
        "digest": digest_of(token.encode()),
        "types": allowed_types or None,
        "chains": allowed_chains or None,
    }
    return token, row


def create_within(
    connection: Connection, gateway: Gateway, row: Mapping[str, Any], *, actor: Actor, note: str = ""
) -> int:
    """Keep the row of a new token, in a writing transaction of the caller, who has asked for leave.

    :param note: stands before what the audit record says.
    :returns: the id of that record.
    :raises TokenRefused: the name is taken.
    """
    require_free_name(connection, row["name"])
    made = {**row, "created_at": gateway.clock()}
    connection.execute(insert(table.IngestToken).values(made))
    change = AuditedChange(f"ingest token {row['name']}", None, _documented(made))
    return _record(connection, gateway, actor, "create", change, note=note)


def require_free_name(connection: Connection, name: str) -> None:
    """Make sure that no token has, or had, the name.

    :raises TokenRefused: one has.
    """
    if token_named(connection, name) is not None:
        raise TokenRefused(f"{name} is or was a token already; its events bear the name, choose another")


def _check(name: str, types: Iterable[str], chains: Iterable[int]) -> None:
    if not is_token_name(name):
        raise TokenRefused(
            f"{name!r} cannot be a name: 1 to 64 of a-z, 0-9, '.', '_' and '-', the first a letter or digit, "
            "and not one that the gateway's own reporters have (cli, operator, sandbox, watcher, env-…)"
        )
    for event_type in types:
        if event_type not in TYPES:
            raise TokenRefused(f"{event_type!r} is no event type; there are {', '.join(TYPES)}")
    for chain_id in chains:
        if not 1 <= chain_id <= MAX_CHAIN_ID:
            raise TokenRefused(f"{chain_id} is no chain id; those are from 1 to {MAX_CHAIN_ID}")


def revoke_token(gateway: Gateway, name: str, *, actor: Actor) -> datetime:
    """Let a token count no longer; when it was revoked.

    It takes the writers' turn: when this returns, nothing more is accepted from the token's bearer
    in any process, not even the rest of an upload that has begun. Revoking again changes nothing.

    :raises TokenRefused: there is no such token, or it is one of the environment.
    """
    if name in {token.name for token in gateway.environment_tokens}:
        raise TokenRefused(f"{name} stands in INGEST_TOKENS: take it out there and start the gateway again")
    with writing(gateway.engine) as connection:
        row = token_named(connection, name)
        if row is None:
            raise TokenRefused(f"there is no token {name}")
        if row.revoked_at is None:
            of_row = table.IngestToken.id == row.id
            connection.execute(update(table.IngestToken).where(of_row).values(revoked_at=gateway.clock()))
            before, row = row, token_named(connection, name) or row
            states = (_documented(dict(state._mapping)) for state in (before, row))
            _record(connection, gateway, actor, "revoke", AuditedChange(f"ingest token {name}", *states))
    revoked_at: datetime = row.revoked_at
    return revoked_at


def _documented(row: Mapping[str, Any]) -> dict[str, Any]:
    """What the audit log keeps of a token: nothing of its text, not even the digest."""
    times = {"created_at": row["created_at"], "revoked_at": row.get("revoked_at")}
    return {column: row[column] for column in DOCUMENTED if column not in times} | {
        column: None if at is None else at.isoformat() for column, at in times.items()
    }


def _record(
    connection: Connection,
    gateway: Gateway,
    actor: Actor,
    action: str,
    change: AuditedChange,
    *,
    note: str = "",
) -> int:
    return record(
        connection,
        gateway.audit_keys,
        actor,
        f"ingest_token.{action}",
        change.subject,
        now=gateway.clock(),
        detail=": ".join(filter(None, (note, f"{action} {change.subject}"))),
        changes=[change],
    )


def list_tokens(gateway: Gateway) -> list[TokenRecord]:
    """Every token there is and was: the environment's first, then the others by name."""
    with reading(gateway.reads) as connection:
        records = [TokenRecord(token.name, token.scope) for token in gateway.environment_tokens]
        for row in every_token(connection):
            scope = _scope(row.types, row.chains)
            records.append(TokenRecord(row.name, scope, row.key_id, row.created_at, row.revoked_at))
        return [
            replace(record, last_received_at=last.received_at)
            if (last := last_accepted(connection, record.name))
            else record
            for record in records
        ]


def _scope(types: list[str] | None, chains: list[int] | None) -> Scope:
    """The scope as it is stored."""
    return Scope(
        None if types is None else frozenset(map(EventType, types)),
        None if chains is None else frozenset(chains),
    )


def authenticate(gateway: Gateway, presented: bytes) -> IngestToken:
    """The valid token that was presented.

    Every token of the environment is compared, whichever it is, and of the database the one whose
    public id was presented: a wrong guess takes the same time however much of it is right.

    :raises Unauthorized: it is none, or was revoked.
    """
    found = [token for token in gateway.environment_tokens if token.is_(presented)]
    key_id = key_id_of(presented)
    if key_id is not None and not found:
        row = ask(gateway.reads, valid_token, key_id)
        if row is not None:
            token = IngestToken(row.name, row.digest, _scope(row.types, row.chains), key_id)
            found = [token] if token.is_(presented) else []
    if not found:
        raise Unauthorized("the token is not valid: it is unknown or was revoked")
    return found[0]


def require_valid(connection: Connection, token: IngestToken) -> None:
    """Make sure that the token has not been revoked since it was presented.

    :param connection: of the writer, whose turn keeps a revocation waiting.
    :raises Unauthorized: it was.
    """
    if token.key_id is not None and valid_token(connection, token.key_id) is None:
        raise Unauthorized("the token was revoked; what was accepted before stays")
