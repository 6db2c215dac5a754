"""Editing one row: showing it, previewing the edit, saving it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from app.db.engine import reading, reading_consistently, writing
from app.domain.audit import Actor
from app.domain.difference import difference
from app.domain.proposals.proposal import ONE_ROW
from app.queries.network import row_by_id
from app.runtime.gateway import Gateway
from app.services.audit.fingerprint import fingerprint
from app.services.audit.results import Saved
from app.services.network.edits.effects import effects_of, needs_typed
from app.services.network.edits.planning import EDITABLE, Edit, plan_edit
from app.services.network.edits.results import Preview
from app.services.network.edits.saving import Planned, save_or_propose, waits


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A row for a form: its name, its values as the document writes them, and their fingerprint."""

    row_id: int
    subject: str
    values: dict[str, Any]
    fingerprint: str


def show_row(gateway: Gateway, section: str, row_id: int) -> ShownRow | None:
    """The row as it is now; None where there is none."""
    of = EDITABLE[section]
    with reading(gateway.reads) as connection:
        row = row_by_id(connection, of.model, row_id)
    if row is None:
        return None
    values = of.documented(row)
    return ShownRow(row_id, of.describe(row), values, fingerprint(values))


def preview_edit(gateway: Gateway, edit: Edit) -> Preview:
    """What the edit would do. Nothing is written.

    :raises EditRefused: why it would be refused (``Invalid``, ``Conflict``, ``InUse``).
    """
    now = gateway.clock()
    with reading_consistently(gateway.engine) as connection:
        planned = plan_edit(connection, edit, now)
        effects = tuple(effects_of(connection, planned.plan, now, edit.values))
    if planned.change is None:
        return Preview(planned.subject, (), (), ())
    audited = planned.change.audited
    return Preview(
        planned.subject,
        (str(planned.change),),
        difference(audited.before, audited.after),
        effects,
        needs_typed([planned.change]),
        waits(gateway, [planned.change]),
    )


def save_edit(
    gateway: Gateway, edit: Edit, *, actor: Actor, typed: str = "", reason: str = "", note: str = ""
) -> Saved:
    """Make the edit in one transaction and record it in the audit log.

    Where it waits for a second operator (``TWO_PERSONS``), it is kept as a proposal instead.

    :param typed: what was typed to confirm, where the preview asks for a name.
    :param reason: why, for the second operator.
    :param note: a remark for the audit log; may be empty.
    :raises EditRefused: why it is refused (``Invalid``, ``Conflict``, ``InUse``, ``NotConfirmed``,
        ``ReasonMissing``).
    """
    with writing(gateway.engine) as connection:
        planned = replace(planned_edit(connection, edit, gateway.clock()), note=note)
        planned.require_typed(typed)
        return save_or_propose(connection, gateway, actor, planned, reason)


def planned_edit(connection: Connection, edit: Edit, now: datetime) -> Planned:
    """What the edit comes to, from the rows of now.

    :param connection: in a transaction with one consistent view; for a save, the writing one.
    :raises EditRefused: ``Invalid``, ``Conflict`` or ``InUse``.
    """
    change = plan_edit(connection, edit, now).change
    if change is None:
        return Planned(ONE_ROW, edit.as_input(), "network.edit", ())
    action = "create" if change.before is None else "remove" if change.after is None else "edit"
    return Planned(ONE_ROW, edit.as_input(), f"network.{action}", (change,), needs_typed([change]))
