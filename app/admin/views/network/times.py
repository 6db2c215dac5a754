"""The time that a page is asked for."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from flask import flash, request

from app.admin.forms.moments import written_time
from app.runtime.gateway import current_gateway
from app.services.fields import read_time

_LONGEST: Final = 64


def typed_time() -> tuple[str, datetime | None]:
    """The time in the address as it was typed, and as it is read; None, with a message, where it is none."""
    text = request.args.get("time", "").replace("\0", "").strip()[:_LONGEST]
    written = written_time(text)
    if written is None:
        return text, None
    try:
        at = read_time(written)
    except ValueError:
        flash(f"“{text[:60]}” is not a time. Enter one such as 2026-01-31 18:00.", "warning")
        return text, None
    if at > current_gateway().clock():
        flash("That time is in the future. Enter a past time.", "warning")
        return text, None
    return text, at
