"""The form of a change that is shown before it is saved, and its save once it is confirmed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask import flash
from wtforms import HiddenField, StringField, SubmitField

from app.accounts.rules.two_persons import TwoPersons
from app.accounts.services.proposals import ReasonMissing, TooManyProposals
from app.audit.keys import AuditKeys
from app.audit.previews import Preview
from app.audit.services import NotConfirmed, Saved
from app.console.network.amount_fields import WithUnit
from app.console.shell.caller import actor
from app.console.shell.formats import sentence
from app.console.shell.forms.fields import FieldIds, TextValueField
from app.console.shell.forms.form import REASON, ConsoleForm, lines_of
from app.console.shell.row_pages import ROWS_OF
from app.db.database import Database
from app.http.application import current
from app.network.edits.refusals import RatesMoved
from app.network.edits.save import Command, preview_edit, save_edit


class PreviewedForm(ConsoleForm):
    """A form whose effects are shown before they are saved: it is sent for the preview, then again to save.

    ``fingerprint`` identifies what the operator was shown (``audit/services.py``); its data is
    None where none was sent. ``typed`` is the name that sensitive changes require to be typed,
    ``risks`` sums up the rates that it confirms (``Preview.risks``), ``change_reason`` is why the change is
    made, for the audit log and a second operator.
    ``rows`` names the page of rows that a preview of many shows (``console/shell/row_pages.py``).
    ``decimals_shown`` are the decimals used by the preview; empty before the preview.
    """

    Meta = FieldIds
    fingerprint = HiddenField(name="seen")
    rows = HiddenField(name=ROWS_OF)
    decimals_shown = HiddenField()
    change_reason = StringField(**REASON)
    confirm = SubmitField()
    back = SubmitField()
    typed = StringField(render_kw={"autocomplete": "off", "spellcheck": "false"})
    risks = HiddenField()

    def texts(self) -> dict[str, str]:
        decimals = self._decimals()
        return super().texts() | ({self.decimals_shown.name: decimals} if decimals else {})

    row: Mapping[str, Any] = {}
    """The row that is edited; empty where none is, or a new one."""

    @property
    def has_own_reason(self) -> bool:
        """Whether the added row has its own reason, as a block has: then the form requests no other."""
        return "reason" in self and not self.row

    @property
    def as_previewed(self) -> bool:
        """Whether the amounts that are confirmed are those of the preview.

        They are sent in whole tokens, whose decimals somebody may have changed since.
        """
        return self.decimals_shown.data in (None, "", self._decimals())

    def _decimals(self) -> str:
        units = {
            line.name: line.unit.unit.decimals for line in self.open_lines() if isinstance(line, WithUnit)
        }
        return " ".join(f"{name}:{decimals}" for name, decimals in units.items())

    def fixed(self) -> dict[str, list[TextValueField]]:
        """The inputs that cannot be changed, by the reason."""
        found: dict[str, list[TextValueField]] = {}
        for field in self:
            if field.short_name in self.locked:
                found.setdefault(self.locked[field.short_name], []).extend(lines_of(field))
        return found


def saved(form: PreviewedForm, edit: Command, *, at_once: bool = False) -> Saved | None:
    """Make an edit whose preview is confirmed. None where it is not, or with an error: the form has it then.

    :param at_once: no confirmation is needed, as the page of the form has shown the effects.
    :raises EditRefused: why it is refused.
    """
    if not (at_once or _confirmed(form)):
        return None
    try:
        return save_edit(
            current(Database), current(AuditKeys), current(TwoPersons), edit,
            actor=actor(), typed=form.typed.data or "", risks=form.risks.data or "",
            reason=form.change_reason.data or "",
        )  # fmt: skip
    except NotConfirmed as refused:
        form.typed.errors = [f"Type “{refused.needs_typed}” to confirm. Nothing was saved."]
    except RatesMoved as refused:
        form.typed.errors = [f"{sentence(str(refused))} Nothing was saved."]
    except (ReasonMissing, TooManyProposals) as refused:
        form.change_reason.errors = [f"{sentence(str(refused))} Nothing was saved."]
    return None


def previewed(form: PreviewedForm, edit: Command) -> Preview:
    """Preview the edit. The form gets the input of a name that has to be typed.

    :raises EditRefused: why it would be refused.
    """
    preview = preview_edit(current(Database), current(TwoPersons), edit)
    if preview.needs_typed:
        form.typed.label.text = f"Type “{preview.needs_typed}” to confirm"
    if not preview.waits:
        form.change_reason.description = "Optional. Stored in the audit log."
    return preview


def saved_or_previewed(form: PreviewedForm, edit: Command) -> Saved | Preview:
    """The result of the edit if its preview is confirmed, otherwise the preview.

    :raises EditRefused: why it is refused, or would be.
    """
    return saved(form, edit) or previewed(form, edit)


def _confirmed(form: PreviewedForm) -> bool:
    """Whether a preview is confirmed. Not where its amounts have changed since: the next page says so."""
    if form.confirm.data and not form.as_previewed:
        flash(
            "The decimals of a token were changed while you were editing. "
            "Nothing was saved: check the amounts.",
            "warning",
        )
        return False
    return bool(form.confirm.data)
