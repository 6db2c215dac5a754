"""Verifies the user again before a sensitive change, where the last proof is too old.

The page carries the fields of the form that was sent, and sends them again together with the proof, to the
same address. So nothing that was typed is lost, and the change goes on.
"""

from __future__ import annotations

from typing import Any, Final

from flask import current_app, render_template, request, session
from flask.typing import ResponseReturnValue
from flask_login import current_user
from flask_security.utils import check_and_get_token_status
from flask_wtf import FlaskForm
from werkzeug.datastructures import ImmutableMultiDict
from wtforms import HiddenField, PasswordField, StringField

from app.accounts.roles import normal_password
from app.accounts.services.sessions import note_proof, proved_lately
from app.accounts.sign_in.ended_sessions import SECRET
from app.accounts.sign_in.forms import Throttled
from app.accounts.sign_in.passkey_pages import (
    ANSWERED_WITHIN,
    AnsweredForm,
    passkeys_work_here,
    step_up_options,
)
from app.console.caller import TOKEN_FIELD
from app.db.database import Database
from app.http.application import current

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
    action = request.full_path.rstrip("?")
    return render_template(
        "console/account/step_up.html", form=form, kept=carried, action=action, options=options
    )


def _hide(names: list[str]) -> None:
    """Take fields out of the form, so that the view and its form do not see them."""
    left = [pair for pair in request.form.items(multi=True) if pair[0] not in names]
    read: Any = request
    read.form = ImmutableMultiDict(left)
