"""Messages that are shown on the next page."""

from __future__ import annotations

from typing import Final

from flask import flash, url_for
from markupsafe import Markup

from app.services.audit.results import Saved

_LONGEST_FLASH: Final = 240


def flash_saved(saved: Saved) -> None:
    """Say what was done, with a way to the record of it."""
    if saved.record_id is None:
        flash("Nothing was different any more: nothing was saved.", "warning")
        return
    text = saved.changes[0] if len(saved.changes) == 1 else f"{len(saved.changes):,} changes"
    text = text if len(text) <= _LONGEST_FLASH else f"{text[:_LONGEST_FLASH]}…"
    link = url_for("audit.record", record_id=saved.record_id)
    flash(Markup('Done: {}. <a href="{}">Audit record {}</a>').format(text, link, saved.record_id), "success")
