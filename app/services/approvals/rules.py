"""Demanding a second factor of everyone no longer: done at once, or proposed."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection

from app.db.engine import reading, writing
from app.domain.audit import Actor
from app.domain.difference import difference
from app.domain.proposals.proposal import Proposal
from app.domain.proposals.two_persons import OPERATORS
from app.queries.operators import second_factor_is_demanded
from app.runtime.gateway import Gateway
from app.services.audit.results import Saved
from app.services.network.edits.results import Effect, Preview, Severity
from app.services.operators.accounts import AccountRefused
from app.services.operators.factors import RULE, relax_within, relaxing
from app.services.proposals.store import Draft, propose

RELAXING: Final = "relaxing"
"""What proposals call it."""

_SUMMARY: Final = "make a second factor optional for everyone"


def request_relaxing(gateway: Gateway, *, actor: Actor, reason: str = "") -> Saved:
    """Let accounts do without a second factor again; where that waits for a second administrator, propose it.

    :param reason: why, for the second administrator.
    :raises AccountRefused: none is demanded.
    :raises ReasonMissing: it waits, and no reason is given.
    """
    with writing(gateway.engine) as connection:
        _require_demanded(connection)
        if not gateway.two_persons.guards(OPERATORS):
            return Saved((_SUMMARY,), relax_within(connection, gateway, actor=actor))
        draft = Draft(RELAXING, OPERATORS, RULE, _SUMMARY, {}, [relaxing()])
        return propose(connection, gateway, actor, draft, reason)


def preview_relaxing(gateway: Gateway, _proposal: Proposal) -> Preview:
    """What it would do now.

    :raises AccountRefused: none is demanded any more.
    """
    with reading(gateway.engine) as connection:
        _require_demanded(connection)
    change = relaxing()
    effect = Effect(
        "a password alone is enough again, except for accounts that require a second factor", Severity.GRAVE
    )
    return Preview(RULE, (_SUMMARY,), difference(change.before, change.after), (effect,), waits=True)


def make_relaxing(
    connection: Connection, gateway: Gateway, proposal: Proposal, actor: Actor, _typed: str
) -> Saved:
    """Do it, in the writing transaction of its approval; errors are the preview's."""
    _require_demanded(connection)
    note = proposal.by_two(actor.name)
    return Saved((_SUMMARY,), relax_within(connection, gateway, actor=actor, note=note))


def _require_demanded(connection: Connection) -> None:
    if not second_factor_is_demanded(connection):
        raise AccountRefused("a second factor is not required for everyone; nothing to change")
