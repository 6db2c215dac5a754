"""Issues keys and tokens, and replaces tokens: at once, or proposed to a second administrator."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import asdict
from sqlalchemy import Connection, Row, insert

from app.accounts.rules.two_persons import Proposal, TwoPersons
from app.accounts.services.planned_changes import AdministeredChange, PlannedChange
from app.accounts.services.proposals import carry_out
from app.audit.keys import AuditKeys
from app.audit.previews import Effect
from app.audit.rules.records import Actor, AuditedChange
from app.audit.services import Saved, as_recorded, record_change
from app.credentials.models import LIMIT_LENGTH
from app.credentials.queries import count_valid_keys, credentials_named
from app.credentials.rules.api_key import ALPHABET, SECRET_LENGTH, key_fault, key_text
from app.credentials.rules.credential import KEY_ID_BYTES, CredentialState, digest_of
from app.credentials.rules.ingest_token import SECRET_BYTES, quota_fault, token_fault, token_text
from app.credentials.services.issued import KEYS, TOKENS, CredentialRefused, state_of
from app.db.database import Database
from app.db.engine import writing
from app.http.limits import limits_of
from app.values.amounts import grouped

MOST_VALID_KEYS: Final = 1000
"""How many keys may be valid at a time: each process reads them all when one is presented."""

MOST_VALID_TOKENS: Final = 2
"""Tokens of one reporter that are valid at a time: the one in use and the one that replaces it."""


API_KEY: Final = "api_key"
TOKEN: Final = "token"  # noqa: S105  the name of a command
SECOND_TOKEN: Final = "second_token"  # noqa: S105  the name of a command
"""The names in proposals: of issuing a key, a reporter's first token, and one that replaces it."""


class Wanted(Struct, frozen=True):
    """A key or token to issue: the command, and the chosen columns of its row."""

    command: str
    columns: Mapping[str, Any]


class Issued(Struct, frozen=True):
    """A new key or token: its text, which is not stored and shown once, and what was done or proposed."""

    text: str
    saved: Saved


class TokenTerms(Struct, frozen=True, kw_only=True):
    """What a new token allows in addition to its scope: until when, and how much. None is no limit."""

    expires_at: datetime | None = None
    quota_events: int | None = None
    quota_seconds: int | None = None


UNLIMITED: Final = TokenTerms()


def new_key(name: str, scopes: Iterable[str], rate_limit: str = "") -> Wanted:
    """A key to issue.

    :param rate_limit: such as ``100/minute;1000/hour``; empty is none.
    :raises CredentialRefused: an argument is not valid.
    """
    allowed = sorted(set(scopes))
    if fault := key_fault(name, allowed) or _limit_fault(rate_limit):
        raise CredentialRefused(fault)
    return Wanted(API_KEY, {"name": name, "scopes": allowed, "rate_limit": rate_limit})


def new_token(
    name: str, types: Iterable[str] = (), chains: Iterable[int] = (), terms: TokenTerms = UNLIMITED
) -> Wanted:
    """A reporter's first token to issue.

    :param types: event types that its bearer may report; none given allows all.
    :param chains: ids of the chains it may report about; none given allows all.
    :raises CredentialRefused: an argument is not valid.
    """
    allowed_types, allowed_chains = sorted(set(types)), sorted(set(chains))
    fault = token_fault(name, allowed_types, allowed_chains)
    if fault := fault or quota_fault(terms.quota_events, terms.quota_seconds):
        raise CredentialRefused(fault)
    scope = {"types": allowed_types or None, "chains": allowed_chains or None}
    return Wanted(TOKEN, {"name": name, **scope, **asdict(terms)})


def second_token(name: str, expires_at: datetime | None = None) -> Wanted:
    """A second token of a reporter, with the scope and quota of its first, which stays valid. Without
    ``expires_at`` it has the lifetime of the first.
    """
    return Wanted(SECOND_TOKEN, {"name": name, "expires_at": expires_at})


def issue(
    database: Database,
    audit_keys: AuditKeys,
    two_persons: TwoPersons,
    wanted: Wanted,
    *,
    actor: Actor,
    reason: str | None = None,
    break_glass: str | None = None,
) -> Issued:
    """Issue a key or token and store its digest; where that waits for a second administrator, propose it.

    :param reason: why, for the second administrator; None where it cannot be proposed.
    :param break_glass: why it is issued without a second person where ``TWO_PERSONS`` names its section.
    :raises CredentialRefused: the name is taken, also by a revoked one; or there are too many keys; or there
        is no token to replace, or two already.
    :raises SecondPersonNeeded: it waits, and neither reason is given.
    :raises ReasonMissing: the one that is given is empty or too long.
    """
    key_id = secrets.token_hex(KEY_ID_BYTES)
    text = _text(wanted.command, key_id)
    with writing(database.engine) as connection:
        columns = wanted.columns
        if wanted.command == SECOND_TOKEN:
            columns = _like_the_first(connection, database, **columns)
        given = as_recorded({**columns, "key_id": key_id})
        planned = _planned(connection, database, wanted.command, given, digest_of(text.encode()))
        saved = carry_out(
            connection,
            database,
            audit_keys,
            two_persons,
            actor,
            planned,
            reason=reason,
            break_glass=break_glass,
        )
    return Issued(text, saved)


