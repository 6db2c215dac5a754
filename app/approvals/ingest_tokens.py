"""New ingest tokens: made at once, or proposed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

import orjson
from sqlalchemy import Connection

from app.accounts.proposal import INGEST_TOKENS, Proposal, TwoPersons
from app.accounts.services.proposals import Draft, propose
from app.audit.keys import AuditKeys
from app.audit.records import Actor, AuditedChange
from app.audit.services import Saved
from app.credentials.services.ingest_tokens import (
    UNLIMITED,
    TokenTerms,
    create_within,
    new_token,
    require_free_name,
    require_replaceable,
    second_token,
)
from app.db.database import Database
from app.db.engine import reading, writing
from app.network.edits.results import Effect, Preview, Severity
from app.values.differences import difference

TOKEN: Final = "token"  # noqa: S105  the name of a kind
"""What proposals call a reporter's first token."""

SECOND_TOKEN: Final = "second_token"  # noqa: S105  the name of a kind
"""What they call one that replaces another."""


def request_token(
    database: Database,
    audit_keys: AuditKeys,
    two_persons: TwoPersons,
    name: str,
    types: Iterable[str],
    chains: Iterable[int],
    *,
    actor: Actor,
    terms: TokenTerms = UNLIMITED,
    reason: str = "",
) -> tuple[str, Saved]:
    """Make a token; where that waits for a second administrator, propose it. It counts once it is made.

    :param reason: why, for the second administrator.
    :returns: the token's text, which is not kept, and what was done.
    :raises TokenRefused: the name is taken, or an argument is no such thing.
    :raises ReasonMissing: it waits, and no reason is given.
    """
    token, row = new_token(name, types, chains, terms)
    with writing(database.engine) as connection:
        return token, _make_or_propose(connection, database, audit_keys, two_persons, actor, row, reason)


def request_rotation(
    database: Database,
    audit_keys: AuditKeys,
    two_persons: TwoPersons,
    name: str,
    *,
    actor: Actor,
    reason: str = "",
) -> tuple[str, Saved]:
    """Make a second token of a reporter, or propose it; arguments, result and errors as for a first one."""
    with writing(database.engine) as connection:
        token, row = second_token(connection, database, name)
        return token, _make_or_propose(
            connection, database, audit_keys, two_persons, actor, row, reason, second=True
        )


def _make_or_propose(
    connection: Connection,
    database: Database,
    audit_keys: AuditKeys,
    two_persons: TwoPersons,
    actor: Actor,
    row: Mapping[str, Any],
    reason: str,
    *,
    second: bool = False,
) -> Saved:
    subject = f"ingest token {row['name']}"
    summary = f"rotate {subject}" if second else f"create {subject}"
    if not two_persons.guards(INGEST_TOKENS):
        record_id = create_within(connection, database, audit_keys, row, actor=actor, second=second)
        return Saved((summary,), record_id)
    _require_place(connection, database, row["name"], second=second)
    expires_at = row["expires_at"]
    given = {
        **{key: value for key, value in row.items() if key not in ("digest", "expires_at")},
        "expires_at": expires_at and expires_at.isoformat(),
    }
    kind = SECOND_TOKEN if second else TOKEN
    change = AuditedChange(subject, None, given)
    draft = Draft(kind, INGEST_TOKENS, subject, summary, given, [change], row["digest"].hex())
    return propose(connection, database, audit_keys, two_persons, actor, draft, reason)


def _require_place(connection: Connection, database: Database, name: str, *, second: bool) -> None:
    if second:
        require_replaceable(connection, database, name)
    else:
        require_free_name(connection, name)


def preview_token(database: Database, two_persons: TwoPersons, proposal: Proposal) -> Preview:
    """What the new token would be.

    :raises TokenRefused: the name was taken meanwhile, or there is nothing to replace any more.
    """
    given = _given(proposal)
    with reading(database.engine) as connection:
        _require_place(connection, database, given["name"], second=proposal.kind == SECOND_TOKEN)
    text = "its holder can report events at once; only the proposer has seen the token"
    effect = Effect(text, Severity.NOTICE)
    return Preview(proposal.subject, (proposal.summary,), difference(None, given), (effect,), waits=True)


def make_token(
    connection: Connection,
    database: Database,
    audit_keys: AuditKeys,
    two_persons: TwoPersons,
    proposal: Proposal,
    actor: Actor,
    _typed: str,
) -> Saved:
    """Make the proposed token, in the writing transaction of its approval; errors are the preview's."""
    given = _given(proposal)
    expires_at = given["expires_at"] and datetime.fromisoformat(given["expires_at"])
    row = given | {"digest": bytes.fromhex(proposal.secret or ""), "expires_at": expires_at}
    second, note = proposal.kind == SECOND_TOKEN, proposal.by_two(actor.name)
    record_id = create_within(connection, database, audit_keys, row, actor=actor, second=second, note=note)
    return Saved((proposal.summary,), record_id)


def _given(proposal: Proposal) -> dict[str, Any]:
    given: dict[str, Any] = orjson.loads(proposal.input)
    return given
