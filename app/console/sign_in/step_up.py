"""Preserves a typed form during a new sign-in, or a proof of identity before a sensitive change.

The page that requests either contains the fields of the form, and sends them again to the same address. So
nothing that was typed is lost, and the change goes on. Where a session has ended, a browser with scripts
stores them in its window meanwhile; the server stores nothing. Only forms from the console's own pages are
carried: otherwise another site could put in fields that an operator then sends. Bodies that are not forms are
refused.
"""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import urlsplit

from flask import Response, abort, current_app, make_response, render_template, request, session, url_for
from flask.typing import ResponseReturnValue
from flask_login import current_user
from flask_security.utils import check_and_get_token_status
from flask_wtf import FlaskForm
from werkzeug.datastructures import ImmutableMultiDict
from wtforms import HiddenField, PasswordField, StringField

from app.accounts.rules.sessions import SessionEnd
from app.accounts.rules.sign_in import normal_password
from app.accounts.services.sessions import EndedSession, note_proof, proved_lately
from app.accounts.services.throttle import Guess, reserve
from app.audit.keys import AuditKeys
from app.console.shell.caller import TOKEN_FIELD, allow_forms, network
from app.console.sign_in.datastore import SECRET
from app.console.sign_in.forms import Throttled, turn_of
from app.console.sign_in.passkey_pages import (
    ANSWERED_WITHIN,
    AnsweredForm,
    passkeys_work_here,
    step_up_options,
)
from app.db.database import Database
from app.http.application import current
from app.http.mounted import this_address

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
        with turn_of(guess):
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
"""Why a session ended, for its browser, by the ``ended`` of the sign-in page's address."""

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
    return _ended_page(401, ended)


def save_form_after_stale_token() -> Response | None:
    """The page for a change whose token is out of date; None where nothing is carried."""
    return _ended_page(400, None, stale=True) if sent_by_own_page() else None


def _ended_page(status: int, ended: EndedSession | None, *, stale: bool = False) -> Response:
    sent = (pair for pair in request.form.items(multi=True) if pair[0] != TOKEN_FIELD)
    carried = [pair for pair in sent if not _SECRETS.search(pair[0])]
    typed = [pair for pair in carried if _is_typed(*pair)]
    page = render_template(
        "console/account/ended.html",
        stale=stale,
        why=ENDED_WORDS.get(ended.why or "", "") if ended else "",
        email=ended.email if ended else "",
        action=this_address(),
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


_PREFIX: Final = "step_up"
_CODE_WINDOW: Final = 30
"""Seconds that the clock of a phone may be off, as at sign-in."""


class _Proof(FlaskForm):
    """One of password, code and passkey is enough."""

    class Meta:
        """Settings that WTForms reads. The guard has checked the token."""

        csrf = False

    password = PasswordField("Password", render_kw={"autocomplete": "current-password", "autofocus": True})
    code = StringField(
        "Or a code from your authenticator app",
        render_kw={"autocomplete": "one-time-code", "inputmode": "numeric", "maxlength": "16"},
    )
    credential = HiddenField()
    seal = HiddenField()

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(prefix=f"{_PREFIX}-", **kwargs)
        if not current_user.tf_totp_secret:
            del self.code

    def validate(self, **kwargs: Any) -> bool:
        if self.credential.data:
            return self._passkey_is_right()
        code = self.code.data if "code" in self else ""
        if code:
            security = current_app.extensions["security"]
            secret, user = current_user.tf_totp_secret, current_user
            if security.totp_factory.verify_totp(code, secret, user, window=_CODE_WINDOW):
                return True
            self.code.errors = ["Wrong code, or it was already used. Wait for the next one."]
            return False
        if current_user.verify_and_update_password(normal_password(self.password.data or "")):
            return True
        self.password.errors = ["Wrong password."]
        return False

    def _passkey_is_right(self) -> bool:
        expired, invalid, state = check_and_get_token_status(self.seal.data or "", "wan", ANSWERED_WITHIN)
        answered = AnsweredForm(formdata=ImmutableMultiDict({"credential": self.credential.data}))
        answered.is_secondary, answered.is_verify = False, True
        if not (expired or invalid):
            answered.challenge = state["challenge"]
            if answered.validate():
                return True
        self.form_errors.append("The passkey was not accepted. Try again, or enter your password.")
        return False


class StepUpForm(Throttled, _Proof):
    """The proof. Failures count like those of a sign-in, as a stranger at an open screen could guess."""

    failure = "wrong password, code or passkey when asked again"

    def validate(self, **kwargs: Any) -> bool:
        if any(field.data for field in self if field is not self.seal):
            return super().validate(**kwargs)
        self.form_errors.append("Enter your password, or use another way.")
        return False


def step_up(*, needed: bool) -> ResponseReturnValue | None:
    """The page that requests a proof, where one is needed; None where the request may go on.

    A proof in the request is checked, noted and taken out of the form, even where none was needed.
    """
    sent = [name for name in request.form if name.startswith(f"{_PREFIX}-")]
    if sent:
        form = StepUpForm()
        accepted = form.validate()
        _hide(sent)
        if not accepted:
            return _page(form)
        note_proof(current(Database), current_user.id, session[SECRET])
    elif needed and not proved_lately(current(Database), current_user.id, session.get(SECRET, "")):
        return _page(StepUpForm(formdata=None))
    return None


def _page(form: StepUpForm) -> str:
    carried = [pair for pair in request.form.items(multi=True) if pair[0] != TOKEN_FIELD]
    passkeys = current_user.webauthn if passkeys_work_here() else []
    options, seal = step_up_options(passkeys) if passkeys else ("", "")
    form.password.data = form.credential.data = ""
    form.seal.data = seal
    action = this_address()
    return render_template(
        "console/account/step_up.html", form=form, kept=carried, action=action, options=options
    )


def _hide(names: list[str]) -> None:
    """Take fields out of the form, so that the view and its form do not see them."""
    left = [pair for pair in request.form.items(multi=True) if pair[0] not in names]
    read: Any = request
    read.form = ImmutableMultiDict(left)
