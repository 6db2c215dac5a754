"""The user's own account: password, second factor, open sessions."""

from __future__ import annotations

from flask import flash, redirect, session, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose
from flask_login import current_user
from flask_security.utils import logout_user

from app.admin.access import OWN, READ, Access, Audience
from app.admin.requests import actor
from app.admin.sign_in.sessions import SECRET
from app.admin.views.base import ConsoleView
from app.runtime.gateway import current_gateway
from app.services.operators.accounts import new_uniquifier, update_account
from app.services.operators.sessions import open_sessions


class AccountView(ConsoleView):
    """What every user may see and change of their own account."""

    section = "Account"  # reached from the foot of the menu
    access = {"index": READ, "sign_out_everywhere": Access(Audience.NOBODY, OWN.change)}

    def __init__(self) -> None:
        super().__init__(name="Your account", endpoint="account")

    @expose("/")
    def index(self) -> str:
        """The account and its open sessions."""
        sessions = open_sessions(current_gateway(), current_user.id, session[SECRET])
        return self.render("console/account/index.html", sessions=sessions)

    @expose("/sign-out-everywhere", methods=("POST",))
    def sign_out_everywhere(self) -> ResponseReturnValue:
        """End every session of the account, this one included."""
        changes = {"fs_uniquifier": new_uniquifier()}
        update_account(current_gateway(), current_user.id, changes, actor=actor())
        logout_user()
        session.clear()
        flash("You are signed out on every device.", "success")
        return redirect(url_for("security.login"))
