"""The one way of every edit into the tables: saved at once, or kept as a proposal for a second operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection

from app.domain.amounts import grouped
from app.domain.audit import Actor
from app.domain.proposals.proposal import Proposal
from app.queries.network import token_decimals
from app.runtime.gateway import Gateway
from app.services.audit.record import DETAIL_LENGTH, record
from app.services.audit.results import Saved
from app.services.network.changes import Change, Decimals, apply, audited, in_brief
from app.services.network.edits.results import NotConfirmed
from app.services.network.refold import FactsChanged, refold_after_network_change
from app.services.network.versions import raise_versions
from app.services.network.waiting import sections_that_wait
from app.services.proposals.results import SecondPersonNeeded
from app.services.proposals.store import Draft, propose

LONGEST_NOTE: Final = 500

_NOTE: Final = "; note: "


@dataclass(frozen=True, slots=True)
class Planned:
    """What an edit comes to now.

    ``kind`` and ``input`` are how it is planned again when somebody approves it; ``action`` is what the
    audit log calls it. ``needs_typed`` is a name that has to be typed before it is saved. ``words`` say
    what several changes together do, ``about`` what they are about, where it is not their number.
    ``note`` is a remark for the audit log.
    """

    kind: str
    input: Mapping[str, Any]
    action: str
    changes: Sequence[Change]
    needs_typed: str | None = None
    words: str = ""
    about: str = ""
    note: str = ""

    def summary(self, decimals: Decimals) -> str:
        """What it would do, in a sentence."""
        if len(self.changes) == 1 or not self.words:
            return in_brief(self.changes, decimals, done=False)
        return self.words

    @property
    def subject(self) -> str:
        """What it changes: one row by its name, several by their number."""
        first = self.changes[0]
        if self.about or len(self.changes) == 1:
            return self.about or first.section.describe(first.row)
        return f"{grouped(len(self.changes))} {first.section.name}"

    def require_typed(self, typed: str) -> None:
        """Make sure that the name was typed, in upper or lower case.

        :raises NotConfirmed: it was not.
        """
        if self.needs_typed is not None and not same_name(typed, self.needs_typed):
            raise NotConfirmed(self.needs_typed)


def same_name(typed: str, name: str) -> bool:
    """Whether a name was typed, whatever the case and the spaces around it and between its words."""
    return " ".join(typed.split()).casefold() == " ".join(name.split()).casefold()


def waits(gateway: Gateway, changes: Sequence[Change]) -> bool:
    """Whether the changes wait for a second operator."""
    return bool(sections_that_wait(gateway.two_persons, changes))


def save_or_propose(
    connection: Connection, gateway: Gateway, actor: Actor, planned: Planned, reason: str = ""
) -> Saved:
    """Make the planned changes; where they wait for a second operator, keep them as a proposal instead.

    :param reason: why, for the second operator.
    :raises ReasonMissing: they wait, and no reason is given.
    """
    if not planned.changes:
        return Saved((), None)
    if not waits(gateway, planned.changes):
        return save_changes(connection, gateway, actor, planned)
    draft = Draft(
        kind=planned.kind,
        section=sections_that_wait(gateway.two_persons, planned.changes)[0],
        subject=planned.subject,
        summary=planned.summary(token_decimals(connection)),
        input=planned.input,
        changes=audited(planned.changes),
    )
    return propose(connection, gateway, actor, draft, reason)


def save_changes(
    connection: Connection,
    gateway: Gateway,
    actor: Actor,
    planned: Planned,
    approved: Proposal | None = None,
) -> Saved:
    """Write checked changes, raise the versions, judge kept events again, and add one audit record.

    :param approved: the proposal that the actor approves, where the changes were proposed.
    :raises SecondPersonNeeded: the changes wait, and no proposal of them is approved.
    """
    changes, now = planned.changes, gateway.clock()
    waiting = sections_that_wait(gateway.two_persons, changes)
    if waiting and approved is None:
        raise SecondPersonNeeded(waiting)
    _write(connection, changes, now)
    by_two = f"{approved.by_two(actor.name)}: " if approved else ""
    words = planned.words or in_brief(changes, token_decimals(connection))
    record_id = record(
        connection,
        gateway.audit_keys,
        actor,
        planned.action,
        planned.subject,
        now=now,
        detail=with_note(by_two + words, planned.note),
        changes=audited(changes),
    )
    return Saved(tuple(map(str, changes)), record_id, brief=words)


def with_note(words: str, note: str) -> str:
    """The sentence of an audit record with the operator's note, for which the sentence is cut."""
    line = " ".join(note.replace("\0", " ").split())[:LONGEST_NOTE]
    if not line:
        return words
    room = DETAIL_LENGTH - len(line) - len(_NOTE)
    return f"{words if len(words) <= room else words[: room - 1] + '…'}{_NOTE}{line}"


def _write(connection: Connection, changes: Sequence[Change], now: datetime) -> None:
    apply(connection, changes, now)
    raise_versions(connection, {change.section.part for change in changes}, now)
    refold_after_network_change(connection, FactsChanged.by(changes), now)