def _text(command: str, key_id: str) -> str:
    if command == API_KEY:
        return key_text(key_id, "".join(secrets.choice(ALPHABET) for _ in range(SECRET_LENGTH)))
    return token_text(key_id, secrets.token_urlsafe(SECRET_BYTES))


def _like_the_first(
    connection: Connection, database: Database, name: str, expires_at: datetime | None
) -> Mapping[str, Any]:
    first = _replaceable(connection, database, name)
    if expires_at is None and first.expires_at is not None:
        expires_at = database.clock() + (first.expires_at - first.created_at)
    same = ("name", "types", "chains", "quota_events", "quota_seconds")
    return {column: getattr(first, column) for column in same} | {"expires_at": expires_at}


def issued_again(connection: Connection, database: Database, proposal: Proposal) -> PlannedChange:
    """A proposed key or token, planned again.

    :raises CredentialRefused: the name was taken meanwhile, or there is nothing to replace any more, or there
        are too many keys.
    """
    return _planned(connection, database, proposal.kind, proposal.given, bytes.fromhex(proposal.secret or ""))


def _planned(
    connection: Connection, database: Database, command: str, given: Mapping[str, Any], digest: bytes
) -> PlannedChange:
    """``given`` are the columns of the new row, times as text. Raises CredentialRefused as
    :func:`_require_place`.
    """
    kind, verb = KEYS if command == API_KEY else TOKENS, "rotate" if command == SECOND_TOKEN else "create"
    subject = kind.subject(given["name"])
    _require_place(connection, database, command, given["name"])

    def write(
        connection: Connection, database: Database, audit_keys: AuditKeys, actor: Actor, note: str
    ) -> int:
        now, ends = database.clock(), given.get("expires_at")
        row = {**given, "digest": digest, "created_at": now}
        if ends is not None:
            row["expires_at"] = datetime.fromisoformat(ends)
            if row["expires_at"] <= now:
                raise CredentialRefused("the expiry time is in the past; give one in the future")
        connection.execute(insert(kind.model).values(row))
        change = AuditedChange(subject, None, kind.documented(row))
        return record_change(connection, database, audit_keys, actor, kind.action(verb), change, note=note)

    return AdministeredChange(
        kind=command,
        section=kind.section,
        subject=subject,
        summary=f"{verb} {subject}",
        input=given,
        changes=[AuditedChange(subject, None, given)],
        secret=digest.hex(),
        effects=(Effect(kind.effect),),
        write=write,
    )


def _require_place(connection: Connection, database: Database, command: str, name: str) -> None:
    """Raises CredentialRefused where a key or token has, or had, the name; where there is none to replace; or
    where there are too many.
    """
    if command == SECOND_TOKEN:
        _replaceable(connection, database, name)
        return
    if credentials_named(connection, (KEYS if command == API_KEY else TOKENS).model, name):
        raise CredentialRefused(f"the name {name} is already used, or was used before; enter another name")
    if command == API_KEY and count_valid_keys(connection) >= MOST_VALID_KEYS:
        raise CredentialRefused(
            f"there are {grouped(MOST_VALID_KEYS)} valid keys, the maximum; revoke one first"
        )


def _replaceable(connection: Connection, database: Database, name: str) -> Row[*tuple[Any, ...]]:
    """The token of the reporter that a second one may replace: the valid one, else the last expired one.

    :raises CredentialRefused: every token of the reporter was revoked, or two are valid already.
    """
    stored = [row for row in credentials_named(connection, TOKENS.model, name) if row.revoked_at is None]
    valid = [row for row in stored if state_of(row, database.clock()) is CredentialState.VALID]
    if not stored:
        raise CredentialRefused(f"there is no token {name} to replace; add one with a new name")
    if len(valid) >= MOST_VALID_TOKENS:
        raise CredentialRefused(
            f"{name} already has {MOST_VALID_TOKENS} valid tokens; revoke the older one first, "
            f"{valid[0].key_id}"
        )
    return (valid or stored)[-1]


def _limit_fault(rate_limit: str) -> str | None:
    try:
        readable = len(rate_limit) <= LIMIT_LENGTH and bool(limits_of(rate_limit) or not rate_limit)
    except ValueError:
        readable = False
    said = f"{rate_limit[:60]!r} is not a limit; enter one such as 20/second or 100/minute;1000/hour"
    return None if readable else said
