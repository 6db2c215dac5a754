"""Every validator set that a chain has had, by version. Opening sets are configured; rotations come only from
the feed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any, Final, cast

from flask import abort, flash, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose
from msgspec import Struct
from sqlalchemy import Connection

from app.audit.previews import Preview
from app.audit.services import Conflict, Saved, fingerprint
from app.console.network.change_words import changes_page
from app.console.network.names import chain_names, chain_page, percent
from app.console.network.previewed import PreviewedForm, saved_or_previewed
from app.console.shell.access import ADMINISTER, READ
from app.console.shell.forms.fields import NoteField
from app.console.shell.forms.numbers import whole_digits
from app.console.shell.row_pages import LINES, some_rows
from app.console.shell.views import ConsoleView, after_saving, read
from app.db.database import Database
from app.db.engine import reading_consistently
from app.feed.queries.chains import load_chain_events
from app.http.application import current
from app.network.edits.connect import opening_edits, opening_set
from app.network.edits.entered import Edits
from app.network.edits.refusals import Invalid
from app.network.models.account_tables import CONTACT_LENGTH
from app.network.queries import load_contacts, load_opening_sets
from app.network.rules.quorum import ValidatorSet
from app.transfers.rules.events.event_types import ValidatorsUpdated
from app.values.amounts import PPM, grouped
from app.values.crypto import parse_evm_address
from app.values.identifiers import ChainId


class SetVersion(Struct, frozen=True):
    """A set, the event that reported it, and when. The opening set has version 0 and no event."""

    of: ValidatorSet
    current: bool
    at: datetime | None = None
    event_id: str | None = None

    @property
    def strongest(self) -> list[tuple[bytes, int, int]]:
        """The signers from the strongest on, with power and share in parts per million, rounded down."""
        total = self.of.total_power
        members = sorted(self.of.members, key=lambda member: (-member[1], member[0]))
        return [(signer, power, power * PPM // total if total else 0) for signer, power in members]


def validator_sets(database: Database, chain_id: ChainId, most: int | None = None) -> tuple[SetVersion, ...]:
    """The sets of a chain, the newest first; none where no validators are known.

    Rotations are the canonical ``validators.updated``, in the order in which the projection counts them.

    :param most: how many are wanted; None for all.
    """
    with reading_consistently(database.engine) as connection:
        opening = load_opening_sets(connection, chain_id)
        return tuple(islice(_versions(connection, chain_id, opening.get(chain_id)), most))


def _versions(
    connection: Connection, chain_id: ChainId, opening: ValidatorSet | None
) -> Iterator[SetVersion]:
    events = load_chain_events(connection, chain_id, [ValidatorsUpdated.type])
    rotations = sorted(cast("list[ValidatorsUpdated]", events), key=lambda event: event.order)
    for version, event in reversed(list(enumerate(rotations, start=1))):
        members = [
            (parse_evm_address(signer) or b"", power)
            for signer, power in zip(event.signers, event.powers, strict=True)
        ]
        found = ValidatorSet.of(chain_id, version, members)
        yield SetVersion(found, version == len(rotations), event.at, event.id)
    if opening is not None:
        yield SetVersion(opening, not rotations)


_MOST: Final = 1000


def _line(row: Mapping[str, Any]) -> str:
    who = ", ".join(text for text in (row.get("name", ""), row.get("contact", "")) if text)
    if row.get("contact") and not row.get("name"):
        who = f", {who}"
    return f"{row['signer']} {row['power']} {who}".rstrip()


class ValidatorsField(NoteField):
    """Signers with their powers."""

    def __init__(self, label: str, description: str = "", **kwargs: Any) -> None:
        help_text = (
            "One validator per line: the signer's address, a space, and its power. They sign the refunds on "
            "the chain. If known, add a name and, after a comma, a contact to call when the signature is "
            f"missing. Both count on every chain. {description}"
        )
        super().__init__(label, help_text, **kwargs)

    def members(self, chain_id: int) -> list[dict[str, Any]]:
        """The members as the document writes them. What is wrong is added to the errors of the input."""
        rows, errors = [], []
        for number, words in enumerate((line.split(maxsplit=2) for line in self.text.splitlines()), 1):
            if not words:
                continue
            power = whole_digits("".join(words[1:2]))
            name, _, contact = "".join(words[2:]).partition(",")
            who = {"name": name.strip(), "contact": contact.strip()}
            if power is None:
                errors.append(f"Line {number}: enter an address, a space, and a whole number.")
            elif max(map(len, who.values())) > CONTACT_LENGTH:
                errors.append(f"Line {number}: names and contacts have at most {CONTACT_LENGTH} characters.")
            else:
                known = {key: text for key, text in who.items() if text}
                rows.append({"chain_id": chain_id, "signer": words[0], "power": power} | known)
        if len(rows) > _MOST:
            errors.append(f"Enter at most {grouped(_MOST)} lines.")
        own: Any = self
        own.errors = [*own.errors, *errors]
        return rows


def _chain(chain: int) -> ChainId:
    """The chain of an address.

    :raises NotFound: there is none.
    """
    if chain not in chain_names():
        abort(404)
    return ChainId(chain)


class OpeningForm(PreviewedForm):
    """The opening set of a chain."""

    validators = ValidatorsField("Opening validators", "Leave empty if none is known.")


class ValidatorsView(ConsoleView):
    """The validators that sign refunds until a rotation is reported. The page of the chain shows them all."""

    section = ""
    access = {"index": READ, "sets": READ, "members": READ, "opening": ADMINISTER}

    @expose("/")
    def index(self) -> ResponseReturnValue:
        return redirect(url_for("chains.index_view"))

    @expose("/<int:chain>/sets")
    def sets(self, chain: int) -> str:
        found = some_rows(validator_sets(current(Database), _chain(chain)), LINES)
        return self.render("console/validators/sets.html", name=chain_names()[chain], chain=chain, page=found)

    @expose("/<int:chain>/sets/<int:version>")
    def members(self, chain: int, version: int) -> str:
        every = validator_sets(current(Database), _chain(chain))
        found = next((each for each in every if each.of.version == version), None)
        if found is None:
            abort(404)
        return self.render(
            "console/validators/members.html",
            name=chain_names()[chain],
            chain=chain,
            found=found,
            page=some_rows(found.strongest, LINES),
            contacts=read(load_contacts),
            percent=percent,
        )

    @expose("/<int:chain>/opening", methods=("GET", "POST"))
    def opening(self, chain: int) -> ResponseReturnValue:
        if chain not in chain_names():
            abort(404)
        form, shown = OpeningForm(), opening_set(current(Database), chain)
        seen = fingerprint({str(number): row for number, row in shown.items()})
        if request.method != "POST":
            form.fingerprint.data = seen
            form.validators.process_data("\n".join(map(_line, shown.values())))
            return self._opening_page(form, chain)
        wanted = form.validators.members(chain) if form.validate() else []
        if form.errors or form.back.data:
            return self._opening_page(form, chain)
        if form.fingerprint.data != seen:
            form.form_errors.append(
                "The set was changed while you were editing. Nothing was saved. Reload the page."
            )
            return self._opening_page(form, chain)
        return self._preview_or_save(form, chain, opening_edits(chain, shown, wanted))

    def _preview_or_save(self, form: OpeningForm, chain: int, edits: Edits) -> ResponseReturnValue:
        try:
            outcome = saved_or_previewed(form, edits)
        except Invalid as refused:
            form.validators.errors = [error.message for error in refused.first_of_each()]
            return self._opening_page(form, chain)
        except Conflict as refused:
            form.form_errors.append(f"{refused}. Nothing was saved.")
            return self._opening_page(form, chain)
        if isinstance(outcome, Saved):
            return after_saving(outcome, chain_page(chain, "validators"))
        if not outcome.changes:
            flash("Nothing was changed, so there is nothing to save.", "warning")
            return self._opening_page(form, chain)
        return self._opening_page(form, chain, outcome)

    def _opening_page(self, form: OpeningForm, chain: int, preview: Preview | None = None) -> str:
        return self.render(
            "console/network/opening.html",
            form=form,
            name=chain_names()[chain],
            preview=preview,
            page=changes_page(preview.audited) if preview else None,
            back=chain_page(chain, "validators"),
        )
