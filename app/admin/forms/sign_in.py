"""Sign-in forms, which refuse every try while an account is throttled."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from flask_login import current_user
from flask_security.forms import ChangePasswordForm, LoginForm, TwoFactorVerifyCodeForm
from wtforms import EmailField
from wtforms.validators import DataRequired

from app.admin.requests import actor_named, caller
from app.runtime.gateway import current_gateway
from app.services.operators.passwords import why_refused
from app.services.operators.throttle import forget_failures, note_failure, wait_before


def _waits(account: str) -> str | None:
    """The message while tries for this account are throttled; None where they are not."""
    wait = wait_before(current_gateway(), account, caller())
    return _please_wait(wait) if wait > timedelta() else None


def _please_wait(wait: timedelta) -> str:
    seconds = int(wait.total_seconds()) + 1
    shown = f"{seconds} seconds" if seconds < 120 else f"{-(-seconds // 60)} minutes"
    return f"Too many failed sign-ins. Try again in {shown}."


class Throttled:
    """Counts failed tries for an account, and refuses without a check while it is throttled."""

    form_errors: list[str]
    failure = "wrong email or password"
    """How the audit log describes a failed try."""

    def throttled_account(self) -> str:
        """The email by which failures are counted."""
        raise NotImplementedError

    def validate(self, **kwargs: Any) -> bool:
        account = self.throttled_account()
        if refusal := _waits(account):
            self.form_errors.append(refusal)
            return False
        if super().validate(**kwargs):  # type: ignore[misc]
            return True
        note_failure(current_gateway(), account, actor_named(account or "-"), self.failure)
        return False


class SignInForm(Throttled, LoginForm):
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

    def throttled_account(self) -> str:
        return self.user.email if self.user else ""


class NewPasswordForm(Throttled, ChangePasswordForm):
    """A change of password. It requires the old one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        given = current_user.must_change_password
        self.password.label.text = "The password that you were given" if given else "Your password now"
        self.new_password.label.text = "New password"
        self.new_password_confirm.label.text = "The new password again"

    def throttled_account(self) -> str:
        return str(current_user.email)

    def validate(self, **kwargs: Any) -> bool:
        complaint = why_refused(self.new_password.data or "", current_user.email)
        if complaint:
            self.new_password.errors = [complaint]
            return False
        if not super().validate(**kwargs):
            return False
        current_user.must_change_password = False  # stored together with the new password
        return True


def forget_after_sign_in(_sender: Any, user: Any, **_more: Any) -> None:
    """Reset the count of failures after a sign-in."""
    forget_failures(current_gateway(), user.email, caller())
