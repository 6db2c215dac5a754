"""Sessions as rows of the database, named by the signed cookie, so that they can be ended from other
browsers.
"""

from __future__ import annotations

from typing import Any, Final

from flask import request, session
from flask_login import current_user
from flask_security.utils import logout_user

from app.accounts.services.sessions import (
    EndedSession,
    begin_session,
    end_session,
    ended_session,
    session_is_open,
)
from app.audit.keys import AuditKeys
from app.console.caller import actor_named
from app.db.database import Database
from app.http.application import current

SECRET: Final = "console_session"  # noqa: S105  the key's name in the cookie

_PRESERVED: Final = frozenset({"_user_id", "_fresh", "_id", "fs_cc", "fs_paa", "_flashes"})
"""What Flask-Login and Flask-Security have just written about the new sign-in."""

_HOW: Final = {"password": "password", "change": "new password", "webauthn": "passkey"}
"""What the sign-in was made with, by the library's word for it."""


def renew_session(_sender: Any, user: Any, authn_via: list[str] | None = None, **_more: Any) -> None:
    """Begin a new session after a complete sign-in (password, and the second factor where there is one).

    Everything else in the cookie is removed, the CSRF token included.
    """
    for key in set(session) - _PRESERVED:
        del session[key]
    session.permanent = True
    # Flask-Security passes ``authn_via`` for passwords, not for second factors.
    how = _HOW.get((authn_via or ["code"])[0], "second factor")
    browser = request.user_agent.string
    session[SECRET] = begin_session(
        current(Database), current(AuditKeys), user.id, actor_named(user.email), browser, how
    )


def leave_ended_session(*, counts_as_use: bool = True) -> EndedSession | None:
    """Sign out a user whose session has ended. Returns its owner and the reason, None where there was none.

    A session that was ended everywhere no longer names its user, but its secret is still known.

    :param counts_as_use: whether this request extends an open session.
    """
    secret, signed_in = session.get(SECRET, ""), current_user.is_authenticated
    if not signed_in and not secret:
        return None
    if signed_in and session_is_open(current(Database), current_user.id, secret, counts_as_use=counts_as_use):
        return None
    ended = ended_session(current(Database), secret) or EndedSession("", None)
    if signed_in:
        logout_user()
    session.clear()
    return ended


def sets_up_second_factor() -> bool:
    """Whether this session waits for the first code of a new second factor."""
    return session.get("tf_state") == "validating_profile"


def close_session(_sender: Any, user: Any, **_more: Any) -> None:
    """End the session at sign-out, so that a copy of the cookie is worthless."""
    secret = session.pop(SECRET, None)
    if secret is not None and user.is_authenticated:
        end_session(current(Database), current(AuditKeys), user.id, secret, actor_named(user.email))
