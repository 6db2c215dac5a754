"""Proposed edits of the network document: planned again from what the proposer entered."""

from __future__ import annotations

from datetime import datetime

import orjson
from sqlalchemy import Connection

from app.db.engine import reading_consistently
from app.domain.audit import Actor
from app.domain.proposals.proposal import ONE_ROW, Proposal
from app.runtime.gateway import Gateway
from app.services.approvals.same import changed_since, require_as_proposed
from app.services.audit.results import Conflict, Saved
from app.services.network.changes import audited
from app.services.network.edits.edit import planned_edit, preview_edit
from app.services.network.edits.fees import BASE_FEES, FeeEdit, FeesPreview, planned_fees, preview_fees
from app.services.network.edits.planning import Edit
from app.services.network.edits.results import Preview
from app.services.network.edits.saving import Planned, save_changes
from app.services.network.edits.several import SEVERAL, Edits, planned_edits, preview_edits


def preview_network(gateway: Gateway, proposal: Proposal) -> Preview | FeesPreview:
    """What the proposer was shown, from the rows of now.

    :raises EditRefused: it cannot be made any more: ``Conflict``, ``Invalid`` or ``InUse``.
    """
    with reading_consistently(gateway.engine) as connection:
        _plan_again(connection, proposal, gateway.clock())
    given = orjson.loads(proposal.input)
    if proposal.kind == SEVERAL:
        return preview_edits(gateway, Edits.of_input(given))
    if proposal.kind == ONE_ROW:
        return preview_edit(gateway, Edit(**given))
    return preview_fees(gateway, FeeEdit.of_input(given))


def make_network(
    connection: Connection, gateway: Gateway, proposal: Proposal, actor: Actor, typed: str
) -> Saved:
    """Make the proposed edit, in the writing transaction of its approval.

    :raises EditRefused: as for the preview; or ``NotConfirmed``.
    """
    planned = _plan_again(connection, proposal, gateway.clock())
    planned.require_typed(typed)
    return save_changes(connection, gateway, actor, planned, approved=proposal)


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
