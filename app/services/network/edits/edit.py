"""Editing one row: showing it, previewing the edit, saving it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from app.domain.audit import Actor
from app.domain.difference import difference
from app.models.engine import reading, reading_consistently, writing
from app.queries.network.rows import row_by_id
from app.runtime.gateway import Gateway
from app.services.audit.fingerprint import fingerprint
from app.services.audit.record import record
from app.services.audit.results import Saved
from app.services.network.changes import Change, apply, in_words
from app.services.network.edits.effects import effects_of, needs_typed
from app.services.network.edits.planning import EDITABLE, Edit, plan_edit
from app.services.network.edits.results import NotConfirmed, Preview
from app.services.network.refold import FactsChanged, refold_after_network_change
from app.services.network.versions import raise_versions


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
    with reading_consistently(gateway.engine) as connection:
        plan = plan_edit(connection, edit)
        effects = tuple(effects_of(connection, plan, gateway.clock()))
    if plan.change is None:
        return Preview(plan.subject, (), (), ())
    audited = plan.change.audited
    return Preview(
        plan.subject,
        (str(plan.change),),
        difference(audited.before, audited.after),
        effects,
        needs_typed(plan.change),
    )


def save_edit(gateway: Gateway, edit: Edit, *, actor: Actor, typed: str = "") -> Saved:
    """Make the edit in one transaction and record it in the audit log.

    :param typed: what was typed to confirm, where the preview asks for a name.
    :raises EditRefused: why it is refused (``Invalid``, ``Conflict``, ``InUse``, ``NotConfirmed``).
    """
    with writing(gateway.engine) as connection:
        plan = plan_edit(connection, edit)
        name = needs_typed(plan.change)
        if name is not None and typed.strip() != name:
            raise NotConfirmed(name)
        if plan.change is None:
            return Saved((), None)
        action = "create" if plan.change.before is None else "remove" if plan.change.after is None else "edit"
        return save_changes(connection, gateway, actor, f"network.{action}", [plan.change])


def save_changes(
    connection: Connection, gateway: Gateway, actor: Actor, action: str, changes: Sequence[Change]
) -> Saved:
    """Write checked changes, raise the versions, judge kept events again, and add one audit record."""
    now: datetime = gateway.clock()
    apply(connection, changes, now)
    raise_versions(connection, {change.section.part for change in changes}, now)
    refold_after_network_change(connection, FactsChanged.by(changes), now)
    first = changes[0].section
    subject = first.describe(changes[0].row) if len(changes) == 1 else f"{len(changes):,} {first.name}"
    record_id = record(
        connection,
        gateway.audit_keys,
        actor,
        action,
        subject,
        now=now,
        detail=in_words(changes),
        changes=[change.audited for change in changes],
    )
    return Saved(tuple(map(str, changes)), record_id)
