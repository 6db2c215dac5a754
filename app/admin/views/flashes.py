"""Messages that are shown on the next page."""

from __future__ import annotations

from textwrap import shorten
from typing import Final

from flask import flash, redirect, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup

from app.admin.formats import sentence
from app.admin.forms.base import PreviewedForm
from app.domain.amounts import grouped
from app.services.audit.results import EditRefused, Saved
from app.services.network.edits.results import NotConfirmed

_LONGEST_FLASH: Final = 240


def flash_saved(saved: Saved) -> None:
    """Say what was done or proposed, with a way to the record of it."""
    if saved.record_id is None:
        flash("No differences to the current values. Nothing was saved.", "warning")
        return
    if saved.proposal_id is not None:
        flash("Proposed. The change takes effect when someone else approves it.", "success")
        return
    text = saved.brief or (
        saved.changes[0] if len(saved.changes) == 1 else f"{grouped(len(saved.changes))} changes"
    )
    text = shorten(text, _LONGEST_FLASH, placeholder=" …")
    link = url_for("audit.record", record_id=saved.record_id)
    flash(Markup('Done: {}. <a href="{}">Audit record {}</a>').format(text, link, saved.record_id), "success")


def after_saving(saved: Saved, url: str) -> ResponseReturnValue:
    """The page that follows a change: where it was proposed, that of the proposal."""
    flash_saved(saved)
    if saved.proposal_id is not None:
        return redirect(url_for("proposals.show", proposal_id=saved.proposal_id))
    return redirect(url)


def note_unconfirmed(form: PreviewedForm, refused: EditRefused) -> None:
    """Say beside the field what was not typed before a change was confirmed."""
    if isinstance(refused, NotConfirmed):
        form.typed.errors = [f"Type “{refused.needs_typed}” to confirm. Nothing was saved."]
    else:
        form.proposal_reason.errors = [f"{sentence(str(refused))} Nothing was saved."]


def confirmed(form: PreviewedForm) -> bool:
    """Whether a preview is confirmed; not where its amounts are others by now, which the next page says."""
    if form.confirm.data and not form.as_previewed:
        flash(
            "The decimals of a token were changed while you were editing. "
            "Nothing was saved: check the amounts.",
            "warning",
        )
        return False
    return bool(form.confirm.data)
