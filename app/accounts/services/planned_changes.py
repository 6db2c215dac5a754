"""A change that a command plans: previewed, and made at once or after a second person approved it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection

from app.accounts.rules.two_persons import TwoPersons
from app.audit.keys import AuditKeys
from app.audit.previews import Effect, Preview
from app.audit.rules.records import Actor, AuditedChange
from app.audit.services import NotConfirmed, Saved
from app.db.database import Database
from app.values.differences import difference


def same_name(typed: str, name: str) -> bool:
    """Whether a name was typed, whatever the case and the spaces around it and between its words."""
    return " ".join(typed.split()).casefold() == " ".join(name.split()).casefold()


class PlannedChange(Struct, frozen=True, kw_only=True):
    """A change planned from a command's input and the current rows; it may wait for a second person.

    ``kind`` is the name of the command, which plans it again from ``input`` when somebody approves it.
    ``needs_typed`` is a name that has to be typed before it is made.
    """

    kind: str
    subject: str
    summary: str
    input: Mapping[str, Any]
    changes: Sequence[AuditedChange]
    secret: str | None = None
    needs_typed: str | None = None

    def guarded(self, two_persons: TwoPersons) -> Sequence[str]:
        """The sections for which it waits for a second person; a proposal names the first."""
        raise NotImplementedError

    def run(
        self, connection: Connection, database: Database, audit_keys: AuditKeys, actor: Actor, by: str = ""
    ) -> Saved:
        """Make the change, in a writing transaction, for a caller who is permitted to.

        :param by: who proposed and approved it: the prefix of the record's detail.
        """
        raise NotImplementedError

    @property
    def sentences(self) -> tuple[str, ...]:
        """Its changes, one sentence each."""
        return (self.summary,)

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the values that it is based on, for its form; empty if each row has its own."""
        return ""

    def effects_on(self, connection: Connection, now: datetime) -> Iterable[Effect]:
        """Its effects, from the same view of the database as the plan."""
        raise NotImplementedError

    def preview(self, connection: Connection, two_persons: TwoPersons, now: datetime) -> Preview:
        single = self.changes[0] if len(self.changes) == 1 else None
        return Preview(
            subject=self.subject,
            changes=self.sentences,
            differences=() if single is None else difference(single.before, single.after),
            effects=tuple(self.effects_on(connection, now)),
            needs_typed=self.needs_typed,
            waits=bool(self.guarded(two_persons)),
            audited=tuple(self.changes),
            fingerprint=self.fingerprint,
        )

    def require_typed(self, typed: str, risks: str = "") -> None:
        """Make sure that the name was typed, in upper or lower case.

        :param risks: what was shown with it (``Preview.risks``); empty is not compared.
        :raises NotConfirmed: it was not.
        """
        if self.needs_typed is not None and not same_name(typed, self.needs_typed):
            raise NotConfirmed(self.needs_typed)


class AdministeredChange(PlannedChange, frozen=True, kw_only=True):
    """A change of accounts, tokens or keys.

    ``write`` makes it and returns the id of its audit record; None where nothing changed. Its last argument
    is the prefix of the record's detail.
    """

    section: str
    effects: Sequence[Effect] = ()
    write: Callable[[Connection, Database, AuditKeys, Actor, str], int | None]

    def guarded(self, two_persons: TwoPersons) -> Sequence[str]:
        return [self.section] if two_persons.guards(self.section) else []

    def run(
        self, connection: Connection, database: Database, audit_keys: AuditKeys, actor: Actor, by: str = ""
    ) -> Saved:
        return Saved(self.sentences, self.write(connection, database, audit_keys, actor, by))

    def effects_on(self, connection: Connection, now: datetime) -> Iterable[Effect]:
        return self.effects
