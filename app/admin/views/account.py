"""The user's own account: password, second factors, recovery codes, open sessions."""

from __future__ import annotations

from flask import flash, redirect, request, session, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose
from flask_login import current_user
from flask_security.utils import logout_user

from app.admin.access import OWN, OWN_GRAVE, READ, Access, Audience
from app.admin.requests import actor
from app.admin.sign_in.passkey_forms import NewPasskeyForm
from app.admin.sign_in.sessions import SECRET
from app.admin.views.base import ConsoleView
from app.runtime.gateway import current_gateway
from app.services.operators.accounts import new_uniquifier, update_account
from app.services.operators.passkeys import list_passkeys
from app.services.operators.recovery_codes import make_recovery_codes, recovery_codes_left
from app.services.operators.sessions import end_own_session, open_sessions


class AccountView(ConsoleView):
    """What every user may see and change of their own account."""

    section = "Account"  # reached from the foot of the menu
    access = {
        "index": READ,
        "recovery_codes": OWN_GRAVE,
        "sign_out_everywhere": Access(Audience.NOBODY, OWN.change),
        "sign_out_one": Access(Audience.NOBODY, OWN.change),
        "kept": READ,
    }

    def __init__(self) -> None:
        super().__init__(name="Your account", endpoint="account")

    @expose("/")
    def index(self) -> str:
        """The account, its second factors and its open sessions."""
        gateway, account_id = current_gateway(), current_user.id
        return self.render(
            "console/account/index.html",
            sessions=open_sessions(gateway, account_id, session[SECRET]),
            passkeys=list_passkeys(gateway, account_id),
            codes_left=recovery_codes_left(gateway, account_id),
            passkey_form=NewPasskeyForm(formdata=None),
        )

    @expose("/recovery-codes", methods=("GET", "POST"))
    def recovery_codes(self) -> ResponseReturnValue:
        """How many recovery codes are left; new ones, shown this once."""
        gateway, account_id = current_gateway(), current_user.id
        has_factor = bool(current_user.tf_totp_secret or list_passkeys(gateway, account_id))
        if request.method == "POST" and has_factor:
            codes = make_recovery_codes(gateway, account_id, actor=actor())
            return self.render("console/account/recovery_codes_made.html", codes=codes)
        left = recovery_codes_left(gateway, account_id)
        return self.render("console/account/recovery_codes.html", left=left, has_factor=has_factor)

    @expose("/kept")
    def kept(self) -> str:
        """What was typed before a session ended: the browser has kept it, and sends it again from here."""
        return self.render("console/account/kept.html")

    @expose("/sessions/<int:session_id>/sign-out", methods=("POST",))
    def sign_out_one(self, session_id: int) -> ResponseReturnValue:
        """End one session of the account."""
        if end_own_session(current_gateway(), current_user.id, session_id, actor()):
            flash("That browser is signed out.", "success")
        else:
            flash("That session had already ended.", "warning")
        return redirect(url_for("account.index"))

    @expose("/sign-out-everywhere", methods=("POST",))
    def sign_out_everywhere(self) -> ResponseReturnValue:
        """End every session of the account, this one included."""
        changes = {"fs_uniquifier": new_uniquifier()}
        update_account(current_gateway(), current_user.id, changes, actor=actor())
        logout_user()
        session.clear()
        flash("You are signed out in every browser.", "success")
        return redirect(url_for("security.login"))
