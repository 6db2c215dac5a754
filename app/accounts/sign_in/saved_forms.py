"""Saves what was typed when its session has ended, and refuses bodies that are not forms.

The page that says so carries the fields, and sends them again after a sign-in. A browser with scripts stores
them in its window meanwhile; the server stores nothing. Only forms from the console's own pages are carried:
otherwise another site could put in fields that an operator then sends.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from flask import Response, abort, make_response, render_template, request, url_for

from app.accounts.roles import SessionEnd
from app.accounts.services.sessions import EndedSession
from app.accounts.services.throttle import Guess, reserve
from app.accounts.sign_in.forms import place_for
from app.audit.keys import AuditKeys
from app.console.caller import TOKEN_FIELD, allow_forms, network
from app.db.database import Database
from app.http.application import current

_FORMS: Final = frozenset({"application/x-www-form-urlencoded", "multipart/form-data"})


def refuse_other_bodies() -> None:
    """Runs before everything else. The library would read JSON where a form is expected.

    :raises MustWait: such bodies were sent too often as tries to sign in; they count, too.
    :raises UnsupportedMediaType: the body is not a form.
    """
    sent = request.content_length or "HTTP_TRANSFER_ENCODING" in request.environ
    if not sent or request.mimetype in _FORMS:
        return
    if request.blueprint == "security":  # here a body is a try at a secret
        guess = Guess("", network())
        with place_for(guess):
            reserve(current(Database), current(AuditKeys), guess)
    abort(415)


ENDED_WORDS: Final[dict[str, str]] = {
    SessionEnd.EVERYWHERE: "You signed out everywhere from another browser.",
    SessionEnd.ELSEWHERE: "You signed this browser out from another browser.",
    SessionEnd.BY_ADMIN: "An administrator signed you out everywhere.",
    SessionEnd.PASSWORD: "The password of your account was changed, which signs out all other browsers.",
    SessionEnd.SECOND_FACTOR: "The second factor of your account was changed or is now required.",
    SessionEnd.SWITCHED_OFF: "Your account was turned off. Ask an administrator.",
}
"""Why a session ended, for its browser."""

_SECRETS: Final = re.compile(r"password|credential|recovery|(^|[-_])code$|^step_up-", re.IGNORECASE)
"""Names of fields that are never carried: they have to be typed again."""

_LONGEST_SHOWN: Final = 120


def sent_by_own_page() -> bool:
    """Whether a page of the console sent the request, by the browser's headers."""
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site == "same-origin"
    origin = request.headers.get("Origin")
    return origin is not None and urlsplit(origin).netloc == request.host


def save_form_after_end(ended: EndedSession | None) -> Response | None:
    """The page for a change that came after the session had ended; None where nothing is carried."""
    if not sent_by_own_page():
        return None
    if ended is not None:
        allow_forms()  # its cookie was signed for the user who was signed in
    return _page(401, ended)


def save_form_after_stale_token() -> Response | None:
    """The page for a change whose token is out of date; None where nothing is carried."""
    return _page(400, None, stale=True) if sent_by_own_page() else None


def _page(status: int, ended: EndedSession | None, *, stale: bool = False) -> Response:
    sent = (pair for pair in request.form.items(multi=True) if pair[0] != TOKEN_FIELD)
    carried = [pair for pair in sent if not _SECRETS.search(pair[0])]
    typed = [pair for pair in carried if _is_typed(*pair)]
    page = render_template(
        "console/account/ended.html",
        stale=stale,
        why=ENDED_WORDS.get(ended.why or "", "") if ended else "",
        email=ended.email if ended else "",
        action=request.full_path.rstrip("?"),
        kept=carried,
        shown=[(_label(name), value[:_LONGEST_SHOWN]) for name, value in typed],
        sign_in=url_for("security.login", next=url_for("account.kept")),
    )
    return make_response(page, status)


def _label(name: str) -> str:
    """A label made of the field's name: the page where it was typed is gone."""
    return name[:1].upper() + name[1:].replace("_", " ")


def _is_typed(name: str, value: str) -> bool:
    """Whether a person typed or chose it, by its name."""
    return bool(value.strip()) and name not in ("seen", "decimals_shown", "confirm", "back")


def words_of_end(text: str) -> str:
    """Why a session ended, by the argument of the sign-in page; empty where the reason is unknown."""
    return ENDED_WORDS.get(text, "")
