"""A row as a form shows it, several rows edited as one, and several chains stopped at once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from msgspec import Struct, to_builtins
from msgspec.structs import replace
from sqlalchemy import Connection

from app.audit.services import fingerprint
from app.db.database import Database
from app.db.engine import reading, reading_consistently
from app.network.edits.plan import EDITABLE, SECTION_BY_NAME, Edit, plan_edits
from app.network.edits.preview import effects_of
from app.network.edits.refusals import FieldError, Invalid, counted
from app.network.edits.save import Description, NetworkChange, Shown
from app.network.handed_in import TRANSFER_USE
from app.network.models import Chain
from app.network.queries import load_rows, rows_with
from app.network.row_checks import PAIR_SIDES, sent_through
from app.network.sections import Row

KEY_REASON: Final = "it identifies the row. To change it, add a new row and remove this one"
COUNTED_REASON: Final = "opening values are set once; the event feed counts everything after that"


def locked_fields(database: Database, section: str, documented: Mapping[str, Any]) -> dict[str, str]:
    """The keys of the document that an edit of this row may not change, each with the reason.

    It is only for the form. A save makes its own checks (``plan_edits``).

    :param documented: the row as the document writes it.
    """
    of = EDITABLE[section]
    locked = dict.fromkeys(of.keys.values(), KEY_REASON)
    locked |= dict.fromkeys(of.opening, COUNTED_REASON)
    with reading_consistently(database.engine) as connection:
        locked |= _locked_by_transfers(connection, section, documented)
    return locked


def _locked_by_transfers(connection: Connection, section: str, row: Mapping[str, Any]) -> Iterator[Any]:
    use = TRANSFER_USE(connection)
    if section == "chains" and row["contract_addr"] and use.transfers_use_chain(connection, row["id"]):
        yield "contract_addr", "transfers use this chain, and their refunds are signed for its contract"
    if section == "tokens" and use.transfers_use_token(connection, row["chain_id"], row["symbol"]):
        for name in ("address", "decimal"):
            yield name, "transfers use this token, and their amounts and refunds depend on it"
    for side in PAIR_SIDES if section == "pegged_pairs" else ():
        if sent_through(connection, side, row, {None, row[side.own]}):
            for name in (side.own, side.version):
                yield name, "transfers in progress use this contract, and their refunds are signed for it"


class ShownRow(Struct, frozen=True):
    """A row for a form: its name, its values as the document writes them, and their fingerprint."""

    row: Row
    subject: str
    values: dict[str, Any]
    fingerprint: str

    @property
    def row_id(self) -> int:
        return int(self.row["id"])


def show_row(database: Database, section: str, row_id: int) -> ShownRow | None:
    """The row as it is now; None where there is none."""
    of = EDITABLE[section]
    with reading(database.reads) as connection:
        found = rows_with(connection, of.model, "id", [row_id])
    if not found:
        return None
    values = of.documented(found[0])
    return ShownRow(found[0], of.describe(found[0]), values, fingerprint(values))


SEVERAL: Final = "rows"
"""What proposals call several rows that are edited together."""


class Edits(Struct, frozen=True):
    """Edits that are made together or not at all.

    :param action: what the audit log calls it, such as ``network.connect``.
    :param words: what it does, in a few words.
    :param about: the subject of the audit record; empty: the row, or the number of rows.
    :param as_document: whether the rows come from a network document (``plan_edits``).
    """

    edits: tuple[Edit, ...]
    action: str
    words: str
    about: str = ""
    as_document: bool = False

    def planned(self, connection: Connection, now: datetime) -> NetworkChange:
        described = Description(SEVERAL, to_builtins(self), self.action, effects_of, self.words, self.about)
        return plan_edits(connection, described, self.edits, now, as_document=self.as_document)


_CHAINS = SECTION_BY_NAME["chains"]


class Switch(Struct, frozen=True):
    """Chains to stop, or with ``stop`` false to resume. Those in that state already do not change.

    :ivar shown: the fingerprint of the preview. A stop does not depend on it: another change of a chain
        meanwhile does not delay it.
    """

    chain_ids: frozenset[int]
    stop: bool
    reason: str = ""
    shown: str = ""

    def planned(self, connection: Connection, now: datetime) -> NetworkChange:
        """The change that the switch makes to the present rows.

        :raises Invalid: no chain would change its state.
        """
        rows = _rows(connection, self)
        chains = {_CHAINS.describe(row): _CHAINS.documented(row) for row in rows}
        seen = Shown("one of the chains", None if self.stop else self.shown, chains)
        planned = _edits(rows, self).planned(connection, now)
        return replace(planned, described=replace(planned.described, seen=seen))


def _rows(connection: Connection, switch: Switch) -> list[Row]:
    rows = load_rows(connection, Chain)
    found = [
        row for row in rows if row["chain_id"] in switch.chain_ids and row["disabled"] is not switch.stop
    ]
    if not found:
        if not switch.chain_ids:
            raise Invalid([FieldError("", "Select at least one chain.")])
        state = "stopped" if switch.stop else "running"
        which = "The chain is" if len(switch.chain_ids) == 1 else "All of these chains are"
        raise Invalid([FieldError("", f"{which} already {state}.")])
    return found


def _edits(rows: Collection[Row], switch: Switch) -> Edits:
    values = {"disabled": True, "disabled_reason": switch.reason} if switch.stop else {"disabled": False}
    edits = tuple(Edit("chains", row["id"], values, fingerprint(_CHAINS.documented(row))) for row in rows)
    verb = "stop" if switch.stop else "resume"
    names = ", ".join(sorted((row["name"] for row in rows), key=str.casefold))
    words = f"{verb} {counted(len(rows), 'chain')}: {names}"
    if switch.stop:
        words += f"; reason: {' '.join(switch.reason.split())}"
    return Edits(edits, f"network.{verb}", words)
