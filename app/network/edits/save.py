"""Every change of the tables is made here: previewed, saved at once, or proposed to a second operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Protocol

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection

from app.accounts.rules.two_persons import TwoPersons
from app.accounts.services.planned_changes import PlannedChange
from app.accounts.services.proposals import LONGEST_REASON, carry_out
from app.audit.keys import AuditKeys
from app.audit.previews import Effect, Preview
from app.audit.rules.records import Actor
from app.audit.services import DETAIL_LENGTH, Saved, fingerprint, record, require_unchanged
from app.cooperation import in_turns
from app.db.database import Database
from app.db.engine import reading_consistently, writing
from app.network.changes import Change, apply, audited, in_brief
from app.network.edits.refusals import RatesMoved, counted
from app.network.edits.tried_routes import Trials, are_worse, names_in, risks_of, risky, shown
from app.network.sections import SECTIONS, Row
from app.values.amounts import grouped
from app.values.texts import one_line

Rows = Mapping[str, list[Row]]
"""Rows by section."""

_SWITCHES: Final = {
    "chains": ({"disabled"}, {"disabled_reason"}),
    "tokens": ({"xfer_disabled", "pool_disabled", "transfer_disabled"}, set[str]()),
}
"""By section: the columns that stop something when they are true, and the notes that may change with them."""

_BLOCKS: Final = ("route_blocks", "blocked_addresses", "blocked_networks")
_NOTES_OF_BLOCKS: Final = {"reason", "source", "expires_at"}


def sections_that_wait(rule: TwoPersons, changes: Iterable[Change]) -> list[str]:
    """The guarded sections that the changes are about, in the document's order.

    A change that only stops something is not guarded: an incident cannot wait for a second person.
    """
    found = {c.section.name for c in changes if rule.guards(c.section.name) and not only_stops(c)}
    return [section.name for section in SECTIONS if section.name in found]


def only_stops(change: Change) -> bool:
    """Whether the change only stops a chain or a token, or blocks something, or blocks it for longer.

    With any other change it is no stop: otherwise a stop could hide a new contract from the second person.
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
    """Whether a block lasts longer or stops the way back, too, and only its notes changed otherwise."""
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


def _needs_typed(changes: Sequence[Change], trials: Trials) -> str | None:
    """What to type before the changes are saved, if anything.

    It is the name of a stopped chain, or how many are stopped; otherwise the symbol of routes whose rate is
    far from 1, or how many such routes there are.
    """
    stopped = [change.row["name"] for change in changes if stops(change)]
    if stopped:
        return stopped[0] if len(stopped) == 1 else f"stop {counted(len(stopped), 'chain')}"
    routes = risky(trials)
    symbols = sorted({key.symbol for key in routes})
    if symbols:
        return symbols[0] if len(symbols) == 1 else f"change {counted(len(routes), 'rate')}"
    return None


def stops(change: Change) -> bool:
    """Whether a chain that was running is stopped."""
    if change.section.name != "chains" or change.before is None or change.after is None:
        return False
    return bool(change.after["disabled"] and not change.before["disabled"])


_REASON: Final = "; note: "
"""Before the reason of a record (docs/audit.md). A sentence may name the column ``reason`` of a block."""


class Shown(Struct, frozen=True):
    """Values that a change of several rows depends on, and their fingerprint as the operator was shown them.

    ``shown`` is None where the change does not depend on them. ``subject`` names them in a message.
    """

    subject: str
    shown: str | None
    now: Mapping[str, Any]


Effects = Callable[[Connection, "NetworkChange", datetime], Iterable[Effect]]


class Description(Struct, frozen=True):
    """A change of the network, without its rows.

    ``kind`` is the name of the command and ``given`` its input, for proposals. ``action`` is what the audit
    log calls it, ``words`` what it does, where its rows do not say all of it, ``about`` the subject of the
    record; empty: the row, or the number of rows. ``seen`` are other values that it depends on.
    """

    kind: str
    given: Mapping[str, Any]
    action: str
    effects: Effects
    words: str = ""
    about: str = ""
    seen: Shown | None = None


