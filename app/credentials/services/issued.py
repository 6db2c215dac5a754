"""Keys and tokens that were issued: listed and revoked, and what the audit log has of them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import update

from app.accounts.rules.two_persons import API_KEYS, INGEST_TOKENS
from app.audit.keys import AuditKeys
from app.audit.rules.records import Actor, AuditedChange
from app.audit.services import as_recorded, record_change
from app.credentials import models as table
from app.credentials.queries import credentials_named, every_credential, last_accepted, last_days
from app.credentials.rules.credential import CredentialState, state_at
from app.credentials.rules.ingest_token import EnvironmentTokens, Quota, Scope
from app.credentials.services.presented import quota_of, scope_of
from app.db.database import Database
from app.db.engine import reading, writing
from app.values.times import day_start


class CredentialRefused(ValueError):
    """Why a key or token is not issued or not revoked, for the administrator."""


class NoCredential(CredentialRefused):
    """There is none of that name."""


class Kind(Struct, frozen=True):
    """How keys and tokens differ, where they are issued, revoked and recorded.

    ``section`` is their name in ``TWO_PERSONS``, ``noun`` in records, ``word`` in messages. The audit log has
    the columns ``recorded``, and those of ``recorded_if_set`` where they have a value: nothing of the secret,
    not even the digest. ``effect`` is what the second person reads.
    """

    model: type[table.Credential]
    section: str
    noun: str
    word: str
    recorded: tuple[str, ...]
    recorded_if_set: tuple[str, ...]
    effect: str

    def subject(self, name: str) -> str:
        return f"{self.noun} {name}"

    def action(self, verb: str) -> str:
        return f"{self.noun.replace(' ', '_')}.{verb}"

    def documented(self, row: Mapping[str, Any]) -> dict[str, Any]:
        recorded = {column: row.get(column) for column in self.recorded}
        recorded |= {column: row[column] for column in self.recorded_if_set if row.get(column) is not None}
        return as_recorded(recorded)


KEYS: Final = Kind(
    table.ApiKey,
    API_KEYS,
    "api key",
    "API key",
    ("name", "scopes", "rate_limit", "created_at"),
    ("revoked_at",),
    "its holder can use it at once; only the proposer has seen the key",
)
TOKENS: Final = Kind(
    table.IngestToken,
    INGEST_TOKENS,
    "ingest token",
    "token",
    ("name", "types", "chains", "created_at", "revoked_at"),
    ("expires_at", "quota_events", "quota_seconds"),
    "its holder can report events at once; only the proposer has seen the token",
)


def revoke_key(database: Database, audit_keys: AuditKeys, name: str, *, actor: Actor) -> datetime:
    """Returns when the key was revoked. Revoking again changes nothing. This process refuses the key when
    this returns, the others within ``CONFIG_MAX_AGE_SECONDS``.

    :raises CredentialRefused: there is no such key.
    """
    return _revoke(database, audit_keys, KEYS, name, actor=actor)


def revoke_token(
    database: Database,
    audit_keys: AuditKeys,
    environment_tokens: EnvironmentTokens,
    name: str,
    *,
    actor: Actor,
    key_id: str | None = None,
) -> datetime:
    """Revoke a reporter's tokens. Returns when the last of them was revoked. Revoking again changes nothing.

    It waits for its turn among the writers: when this returns, nothing more is accepted from the tokens'
    bearer in any process, not even the rest of an upload that has begun.

    :param key_id: the key ID of a single token; without it all tokens of the reporter are revoked.
    :raises CredentialRefused: there is no such token, or it is one of the environment.
    """
    if name in {token.name for token in environment_tokens}:
        raise CredentialRefused(f"{name} is set in INGEST_TOKENS; remove it there and restart the gateway")
    return _revoke(database, audit_keys, TOKENS, name, actor=actor, key_id=key_id)


def _revoke(
    database: Database,
    audit_keys: AuditKeys,
    kind: Kind,
    name: str,
    *,
    actor: Actor,
    key_id: str | None = None,
) -> datetime:
    with writing(database.engine) as connection:
        rows = [
            row for row in credentials_named(connection, kind.model, name) if key_id in (None, row.key_id)
        ]
        if not rows:
            which = f" with the key ID {key_id}" if key_id else ""
            raise NoCredential(f"there is no {kind.word} {name}{which}; choose one from the list")
        now = database.clock()
        for row in rows:
            if row.revoked_at is None:
                this = kind.model.id == row.id
                connection.execute(update(kind.model).where(this).values(revoked_at=now))
                before = dict(row._mapping)
                states = (kind.documented(state) for state in (before, before | {"revoked_at": now}))
                change = AuditedChange(kind.subject(name), *states)
                record_change(connection, database, audit_keys, actor, kind.action("revoke"), change)
        return max(row.revoked_at or now for row in rows)


def state_of(row: Any, now: datetime) -> CredentialState:
    """The state of a key or token. ``row`` is its row or record; that of a key has no ``expires_at``."""
    return state_at(now, row.revoked_at, getattr(row, "expires_at", None))


class KeyRecord(Struct, frozen=True):
    """What operators see of a key. ``last_used`` is a day in UTC, None where it was never used."""

    name: str
    key_id: str
    scopes: tuple[str, ...]
    rate_limit: str
    created_at: datetime
    revoked_at: datetime | None
    last_used: date | None


def list_keys(database: Database) -> list[KeyRecord]:
    """Every key, also the revoked ones, by name."""
    with reading(database.reads) as connection:
        keys, days = every_credential(connection, table.ApiKey), last_days(connection)
    return [
        KeyRecord(
            row.name,
            row.key_id,
            tuple(row.scopes),
            row.rate_limit,
            row.created_at,
            row.revoked_at,
            day_start(days[row.id]).date() if row.id in days else None,
        )
        for row in keys
    ]


class TokenRecord(Struct, frozen=True):
    """What operators see of a token. Without times it is one of the environment."""

    name: str
    scope: Scope
    last_received_at: datetime | None
    key_id: str | None = None
    created_at: datetime | None = None
    revoked_at: datetime | None = None
    expires_at: datetime | None = None
    quota: Quota | None = None


def list_tokens(database: Database, environment_tokens: EnvironmentTokens) -> list[TokenRecord]:
    """Every token there is and was: the environment's first, then the others by name."""
    with reading(database.reads) as connection:

        def last(name: str) -> datetime | None:
            row = last_accepted(connection, name)
            return row.received_at if row else None

        return [TokenRecord(token.name, token.scope, last(token.name)) for token in environment_tokens] + [
            TokenRecord(
                row.name,
                scope_of(row.types, row.chains),
                last(row.name),
                row.key_id,
                row.created_at,
                row.revoked_at,
                row.expires_at,
                quota_of(row.quota_events, row.quota_seconds),
            )
            for row in every_credential(connection, table.IngestToken)
        ]
