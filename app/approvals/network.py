"""Proposed edits of the network document: planned again from what the proposer entered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

import orjson
from sqlalchemy import Connection

from app.accounts.proposal import ONE_ROW, Proposal, TwoPersons
from app.audit.keys import AuditKeys
from app.audit.records import Actor, AuditedChange, changes_text, read_changes
from app.audit.services import Conflict, Saved
from app.db.database import Database
from app.db.engine import reading_consistently
from app.network.changes import audited
from app.network.edits.fees import BASE_FEES, FeeEdit, FeesPreview, planned_fees, preview_fees
from app.network.edits.planning import Edit
from app.network.edits.results import Preview
from app.network.edits.rows import SEVERAL, Edits, planned_edit, planned_edits, preview_edit, preview_edits
from app.network.edits.saving import Planned, save_changes
from app.values.differences import FieldDifference, difference


def require_as_proposed(proposal: Proposal, now: Sequence[AuditedChange]) -> None:
    """Make sure that the change would do exactly what it did when it was previewed for its proposer.

    :param now: the change as it comes out of the rows of now.
    :raises Conflict: with what differs from the rows that it was based on.
    """
    if changes_text(now) != proposal.changes:
        raise changed_since(proposal, tuple(_meanwhile(read_changes(proposal.changes), now)))


def changed_since(proposal: Proposal, meanwhile: tuple[FieldDifference, ...]) -> Conflict:
    """The conflict of a proposal with what changed since, in words for the one who would approve it."""
    gone = bool(meanwhile) and all(each.after is None for each in meanwhile)
    what = "removed" if gone else "changed"
    return Conflict(
        f"{proposal.subject} was {what} since this was proposed; propose it again from the current values",
        meanwhile,
    )


def _meanwhile(then: Sequence[AuditedChange], now: Sequence[AuditedChange]) -> Iterator[FieldDifference]:
    """How the rows before the change differ from those that it was based on."""
    found = {change.subject: change.before for change in now}
    for change in then:
        for each in difference(change.before, found.get(change.subject)):
            name = each.field if len(then) == 1 else f"{change.subject}: {each.field}"
            yield FieldDifference(name, each.before, each.after)


def preview_network(database: Database, two_persons: TwoPersons, proposal: Proposal) -> Preview | FeesPreview:
    """What the proposer was shown, from the rows of now.

    :raises EditRefused: it cannot be made any more: ``Conflict``, ``Invalid`` or ``InUse``.
    """
    with reading_consistently(database.engine) as connection:
        _plan_again(connection, proposal, database.clock())
    given = orjson.loads(proposal.input)
    if proposal.kind == SEVERAL:
        return preview_edits(database, two_persons, Edits.of_input(given))
    if proposal.kind == ONE_ROW:
        return preview_edit(database, two_persons, Edit(**given))
    return preview_fees(database, two_persons, FeeEdit.of_input(given))


def make_network(
    connection: Connection,
    database: Database,
    audit_keys: AuditKeys,
    two_persons: TwoPersons,
    proposal: Proposal,
    actor: Actor,
    typed: str,
) -> Saved:
    """Make the proposed edit, in the writing transaction of its approval.

    :raises EditRefused: as for the preview; or ``NotConfirmed``.
    """
    planned = _plan_again(connection, proposal, database.clock())
    planned.require_typed(typed)
    return save_changes(connection, database, audit_keys, two_persons, actor, planned, approved=proposal)


def _plan_again(connection: Connection, proposal: Proposal, now: datetime) -> Planned:
    given = orjson.loads(proposal.input)
    try:
        if proposal.kind == BASE_FEES:
            planned = planned_fees(connection, FeeEdit.of_input(given), given["shown"])
        elif proposal.kind == SEVERAL:
            planned = planned_edits(connection, Edits.of_input(given), now)
        else:
            planned = planned_edit(connection, Edit(**given), now)
    except Conflict as refused:
        raise changed_since(proposal, refused.meanwhile) from None
    require_as_proposed(proposal, audited(planned.changes))
    return planned
