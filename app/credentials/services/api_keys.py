"""Keys of integrators: made, listed, revoked, and recognised from memory."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Connection, insert, update

from app.accounts.proposal import API_KEYS, TwoPersons
from app.accounts.services.proposals import require_leave
from app.audit.keys import AuditKeys
from app.audit.records import Actor, AuditedChange
from app.audit.services import as_recorded, record_change
from app.credentials import models as table
from app.credentials.api_key import ALPHABET, SECRET_LENGTH, ApiKey, Scope, key_id_of, key_in, key_text
from app.credentials.ingest_token import KEY_ID_BYTES, digest_of, is_plain_name
from app.credentials.queries import all_keys, count_valid, is_name_used, key_by_id, last_days, valid_keys
from app.db.database import Database
from app.db.engine import reading, run_read, writing
from app.http.limits import limits_of
from app.values.amounts import grouped
from app.values.errors import Unauthorized
from app.values.times import day_start

MOST_VALID: Final = 1000
"""How many keys are valid at a time: each process reads them all while any is presented."""

_DOCUMENTED: Final = ("name", "scopes", "rate_limit", "created_at", "revoked_at")
"""The columns that the audit log keeps."""


class KeyRefused(ValueError):
    """Why a key is not made or not revoked, for the administrator who asked."""


def new_key(name: str, scopes: Iterable[str], rate_limit: str) -> tuple[str, dict[str, Any]]:
    """The text of a new key, and what would be kept of it.

    :param rate_limit: such as ``100/minute;1000/hour``; empty is none.
    :raises KeyRefused: an argument is no such thing.
    """
    given = sorted(set(scopes))
    _check(name, given, rate_limit)
    key_id = secrets.token_hex(KEY_ID_BYTES)
    text = key_text(key_id, "".join(secrets.choice(ALPHABET) for _ in range(SECRET_LENGTH)))
    row = {"name": name, "key_id": key_id, "scopes": given, "rate_limit": rate_limit}
    return text, row | {"digest": digest_of(text.encode())}


def create_key(
    database: Database,
    audit_keys: AuditKeys,
    two_persons: TwoPersons,
    name: str,
    scopes: Iterable[str],
    rate_limit: str = "",
    *,
    actor: Actor,
    break_glass: str | None = None,
) -> str:
    """Make a key and store its digest. The text returned is not stored: it is shown once.

    :param rate_limit: such as ``100/minute;1000/hour``; empty is none.
    :param break_glass: why one person alone does so where ``TWO_PERSONS`` names API keys.
    :raises KeyRefused: the name is taken, an argument is no such thing, or there are too many keys.
    :raises SecondPersonNeeded: it waits for a second administrator, and ``break_glass`` is not given.
    """
    text, row = new_key(name, scopes, rate_limit)
    guarded = [API_KEYS] if two_persons.guards(API_KEYS) else []
    with writing(database.engine) as connection:
        subject = f"api key {name}"
        require_leave(
            connection, database, audit_keys, actor, guarded, subject=subject, break_glass=break_glass
        )
        create_within(connection, database, audit_keys, row, actor=actor)
    return text


def create_within(
    connection: Connection,
    database: Database,
    audit_keys: AuditKeys,
    row: Mapping[str, Any],
    *,
    actor: Actor,
    note: str = "",
) -> int:
    """Keep the row of a new key, in a writing transaction of the caller.

    :param note: stands before what the audit record says.
    :returns: the id of that record.
    :raises KeyRefused: the name is taken, or there are too many keys.
    """
    require_place(connection, row["name"])
    made = {**row, "created_at": database.clock()}
    connection.execute(insert(table.ApiKey).values(made))
    change = AuditedChange(f"api key {row['name']}", None, _documented(made))
    return record_change(connection, database, audit_keys, actor, "api_key.create", change, note=note)


def require_place(connection: Connection, name: str) -> None:
    """Make sure that no key has, or had, the name, and that one more may be made.

    :raises KeyRefused: one has, or there are too many.
    """
    if is_name_used(connection, name):
        raise KeyRefused(f"the name {name} is already used, or was used before; enter another name")
    if count_valid(connection) >= MOST_VALID:
        raise KeyRefused(f"there are {grouped(MOST_VALID)} valid keys, the maximum; revoke one first")


def revoke_key(database: Database, audit_keys: AuditKeys, api_key_id: int, *, actor: Actor) -> datetime:
    """Let a key count no longer; when it was revoked. Revoking again changes nothing.

    This process refuses it when this returns, the others within ``CONFIG_MAX_AGE_SECONDS``.

    :param api_key_id: of the key's row.
    :raises KeyRefused: there is no such key.
    """
    with writing(database.engine) as connection:
        row = key_by_id(connection, api_key_id)
        if row is None:
            raise KeyRefused("this key does not exist")
        if row["revoked_at"] is not None:
            revoked_at: datetime = row["revoked_at"]
            return revoked_at
        now, before = database.clock(), dict(row)
        of_row = table.ApiKey.id == api_key_id
        connection.execute(update(table.ApiKey).where(of_row).values(revoked_at=now))
        after = before | {"revoked_at": now}
        change = AuditedChange(f"api key {row['name']}", _documented(before), _documented(after))
        record_change(connection, database, audit_keys, actor, "api_key.revoke", change)
        return now


def _check(name: str, scopes: list[str], rate_limit: str) -> None:
    if not is_plain_name(name):
        raise KeyRefused(
            f"{name!r} is not a valid name; enter 1 to 64 of a-z, 0-9, '.', '_' and '-', starting with a "
            "letter or digit"
        )
    if not scopes:
        raise KeyRefused(f"a key needs at least one scope; choose from {', '.join(Scope)}")
    for scope in scopes:
        if scope not in set(Scope):
            raise KeyRefused(f"{scope!r} is not a scope; choose from {', '.join(Scope)}")
    try:
        readable = len(rate_limit) <= table.LIMIT_LENGTH and bool(limits_of(rate_limit) or not rate_limit)
    except ValueError:
        readable = False
    if not readable:
        raise KeyRefused(
            f"{rate_limit[:60]!r} is not a limit; enter one such as 20/second or 100/minute;1000/hour"
        )


def _documented(row: Mapping[str, Any]) -> dict[str, Any]:
    """What the audit log keeps of a key: nothing of its text, not even the digest."""
    return as_recorded({column: row[column] for column in _DOCUMENTED if row.get(column) is not None})


class KeyRecord(Struct, frozen=True):
    """A key, as far as it is stored. ``last_used`` is a day in UTC, None where it was never used."""

    api_key_id: int
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
        keys, days = all_keys(connection), last_days(connection)
    return [
        KeyRecord(
            row["id"],
            row["name"],
            row["key_id"],
            tuple(row["scopes"]),
            row["rate_limit"],
            row["created_at"],
            row["revoked_at"],
            day_start(days[row["id"]]).date() if row["id"] in days else None,
        )
        for row in keys
    ]


NOT_VALID: Final = (
    "the API key is not valid: it is unknown or revoked; ask the operator for a new one, or leave the "
    "Authorization header out"
)
MALFORMED: Final = (
    "the API key is malformed: it must be gwk_ and 59 letters and digits; copy all of it, or leave the "
    "Authorization header out"
)


def presented_key(database: Database, authorization: str) -> ApiKey | None:
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
    keys, _ = database.cached.run_read((valid_keys,), lambda: run_read(database.reads, _keys_by_id))
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
