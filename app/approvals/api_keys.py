"""New keys of integrators: made at once, or proposed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import orjson
from sqlalchemy import Connection

from app.accounts.proposal import API_KEYS, Proposal, TwoPersons
from app.accounts.services.proposals import Draft, propose
from app.audit.keys import AuditKeys
from app.audit.records import Actor, AuditedChange
from app.audit.services import Saved
from app.credentials.services.api_keys import create_within, new_key, require_place
from app.db.database import Database
from app.db.engine import reading, writing
from app.network.edits.results import Effect, Preview, Severity
from app.values.differences import difference

API_KEY: Final = "api_key"
"""What proposals call it."""


def request_key(
    database: Database,
    audit_keys: AuditKeys,
    two_persons: TwoPersons,
    name: str,
    scopes: Iterable[str],
    rate_limit: str,
    *,
    actor: Actor,
    reason: str = "",
) -> tuple[str, Saved]:
    """Make a key; where that waits for a second administrator, propose it. It counts once it is made.

    :param rate_limit: such as ``100/minute;1000/hour``; empty is none.
    :param reason: why, for the second administrator.
    :returns: the key's text, which is not kept, and what was done.
    :raises KeyRefused: the name is taken, an argument is no such thing, or there are too many keys.
    :raises ReasonMissing: it waits, and no reason is given.
    """
    text, row = new_key(name, scopes, rate_limit)
    subject = f"api key {name}"
    summary = f"create {subject}"
    with writing(database.engine) as connection:
        if not two_persons.guards(API_KEYS):
            return text, Saved((summary,), create_within(connection, database, audit_keys, row, actor=actor))
        require_place(connection, name)
        given = {key: value for key, value in row.items() if key != "digest"}
        change = AuditedChange(subject, None, given)
        draft = Draft(API_KEY, API_KEYS, subject, summary, given, [change], row["digest"].hex())
        return text, propose(connection, database, audit_keys, two_persons, actor, draft, reason)


def preview_key(database: Database, two_persons: TwoPersons, proposal: Proposal) -> Preview:
    """What the new key would be.

    :raises KeyRefused: the name was taken meanwhile, or there are too many keys.
    """
    given = _given(proposal)
    with reading(database.engine) as connection:
        require_place(connection, given["name"])
    effect = Effect("its holder can use it at once; only the proposer has seen the key", Severity.NOTICE)
    return Preview(proposal.subject, (proposal.summary,), difference(None, given), (effect,), waits=True)


def make_key(
    connection: Connection,
    database: Database,
    audit_keys: AuditKeys,
    two_persons: TwoPersons,
    proposal: Proposal,
    actor: Actor,
    _typed: str,
) -> Saved:
    """Make the proposed key, in the writing transaction of its approval; errors are the preview's."""
    row = _given(proposal) | {"digest": bytes.fromhex(proposal.secret or "")}
    note = proposal.by_two(actor.name)
    return Saved(
        (proposal.summary,), create_within(connection, database, audit_keys, row, actor=actor, note=note)
    )


def _given(proposal: Proposal) -> dict[str, Any]:
    given: dict[str, Any] = orjson.loads(proposal.input)
    return given
