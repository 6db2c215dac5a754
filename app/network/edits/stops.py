"""Stopping several chains at once, and putting them into service again."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection

from app.audit.services import fingerprint
from app.network.edits.planning import SECTION_BY_NAME, Edit
from app.network.edits.results import FieldError, Invalid, counted
from app.network.edits.rows import Edits
from app.network.edits.saving import NetworkChange, Shown
from app.network.models import Chain
from app.network.queries import load_rows
from app.network.sections import Row

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
        """The change that the switch makes to the present rows (``saving.Command``).

        :raises Invalid: no chain would change its state.
        """
        rows = _rows(connection, self)
        chains = {_CHAINS.describe(row): _CHAINS.documented(row) for row in rows}
        seen = Shown("one of the chains", None if self.stop else self.shown, chains)
        planned = _edits(rows, self).planned(connection, now)
        return replace(planned, described=replace(planned.described, seen=seen))


def _rows(connection: Connection, switch: Switch) -> list[Row]:
    """The chains that the switch changes."""
    rows = load_rows(connection, Chain)
    found = [
        row for row in rows if row["chain_id"] in switch.chain_ids and row["disabled"] is not switch.stop
    ]
    if not found:
        if not switch.chain_ids:
            raise Invalid([FieldError("", "Select at least one chain.")])
        state = "stopped" if switch.stop else "running"
        raise Invalid([FieldError("", f"All of these chains are already {state}.")])
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
