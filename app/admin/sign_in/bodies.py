"""The console takes forms and nothing else: what another body says is never read."""

from __future__ import annotations

from typing import Final

from flask import abort, request

from app.admin.places import place_for
from app.admin.requests import network
from app.runtime.gateway import current_gateway
from app.services.operators.throttle import Guess, reserve

_FORMS: Final = frozenset({"application/x-www-form-urlencoded", "multipart/form-data"})


def refuse_other_bodies() -> None:
    """Runs first of all. The library would read JSON where a form is expected, whatever is in it.

    :raises MustWait: such bodies were sent too often as tries to sign in; they count, too.
    :raises UnsupportedMediaType: there is a body that is no form.
    """
    sent = request.content_length or "HTTP_TRANSFER_ENCODING" in request.environ
    if not sent or request.mimetype in _FORMS:
        return
    if request.blueprint == "security":  # where a body is a try at a secret
        guess = Guess("", network())
        with place_for(guess):
            reserve(current_gateway(), guess)
    abort(415)
