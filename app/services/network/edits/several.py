"""Several rows edited as one: previewed, saved or proposed together, with one audit record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection

from app.cooperation import in_turns
from app.db.engine import reading_consistently, writing
from app.domain.audit import Actor
from app.runtime.gateway import Gateway
from app.services.audit.results import Saved
from app.services.network.changes import Change, audited, in_words
from app.services.network.edits.effects import effects_of, needs_typed
from app.services.network.edits.planning import Edit, plan_edits
from app.services.network.edits.results import Preview
from app.services.network.edits.saving import Planned, save_or_propose, waits

SEVERAL: Final = "rows"
"""What proposals call several rows that are edited together."""


@dataclass(frozen=True, slots=True)
class Edits:
    """Edits that are made together or not at all.

    :param action: what the audit log calls it, such as ``network.connect``.
    :param words: what it does, in a few words.
    :param about: the subject of the audit record; empty: the row, or the number of rows.
    :param as_document: whether the rows come from a network document (``planning.plan_edits``).
    """

    edits: tuple[Edit, ...]
    action: str
    words: str
    about: str = ""
    as_document: bool = False

    def as_input(self) -> dict[str, Any]:
        """The edits for a proposal."""
        return {
            "edits": [edit.as_input() for edit in self.edits],
            "action": self.action,
            "words": self.words,
            "about": self.about,
            "as_document": self.as_document,
        }

    @classmethod
    def of_input(cls, data: Mapping[str, Any]) -> Edits:
        """The edits that a proposal was made of."""
        edits = tuple(Edit(**each) for each in data["edits"])
        return cls(edits, data["action"], data["words"], data["about"], data["as_document"])


def preview_edits(gateway: Gateway, edits: Edits) -> Preview:
    """What the edits would do together. Nothing is written.

    :raises EditRefused: why they would be refused (``Invalid``, ``Conflict``, ``InUse``).
    """
    now = gateway.clock()
    with reading_consistently(gateway.engine) as connection:
        plan = plan_edits(connection, edits.edits, now, as_document=edits.as_document)
        effects = tuple(effects_of(connection, plan, now))
    changes = plan.changes
    return Preview(
        edits.about or in_words(changes),
        tuple(map(str, in_turns(changes))),
        (),
        effects,
        needs_typed(changes),
        waits(gateway, changes),
        tuple(audited(changes)),
    )


def save_edits(
    gateway: Gateway, edits: Edits, *, actor: Actor, typed: str = "", reason: str = "", note: str = ""
) -> Saved:
    """Make the edits in one transaction, with one audit record; or propose them, where any of them waits.

    :param typed: what was typed to confirm, where the preview asks for a name.
    :param reason: why, for the second operator.
    :param note: a remark for the audit log; may be empty.
    :raises EditRefused: why they are refused; then nothing has changed.
    """
    with writing(gateway.engine) as connection:
        planned = replace(planned_edits(connection, edits, gateway.clock()), note=note)
        planned.require_typed(typed)
        return save_or_propose(connection, gateway, actor, planned, reason)


def planned_edits(connection: Connection, edits: Edits, now: datetime) -> Planned:
    """What the edits come to, from the rows of now.

    :param connection: in a transaction with one consistent view; for a save, the writing one.
    :raises EditRefused: ``Invalid``, ``Conflict`` or ``InUse``.
    """
    changes = plan_edits(connection, edits.edits, now, as_document=edits.as_document).changes
    typed = needs_typed(changes)
    return Planned(SEVERAL, edits.as_input(), edits.action, changes, typed, edits.words, edits.about)


def edits_of(changes: Sequence[Change], shown: Mapping[str, str]) -> tuple[Edit, ...]:
    """Changes as edits that can be planned again.

    :param shown: the fingerprint of each row that is edited, by its name.
    """
    return tuple(
        Edit(
            change.section.name,
            None if change.before is None else change.before["id"],
            None if change.after is None else change.section.written_out(change.after),
            None if change.before is None else shown[change.section.describe(change.before)],
        )
        for change in in_turns(changes)
    )
