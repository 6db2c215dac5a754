"""Editing one row, or several as one: shown, previewed, saved or proposed with one audit record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Connection

from app.accounts.proposal import TwoPersons
from app.audit.services import fingerprint
from app.cooperation import in_turns
from app.db.database import Database
from app.db.engine import reading, reading_consistently
from app.network.changes import Change, audited, in_words
from app.network.edits.edit_effects import effects_of
from app.network.edits.planning import EDITABLE, Edit, plan_edits
from app.network.edits.results import Preview
from app.network.edits.saving import Planned, needs_typed, waits
from app.network.guards import PAIR_SIDES, sent_through
from app.network.queries import row_by_id
from app.network.sections import Section
from app.transfers.queries.usage import transfers_use_chain, transfers_use_token
from app.values.differences import difference

KEY_REASON: Final = "it identifies the row. To change it, add a new row and remove this one"
COUNTED_REASON: Final = "opening values are set once; the event feed counts everything after that"


def locked_fields(database: Database, section: str, documented: Mapping[str, Any]) -> dict[str, str]:
    """The keys of the document that an edit of this row may not change, each with the reason.

    This only helps the form. A save makes its own checks (``plan_edit``).

    :param documented: the row as the document writes it.
    """
    of = EDITABLE[section]
    locked = dict.fromkeys((_key(of, column) for column in of.key), KEY_REASON)
    locked |= dict.fromkeys(of.opening, COUNTED_REASON)
    with reading_consistently(database.engine) as connection:
        locked |= _locked_by_transfers(connection, section, documented)
    return locked


def _locked_by_transfers(connection: Connection, section: str, row: Mapping[str, Any]) -> Iterator[Any]:
    if section == "chains" and row["contract_addr"] and transfers_use_chain(connection, row["id"]):
        yield "contract_addr", "transfers use this chain, and their refunds are signed for its contract"
    if section == "tokens" and transfers_use_token(connection, row["chain_id"], row["symbol"]):
        for name in ("address", "decimal"):
            yield name, "transfers use this token, and their amounts and refunds depend on it"
    for side in PAIR_SIDES if section == "pegged_pairs" else ():
        if sent_through(connection, side, row, {None, row[side.own]}):
            for name in (side.own, side.version):
                yield name, "transfers in progress use this contract, and their refunds are signed for it"


def _key(section: Section, column: str) -> str:
    """The document's name of a column."""
    name: str = section.schema.fields[column].data_key or column
    return name


class ShownRow(Struct, frozen=True):
    """A row for a form: its name, its values as the document writes them, and their fingerprint."""

    row_id: int
    subject: str
    values: dict[str, Any]
    fingerprint: str


def show_row(database: Database, section: str, row_id: int) -> ShownRow | None:
    """The row as it is now; None where there is none."""
    of = EDITABLE[section]
    with reading(database.reads) as connection:
        row = row_by_id(connection, of.model, row_id)
    if row is None:
        return None
    values = of.documented(row)
    return ShownRow(row_id, of.describe(row), values, fingerprint(values))


SEVERAL: Final = "rows"
"""What proposals call several rows that are edited together."""


class Edits(Struct, frozen=True):
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

    def planned(self, connection: Connection, now: datetime) -> Planned:
        """What the edits come to, from the rows of now (``saving.Command``)."""
        changes = plan_edits(connection, self.edits, now, as_document=self.as_document).changes
        typed = needs_typed(changes)
        return Planned(SEVERAL, self.as_input(), self.action, changes, typed, self.words, self.about)

    @classmethod
    def of_input(cls, data: Mapping[str, Any]) -> Edits:
        """The edits that a proposal was made of."""
        edits = tuple(Edit(**each) for each in data["edits"])
        return cls(edits, data["action"], data["words"], data["about"], data["as_document"])


def preview_edit(database: Database, two_persons: TwoPersons, edit: Edit | Edits) -> Preview:
    """What the edit would do, or several together. Nothing is written.

    :raises EditRefused: why it would be refused (``Invalid``, ``Conflict``, ``InUse``).
    """
    now = database.clock()
    with reading_consistently(database.engine) as connection:
        plan = plan_edits(connection, edit.edits, now, as_document=edit.as_document)
        effects = tuple(effects_of(connection, plan, now, edit.values if isinstance(edit, Edit) else None))
    changes, told = plan.changes, tuple(audited(plan.changes))
    return Preview(
        edit.about or (told[0].subject if len(told) == 1 else in_words(changes)),
        tuple(map(str, in_turns(changes))),
        difference(told[0].before, told[0].after) if len(told) == 1 else (),
        effects,
        needs_typed(changes),
        waits(two_persons, changes),
        told,
    )


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
