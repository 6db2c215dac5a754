"""New ingest tokens: made at once, or proposed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import orjson
from sqlalchemy import Connection

from app.domain.audit import Actor, AuditedChange
from app.domain.difference import difference
from app.domain.proposals.proposal import Proposal
from app.domain.proposals.two_persons import INGEST_TOKENS
from app.models.engine import reading, writing
from app.runtime.gateway import Gateway
from app.services.audit.results import Saved
from app.services.feed.tokens import create_within, new_token, require_free_name
from app.services.network.edits.results import Effect, Preview, Severity
from app.services.proposals.store import Draft, propose

TOKEN: Final = "token"  # noqa: S105  the name of a kind
"""What proposals call a new token."""


def request_token(
    gateway: Gateway,
    name: str,
    types: Iterable[str],
    chains: Iterable[int],
    *,
    actor: Actor,
    reason: str = "",
) -> tuple[str, Saved]:
    """Make a token; where that waits for a second administrator, propose it. It counts once it is made.

    :param reason: why, for the second administrator.
    :returns: the token's text, which is not kept, and what was done.
    :raises TokenRefused: the name is taken, or an argument is no such thing.
    :raises ReasonMissing: it waits, and no reason is given.
    """
    token, row = new_token(name, types, chains)
    subject = f"ingest token {name}"
    with writing(gateway.engine) as connection:
        if not gateway.two_persons.guards(INGEST_TOKENS):
            record_id = create_within(connection, gateway, row, actor=actor)
            return token, Saved((f"create {subject}",), record_id)
        require_free_name(connection, name)
        given = {key: value for key, value in row.items() if key != "digest"}
        change = AuditedChange(subject, None, given)
        digest = row["digest"].hex()
        draft = Draft(TOKEN, INGEST_TOKENS, subject, f"create {subject}", given, [change], digest)
        return token, propose(connection, gateway, actor, draft, reason)


def preview_token(gateway: Gateway, proposal: Proposal) -> Preview:
    """What the new token would be.

    :raises TokenRefused: the name was taken meanwhile.
    """
    given = _given(proposal)
    with reading(gateway.engine) as connection:
        require_free_name(connection, given["name"])
    text = "its bearer may report events at once; who has it is known to the proposer alone"
    effect = Effect(text, Severity.NOTICE)
    return Preview(proposal.subject, (proposal.summary,), difference(None, given), (effect,), waits=True)


def make_token(
    connection: Connection, gateway: Gateway, proposal: Proposal, actor: Actor, _typed: str
) -> Saved:
    """Make the proposed token, in the writing transaction of its approval; errors are the preview's."""
    row = _given(proposal) | {"digest": bytes.fromhex(proposal.secret or "")}
    record_id = create_within(connection, gateway, row, actor=actor, note=proposal.by_two(actor.name))
    return Saved((proposal.summary,), record_id)


def _given(proposal: Proposal) -> dict[str, Any]:
    given: dict[str, Any] = orjson.loads(proposal.input)
    return given
