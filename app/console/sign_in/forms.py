"""Sign-in forms. Each counts a try before it is checked, and refuses it after too many failures.

A guess uses a processor for the hash of a password, and the database for the counts. Guesses from many
addresses are not slowed down by the count of each, and would make all other users wait for both. So there is
one queue for guesses of strangers (``turn_of``).

The cookie of a known browser lets its owner sign in while others make the account wait. It grants nothing
else, and its own wrong guesses have to wait, too. A new ``fs_uniquifier`` (a new password, every session
ended) makes it worthless.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Final

from flask import Response, abort, after_this_request, current_app, g, render_template, request
from flask_login import current_user
from flask_security import ChangePasswordForm, LoginForm, MfRecoveryForm, TwoFactorVerifyCodeForm
from flask_security.utils import get_message, validate_redirect_url
from wtforms import EmailField, HiddenField, StringField
from wtforms.validators import DataRequired

from app.accounts.rules.sessions import DEVICE_LIFETIME
from app.accounts.rules.sign_in import is_too_long
from app.accounts.services.accounts import Account, find_account
from app.accounts.services.passwords import why_refused
from app.accounts.services.throttle import (
    Guess,
    MustWait,
    forget_failures,
    name_of,
    network_has_failed,
    note_failure,
    release,
    reserve,
)
from app.audit.keys import AuditKeys
from app.console.shell.caller import actor, actor_unknown, network
from app.console.sign_in.datastore import sets_up_second_factor
from app.console.sign_in.guess_queue import GuessQueue
from app.db.database import Database
from app.http.application import current
from app.http.later import left_check
from app.values.times import UNIX_EPOCH

queue: Final = GuessQueue()


@contextmanager
def turn_of(guess: Guess) -> Iterator[None]:
    """Wait for the turn of a guess. Known users and browsers need none.

    Few guesses of signed-in users, and of browsers that signed in before, are checked in any case. For
    strangers it makes no difference whether the account exists.

    :raises MustWait: too many others came before; the guess must not be checked.
    """
    if guess.device is not None or current_user.is_authenticated:
        yield
        return
    account, failed = name_of(current(AuditKeys), guess), network_has_failed(current(Database), guess.network)
    has_left = left_check(request.environ) or (lambda: False)
    with queue.turn(account, guess.network, failed=failed, has_left=has_left):
        yield


_COOKIE: Final = re.compile(r"([0-9a-f]{32})\.([0-9]{1,12})\.([0-9a-f]{64})", re.ASCII)
_SECOND: Final = timedelta(seconds=1)


def known_device(account: Account) -> str | None:
    """The name of the requesting browser, if it signed in to the account before; else None."""
    match = _COOKIE.fullmatch(request.cookies.get(_cookie_name(account.id), ""))
    if match is None:
        return None
    keys = current_app.config["CONSOLE_DEVICE_KEYS"]
    seals = [_seal(account, match[1], int(match[2]), key) for key in keys]
    if not any(hmac.compare_digest(seal, match[3]) for seal in seals):
        return None
    signed_in_at = UNIX_EPOCH + int(match[2]) * _SECOND
    return match[1] if current(Database).clock() - signed_in_at < DEVICE_LIFETIME else None


def remember_device(_sender: Any, user: Any, **_more: Any) -> None:
    """After a complete sign-in, give the browser a cookie that proves it."""
    account: Account = user.account
    device = known_device(account) or secrets.token_hex(16)
    now = (current(Database).clock() - UNIX_EPOCH) // _SECOND
    seal = _seal(account, device, now, current_app.config["CONSOLE_DEVICE_KEYS"][0])
    interface = current_app.session_interface

    @after_this_request
    def send(response: Response) -> Response:
        response.set_cookie(
            _cookie_name(account.id),
            f"{device}.{now}.{seal}",
            max_age=DEVICE_LIFETIME,
            path=interface.get_cookie_path(current_app),
            secure=interface.get_cookie_secure(current_app),
            httponly=True,
            samesite="Strict",
        )
        return response


def _cookie_name(account_id: int) -> str:
    """Next to the session's cookie, with the same prefix."""
    return f"{current_app.session_interface.get_cookie_name(current_app)}_device_{account_id}"


def _seal(account: Account, device: str, at: int, key: str) -> str:
    """
    :param at: when it signed in, in Unix seconds.
    """
    sealed = f"{account.id} {account.fs_uniquifier} {device} {at}"
    return hmac.new(key.encode(), sealed.encode(), "sha256").hexdigest()


