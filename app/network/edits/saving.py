"""The one way of every edit into the tables: saved at once, or kept as a proposal for a second operator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Protocol

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection

from app.accounts.proposal import Proposal, TwoPersons
from app.accounts.services.proposals import Draft, SecondPersonNeeded, propose
from app.audit.keys import AuditKeys
from app.audit.records import Actor
from app.audit.services import DETAIL_LENGTH, Saved, record
from app.db.database import Database
from app.db.engine import writing
from app.network.changes import Change, Decimals, apply, audited, in_brief
from app.network.edits.results import NotConfirmed, counted
from app.network.queries import token_decimals
from app.network.sections import SECTIONS, Row
from app.values.amounts import grouped

_SWITCHES: Final = {
    "chains": ({"disabled"}, {"disabled_reason"}),
    "tokens": ({"xfer_disabled", "pool_disabled", "transfer_disabled"}, set[str]()),
}
"""By section: the columns that stop more when they are true, and the notes that may change with them."""

_BLOCKS: Final = ("route_blocks", "blocked_addresses", "blocked_networks")
_NOTES_OF_BLOCKS: Final = {"reason", "source", "expires_at"}


def sections_that_wait(rule: TwoPersons, changes: Iterable[Change]) -> list[str]:
    """The guarded sections that the changes are about, in the document's order.

    A change that only stops something is none of them: an incident does not wait for a second person.
    """
    found = {c.section.name for c in changes if rule.guards(c.section.name) and not only_stops(c)}
    return [section.name for section in SECTIONS if section.name in found]


def only_stops(change: Change) -> bool:
    """Whether all that the change does is to stop a chain or a token, or to block something, or for longer.

    Together with anything else it is no stop: otherwise a new contract could slip in beside one.
    """
    section, before, after = change.section.name, change.before, change.after
    if after is None:
        return False
    if before is None:
        return section in _BLOCKS
    if section in _BLOCKS:
        return _blocks_more(set(change.columns), before, after)
    if section == "pegged_pairs":
        return _stops_pair(change.columns, before, after)
    if section not in _SWITCHES:
        return False
    switches, notes = _SWITCHES[section]
    turned = switches.intersection(change.columns)
    return bool(turned) and all(after[switch] for switch in turned) and set(change.columns) <= turned | notes


def _blocks_more(columns: set[str], before: Row, after: Row) -> bool:
    """Whether a block lasts longer, or stops the way back, too, and nothing but its notes changed with it."""
    ends, ended = after["expires_at"], before["expires_at"]
    longer = ended is not None and (ends is None or ends > ended)
    shorter = "expires_at" in columns and not longer
    wider = "both_directions" in columns and after["both_directions"]
    notes = _NOTES_OF_BLOCKS | ({"both_directions"} if wider else set())
    return (longer or wider) and not shorter and columns <= notes


def _stops_pair(columns: Iterable[str], before: Row, after: Row) -> bool:
    """Whether the pair's switch was turned on, on either side, and nothing else changed."""
    sides = set(columns)
    return sides <= {"org_token", "pegged_token"} and all(
        after[side] == before[side] | {"xfer_disabled": True} for side in sides
    )


def needs_typed(changes: Sequence[Change]) -> str | None:
    """What to type before the changes are saved: the name of a chain that is stopped, or how many are."""
    stopped = [change.row["name"] for change in changes if stops(change)]
    if len(stopped) < 2:
        return stopped[0] if stopped else None
    return f"stop {counted(len(stopped), 'chain')}"


def stops(change: Change) -> bool:
    """Whether a chain that was running is stopped."""
    if change.section.name != "chains" or change.before is None or change.after is None:
        return False
    return bool(change.after["disabled"] and not change.before["disabled"])


LONGEST_NOTE: Final = 500

_NOTE: Final = "; note: "


class Planned(Struct, frozen=True):
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


class Command(Protocol):
    """An edit that somebody requests: of one row, of several, of fees, of chains, of what is blocked."""

    def planned(self, connection: Connection, now: datetime) -> Planned:
        """What it comes to, from the rows of now.

        :param connection: in a transaction with one consistent view; for a save, the writing one.
        :raises EditRefused: why it is refused (``Invalid``, ``Conflict``, ``InUse``).
        """


def save_edit(
    database: Database,
    audit_keys: AuditKeys,
    two_persons: TwoPersons,
    edit: Command,
    *,
    actor: Actor,
    typed: str = "",
    reason: str = "",
    note: str = "",
) -> Saved:
    """Make the edit in one transaction and record it in the audit log.

    Where it waits for a second operator (``TWO_PERSONS``), it is stored as a proposal instead.

    :param typed: what was typed to confirm, where the preview asks for a name.
    :param reason: why, for the second operator.
    :param note: a remark for the audit log; may be empty.
    :raises EditRefused: why it is refused (``Invalid``, ``Conflict``, ``InUse``, ``NotConfirmed``,
        ``ReasonMissing``); then nothing has changed.
    """
    with writing(database.engine) as connection:
        planned = replace(edit.planned(connection, database.clock()), note=note)
        planned.require_typed(typed)
        return save_or_propose(connection, database, audit_keys, two_persons, actor, planned, reason)


def same_name(typed: str, name: str) -> bool:
    """Whether a name was typed, whatever the case and the spaces around it and between its words."""
    return " ".join(typed.split()).casefold() == " ".join(name.split()).casefold()


def waits(two_persons: TwoPersons, changes: Sequence[Change]) -> bool:
    """Whether the changes wait for a second operator."""
    return bool(sections_that_wait(two_persons, changes))


def save_or_propose(
    connection: Connection,
    database: Database,
    audit_keys: AuditKeys,
    two_persons: TwoPersons,
    actor: Actor,
    planned: Planned,
    reason: str = "",
) -> Saved:
    """Make the planned changes; where they wait for a second operator, keep them as a proposal instead.

    :param reason: why, for the second operator.
    :raises ReasonMissing: they wait, and no reason is given.
    """
    if not planned.changes:
        return Saved((), None)
    if not waits(two_persons, planned.changes):
        return save_changes(connection, database, audit_keys, two_persons, actor, planned)
    draft = Draft(
        kind=planned.kind,
        section=sections_that_wait(two_persons, planned.changes)[0],
        subject=planned.subject,
        summary=planned.summary(token_decimals(connection)),
        input=planned.input,
        changes=audited(planned.changes),
    )
    return propose(connection, database, audit_keys, two_persons, actor, draft, reason)


def save_changes(
    connection: Connection,
    database: Database,
    audit_keys: AuditKeys,
    two_persons: TwoPersons,
    actor: Actor,
    planned: Planned,
    approved: Proposal | None = None,
) -> Saved:
    """Write checked changes, raise the versions, judge kept events again, and add one audit record.

    :param approved: the proposal that the actor approves, where the changes were proposed.
    :raises SecondPersonNeeded: the changes wait, and no proposal of them is approved.
    """
    changes, now = planned.changes, database.clock()
    waiting = sections_that_wait(two_persons, changes)
    if waiting and approved is None:
        raise SecondPersonNeeded(waiting)
    apply(connection, changes, now)
    by_two = f"{approved.by_two(actor.name)}: " if approved else ""
    words = planned.words or in_brief(changes, token_decimals(connection))
    record_id = record(
        connection,
        audit_keys,
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
