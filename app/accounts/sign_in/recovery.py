"""Recovery codes at sign-in, and the way to new ones after a second factor was set up."""

from __future__ import annotations

from typing import Any

from flask import Response, flash, g, url_for
from flask_security import MfRecoveryForm, UserMixin
from flask_security.recovery_codes import MfRecoveryCodesUtil
from wtforms import StringField
from wtforms.validators import DataRequired

from app.accounts.services.factors import recovery_codes_left, use_recovery_code
from app.accounts.sign_in.ended_sessions import sets_up_second_factor
from app.accounts.sign_in.forms import Throttled
from app.audit.keys import AuditKeys
from app.console.caller import actor_named
from app.db.database import Database
from app.parts import current


class RecoveryCodes(MfRecoveryCodesUtil):
    """Flask-Security's recovery codes with ours behind them: it keeps readable ones, and lets two use one."""

    def check_recovery_code(self, user: Any, code: str) -> bool:
        """Use the code up; whether it was one."""
        database = current(Database)
        audit_keys = current(AuditKeys)
        own = actor_named(user.email)
        if not user.is_active or not use_recovery_code(database, audit_keys, user.id, code, actor=own):
            return False
        left = recovery_codes_left(database, user.id)
        flash(
            f"You have {left} recovery codes left. If your second factor is lost, set up a new one.",
            "warning",
        )
        return True

    def delete_recovery_code(self, user: UserMixin, code: str) -> bool:
        """Nothing: it is used up already."""
        return True

    def get_recovery_codes(self, user: UserMixin) -> list[str]:
        """None: nobody can read them."""
        return []


class RecoveryForm(Throttled, MfRecoveryForm):
    """A recovery code in place of the second factor. Failures count like those of passwords."""

    failure = "wrong or used recovery code"
    code = StringField(
        "Recovery code",
        validators=[DataRequired("Enter one of your recovery codes.")],
        render_kw={"autocomplete": "off", "autofocus": True, "spellcheck": "false", "maxlength": "64"},
    )


def note_new_factor(_sender: Any, user: Any, **_more: Any) -> None:
    """Remember, for the rest of the request, that an account got a second factor, or has one and changed its
    password.

    An account that an administrator made has to change its password before anything else is served, also
    before the page of recovery codes that the factor's setup led to.
    """
    if user.tf_totp_secret or user.webauthn:
        g.new_factor_of = user.id


def note_confirmed_code(sender: Any, user: Any, **more: Any) -> None:
    """The same where codes were set up at sign-in. The library tells of every other sign-in by code, too."""
    if sets_up_second_factor():
        note_new_factor(sender, user, **more)


def lead_on(response: Response) -> Response:
    """Go on to the recovery codes after a second factor was set up, or the password changed, where the
    account has none.

    The library goes back to the page of a new passkey after everything else, such as a removal: the
    account's page tells what happened, and has the list.
    """
    if response.status_code == 302 and response.location == url_for("security.wan_register"):
        response.location = url_for("account.index")
    account_id = g.pop("new_factor_of", None)
    set_up = account_id is not None and response.status_code == 302
    if set_up and not recovery_codes_left(current(Database), account_id):
        response.location = url_for("account.recovery_codes")
    return response