def guess_at(account: Account | None, typed: str = "") -> Guess:
    """A try at an account by the requesting browser, or at the typed text where that names no account."""
    device = None if account is None else known_device(account)
    return Guess(typed, network(), account, device)


class Throttled:
    """Counts a try before it is checked, and refuses it unchecked after too many failures."""

    form_errors: list[str]
    failure = "wrong email or password"
    """How the audit log describes a failed try."""

    def throttled_account(self) -> str:
        """The email of the account whose secret is tried, whether or not there is such an account.

        By default that of the user who is signing in, else of the signed-in user.
        """
        user = getattr(self, "user", None) or current_user
        return str(getattr(user, "email", ""))

    def validate(self, **kwargs: Any) -> bool:
        database = current(Database)
        audit_keys = current(AuditKeys)
        typed = self.throttled_account()
        guess = guess_at(find_account(database, email=typed), typed)
        try:
            with turn_of(guess):
                return self._check(database, audit_keys, guess, **kwargs)
        except MustWait as refused:
            self.form_errors.append(str(refused))
            return False

    def _check(self, database: Database, audit_keys: AuditKeys, guess: Guess, **kwargs: Any) -> bool:
        attempt = reserve(database, audit_keys, guess)
        if self._is_short_enough() and super().validate(**kwargs):  # type: ignore[misc]
            release(database, attempt)
            return True
        who = actor() if current_user.is_authenticated else actor_unknown()
        note_failure(database, audit_keys, guess, who, self.failure)
        return False

    def _is_short_enough(self) -> bool:
        """Whether what was typed can be right: the library cannot hash texts of any length."""
        field = getattr(self, "password", None)
        if field is None or not is_too_long(field.data or ""):
            return True
        field.errors = ["Wrong password."]
        return False


class SignInForm(Throttled, LoginForm):
    """Email and password, and the page after it, only on this host."""

    # The library's field refuses admin@localhost, since no mail can reach it.
    email = EmailField(
        "Email", validators=[DataRequired()], render_kw={"autocomplete": "username", "autofocus": True}
    )
    remember = None

    def throttled_account(self) -> str:
        return self.email.data or ""

    def validate_next(self, field: HiddenField) -> None:
        # The library's version refuses the whole form, even with the right password.
        if field.data and not validate_redirect_url(field.data):
            field.data = ""


class CodeForm(Throttled, TwoFactorVerifyCodeForm):
    """A one-time code. Six digits can be guessed, so failures are counted like those of passwords."""

    failure = "wrong or used code"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.code.label.text = "Authentication code"

    def validate(self, **kwargs: Any) -> bool:
        """After a wrong code for a new secret, that secret is shown again: the library leads to the start of
        the setup, or to a page without the secret.
        """
        sets_up = self.is_setup or sets_up_second_factor()
        if super().validate(**kwargs):
            g.leads_to_recovery_codes = sets_up
            return True
        if sets_up:
            abort(Response(self._setup_page()))
        return False

    def _setup_page(self) -> str:
        totp = current_app.extensions["security"].totp_factory
        values = totp.fetch_setup_values(self.tf_totp_secret, self.user)
        return render_template(
            "console/account/second_factor.html",
            two_factor_verify_code_form=self,
            chosen_method="authenticator",
            changing=current_user.is_authenticated,
            state_token=(request.view_args or {}).get("token"),
            authr_qrcode=values["image"],
            authr_key=values["key"],
        )


class RecoveryForm(Throttled, MfRecoveryForm):
    """A recovery code instead of the second factor. Failures count like those of passwords."""

    failure = "wrong or used recovery code"
    code = StringField(
        "Recovery code",
        validators=[DataRequired("Enter one of your recovery codes.")],
        render_kw={"autocomplete": "off", "autofocus": True, "spellcheck": "false", "maxlength": "64"},
    )


class NewPasswordForm(Throttled, ChangePasswordForm):
    """A change of password. It requires the old one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        given = current_user.must_change_password
        self.password.label.text = "Password that you were given" if given else "Current password"
        self.new_password.label.text = "New password"
        self.new_password_confirm.label.text = "New password again"

    def validate(self, **kwargs: Any) -> bool:
        # A fault of the new password is no guess at the old one.
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
        g.leads_to_recovery_codes = True
        return True


def forget_after_sign_in(_sender: Any, user: Any, **_more: Any) -> None:
    """Reset the count of failures after a sign-in."""
    forget_failures(current(Database), current(AuditKeys), guess_at(user.account))
