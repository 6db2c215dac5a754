"""Sign-in forms. Each counts a try before it looks at it, and refuses while there were too many."""

from __future__ import annotations

from typing import Any

from flask import g
from flask_login import current_user
from flask_security.forms import ChangePasswordForm, LoginForm, TwoFactorVerifyCodeForm
from flask_security.utils import get_message, validate_redirect_url
from wtforms import EmailField, HiddenField
from wtforms.validators import DataRequired

from app.admin.devices import known_device
from app.admin.places import place_for
from app.admin.requests import actor, actor_unknown, network
from app.domain.operators import is_too_long
from app.runtime.gateway import Gateway, current_gateway
from app.services.operators.accounts import Account, find_account
from app.services.operators.passwords import why_refused
from app.services.operators.throttle import (
    Guess,
    MustWait,
    forget_failures,
    note_failure,
    release,
    reserve,
)


def guess_at(account: Account | None, typed: str = "") -> Guess:
    """A try at an account, or at what was typed where that names none, by the browser that asks."""
    device = None if account is None else known_device(account)
    return Guess(typed, network(), account, device)


class Throttled:
    """Counts a try before it is judged, and refuses it without a look while there were too many."""

    form_errors: list[str]
    failure = "wrong email or password"
    """How the audit log describes a failed try."""

    def throttled_account(self) -> str:
        """The email of the account whose secret is tried, whether or not there is such an account."""
        raise NotImplementedError

    def validate(self, **kwargs: Any) -> bool:
        gateway, typed = current_gateway(), self.throttled_account()
        guess = guess_at(find_account(gateway, email=typed), typed)
        try:
            with place_for(guess):
                return self._judged(gateway, guess, **kwargs)
        except MustWait as refused:
            self.form_errors.append(str(refused))
            return False

    def _judged(self, gateway: Gateway, guess: Guess, **kwargs: Any) -> bool:
        attempt = reserve(gateway, guess)
        if self._is_short_enough() and super().validate(**kwargs):  # type: ignore[misc]
            release(gateway, attempt)
            return True
        who = actor() if current_user.is_authenticated else actor_unknown()
        note_failure(gateway, guess, who, self.failure)
        return False

    def _is_short_enough(self) -> bool:
        """Whether what was typed can be right: the library cannot hash texts of any length."""
        field = getattr(self, "password", None)
        if field is None or not is_too_long(field.data or ""):
            return True
        field.errors = ["Wrong password."]
        return False


class _LeadsOn:
    """A form that leads on to where its sender wanted to go, on this host alone."""

    def validate_next(self, field: HiddenField) -> None:
        # The library's version refuses the form, and with it the right password.
        if field.data and not validate_redirect_url(field.data):
            field.data = ""


class SignInForm(Throttled, _LeadsOn, LoginForm):
    """Email and password."""

    # The library's field refuses admin@localhost, since no mail can reach it.
    email = EmailField(
        "Email", validators=[DataRequired()], render_kw={"autocomplete": "username", "autofocus": True}
    )
    remember = None

    def throttled_account(self) -> str:
        return self.email.data or ""


class CodeForm(Throttled, TwoFactorVerifyCodeForm):
    """A one-time code. Six digits can be guessed, so failures are counted like those of passwords."""

    failure = "wrong or used code"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.code.label.text = "Authentication code"

    def throttled_account(self) -> str:
        return self.user.email if self.user else ""

    def validate(self, **kwargs: Any) -> bool:
        if super().validate(**kwargs):
            return True
        g.refused_code = self  # for sign_in/factor_setup.py, where it was to confirm a new secret
        return False


class NewPasswordForm(Throttled, ChangePasswordForm):
    """A change of password. It requires the old one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        given = current_user.must_change_password
        self.password.label.text = "Password that you were given" if given else "Current password"
        self.new_password.label.text = "New password"
        self.new_password_confirm.label.text = "New password again"

    def throttled_account(self) -> str:
        return str(current_user.email)

    def validate(self, **kwargs: Any) -> bool:
        # What is wrong with the new password is no guess at the old one.
        new = self.new_password.data or ""
        complaint = why_refused(new, current_user.email)
        if complaint is None and new == self.password.data:
            complaint = "Enter a password that differs from the current one."
        if complaint:
            self.new_password.errors = [complaint]
            return False
        if new != self.new_password_confirm.data:
            self.new_password_confirm.errors = [get_message("RETYPE_PASSWORD_MISMATCH")[0]]
            return False
        if not super().validate(**kwargs):
            return False
        current_user.must_change_password = False  # stored together with the new password
        return True


def forget_after_sign_in(_sender: Any, user: Any, **_more: Any) -> None:
    """Reset the count of failures after a sign-in."""
    forget_failures(current_gateway(), guess_at(user.account))