class NetworkChange(PlannedChange, frozen=True, kw_only=True):
    """A change of the network, planned from the present rows, wherever it was requested.

    ``rows`` are the rows that it changes. ``before`` and ``after`` are the rows of every section except
    blocked accounts and networks, where effects depend on them. ``trials`` are those of the routes that it
    opens or changes. ``detail`` is the text of its audit record, ``reason`` why it is made.
    """

    described: Description
    rows: tuple[Change, ...]
    before: Rows
    after: Rows
    trials: Trials
    detail: str
    reason: str = ""

    def guarded(self, two_persons: TwoPersons) -> Sequence[str]:
        return sections_that_wait(two_persons, self.rows)

    def run(
        self, connection: Connection, database: Database, audit_keys: AuditKeys, actor: Actor, by: str = ""
    ) -> Saved:
        """Write the rows, raise the versions, validate stored events again, and add one audit record."""
        now = database.clock()
        apply(connection, self.rows, now)
        record_id = record(
            connection, audit_keys, actor, self.described.action, self.subject,
            now=now, detail=with_reason(": ".join(filter(None, (by, self.detail))), self.reason),
            changes=self.changes,
        )  # fmt: skip
        return Saved(self.sentences, record_id, brief=self.detail)

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(map(str, in_turns(self.rows)))

    @property
    def fingerprint(self) -> str:
        seen = self.described.seen
        return "" if seen is None else fingerprint(seen.now)

    def effects_on(self, connection: Connection, now: datetime) -> Iterable[Effect]:
        return self.described.effects(connection, self, now)

    def preview(self, connection: Connection, two_persons: TwoPersons, now: datetime) -> Preview:
        return replace(
            super().preview(connection, two_persons, now),
            trials=shown(self.trials, names_in(self.after)),
            risks=risks_of(self.trials),
        )

    def require_typed(self, typed: str, risks: str = "") -> None:
        super().require_typed(typed)
        if self.needs_typed is not None and risks and are_worse(self.trials, risks):
            raise RatesMoved

    def require_seen(self) -> None:
        """Check that what the change depends on is still as it was shown to the operator.

        :raises Conflict: with what changed meanwhile.
        """
        seen = self.described.seen
        if seen is not None and seen.shown is not None:
            require_unchanged(seen.subject, seen.shown, seen.now)


def network_change(
    described: Description, rows: Sequence[Change], before: Rows, after: Rows, trials: Trials
) -> NetworkChange:
    """The change of these rows, which every rule allows."""
    decimals = {(row["chain_id"], row["symbol"]): row["decimal"] for row in before.get("tokens", ())}
    single, words = (rows[0] if len(rows) == 1 else None), described.words
    several = f"{grouped(len(rows))} {rows[0].section.name}" if rows else ""
    return NetworkChange(
        kind=described.kind,
        input=described.given,
        described=described,
        rows=tuple(rows),
        before=before,
        after=after,
        trials=trials,
        changes=audited(rows),
        subject=described.about or (several if single is None else single.section.describe(single.row)),
        summary=words if words and single is None else in_brief(rows, decimals, done=False),
        detail=words or in_brief(rows, decimals),
        needs_typed=_needs_typed(rows, trials),
    )


class Command(Protocol):
    """A requested edit: of one row, of several, of fees, of chains, of blocks."""

    def planned(self, connection: Connection, now: datetime) -> NetworkChange:
        """The change that it makes to the present rows.

        :param connection: in a transaction with one consistent view; for a save, the writing one.
        :raises EditRefused: why it is refused (``Invalid``, ``Conflict``, ``InUse``).
        """


def preview_edit(database: Database, two_persons: TwoPersons, edit: Command) -> Preview:
    """Preview the edit. Nothing is written.

    :raises EditRefused: why it would be refused (``Invalid``, ``Conflict``, ``InUse``).
    """
    now = database.clock()
    with reading_consistently(database.engine) as connection:
        return edit.planned(connection, now).preview(connection, two_persons, now)


def save_edit(
    database: Database,
    audit_keys: AuditKeys,
    two_persons: TwoPersons,
    edit: Command,
    *,
    actor: Actor,
    typed: str = "",
    risks: str = "",
    reason: str = "",
) -> Saved:
    """Make the edit in one transaction and record it in the audit log.

    Where it waits for a second operator (``TWO_PERSONS``), it is stored as a proposal instead.

    :param typed: what was typed to confirm, where the preview requires a name.
    :param risks: those of the preview (``Preview.risks``); empty if nobody saw one.
    :param reason: why, for the audit log and the second operator; may be empty where none approves.
    :raises EditRefused: why it is refused (``Invalid``, ``Conflict``, ``InUse``, ``NotConfirmed``,
        ``ReasonMissing``); then nothing has changed.
    """
    with writing(database.engine) as connection:
        planned = replace(edit.planned(connection, database.clock()), reason=reason)
        planned.require_seen()
        planned.require_typed(typed, risks)
        return carry_out(connection, database, audit_keys, two_persons, actor, planned, reason=reason)


def with_reason(words: str, reason: str) -> str:
    """The sentence of an audit record with the operator's reason. The sentence is cut to make room."""
    line = one_line(reason)[:LONGEST_REASON]
    if not line:
        return words
    room = DETAIL_LENGTH - len(line) - len(_REASON)
    return f"{words if len(words) <= room else words[: room - 1] + '…'}{_REASON}{line}"
