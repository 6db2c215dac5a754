"""Who may do what in the console: a rule for every route, enforced before any of them runs."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from flask import abort, flash, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_login import current_user
from flask_wtf.csrf import CSRFError, CSRFProtect
from msgspec import Struct

from app.accounts.rules.roles import Role
from app.console.shell.caller import allow_forms
from app.console.sign_in.datastore import leave_ended_session, sets_up_second_factor
from app.console.sign_in.step_up import (
    save_form_after_end,
    save_form_after_stale_token,
    sent_by_own_page,
    step_up,
)
from app.http.mounted import this_address

_log = logging.getLogger(__name__)

FILE_FIELD: Final = "file"
"""The name of the file in each form that accepts one."""

READ_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
CHANGE_METHOD: Final = "POST"
"""The only method that changes anything in the console."""


class Audience(StrEnum):
    """Who may use a route. Each includes those after it, except NOBODY."""

    ANYONE = "anyone"
    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"
    NOBODY = "nobody"


class Access(Struct, frozen=True):
    """Who may use a route to read (GET) and to change something (POST)."""

    read: Audience
    change: Audience = Audience.NOBODY
    sensitive: bool = False
    """Whether a change requires a new proof of identity where the last one is too old."""
    by_itself: bool = False
    """Whether an open page requests it by itself. That extends no session, and no sign-in returns to it."""

    def of(self, method: str) -> Audience:
        return self.change if method == CHANGE_METHOD else self.read


Rules = Mapping[str, Access]
"""The rule of each endpoint. An endpoint without a rule is refused to all."""

READ: Final = Access(Audience.VIEWER)
REFRESH: Final = Access(Audience.VIEWER, by_itself=True)
"""The requests by which an open page refreshes itself."""
EDIT: Final = Access(Audience.OPERATOR, Audience.OPERATOR)
ADMINISTER: Final = Access(Audience.ADMIN, Audience.ADMIN, sensitive=True)
OPERATOR_BUTTON: Final = Access(Audience.NOBODY, Audience.OPERATOR)
"""A button that changes something for operators, without a new proof of identity."""
ADMIN_BUTTON: Final = Access(Audience.NOBODY, Audience.ADMIN, sensitive=True)
"""A button on an administrator's page."""
OWN: Final = Access(Audience.VIEWER, Audience.VIEWER)
"""Everybody's own account."""
OPEN: Final = Access(Audience.ANYONE, Audience.ANYONE)
"""Signing in. What these pages do depends on the state of the sign-in."""

OWN_SENSITIVE: Final = Access(Audience.VIEWER, Audience.VIEWER, sensitive=True)
"""Changing one's own second factor."""
OWN_BUTTON: Final = Access(Audience.NOBODY, Audience.VIEWER, sensitive=True)
"""A step of changing it."""

_CODE_PAGE: Final = "security.two_factor_token_validation"

SECURITY_RULES: Final[Rules] = {
    "security.login": OPEN,
    "security.two_factor_setup": Access(Audience.ANYONE, Audience.ANYONE, sensitive=True),
    _CODE_PAGE: Access(Audience.ANYONE, Audience.ANYONE, sensitive=True),
    "security.two_factor_setup_validate": OWN_BUTTON,
    "security.mf_recovery": OPEN,
    "security.wan_signin": OPEN,
    "security.wan_signin_response": Access(Audience.NOBODY, Audience.ANYONE),
    "security.wan_register": OWN_SENSITIVE,
    "security.wan_register_response": OWN_BUTTON,
    "security.wan_delete": OWN_BUTTON,
    "security.change_password": OWN,
    "security.logout": Access(Audience.NOBODY, Audience.VIEWER),
    "console.static": Access(Audience.ANYONE),
}
_BEFORE_THE_PASSWORD_IS_CHANGED: Final = {"security.change_password", "security.logout", "console.static"}


def may(audience: Audience) -> bool:
    """Whether the current user belongs to the audience."""
    if audience is Audience.ANYONE:
        return True
    if audience is Audience.NOBODY or not current_user.is_authenticated:
        return False
    role: Role = current_user.role
    return role.may_act_as(Role(audience.value))


def must_change_password() -> bool:
    """Whether somebody is signed in with a password that was made for them."""
    return bool(current_user.is_authenticated and current_user.must_change_password)


def guard(rules: Rules, csrf: CSRFProtect) -> ResponseReturnValue | None:
    """Runs before every route of the console: checks session and role, and for changes the CSRF token."""
    changes = _is_change()
    rule = rules.get(request.endpoint or "")
    audience = rule.of(request.method) if rule else Audience.NOBODY
    if audience is Audience.NOBODY:
        abort(404)
    if request.endpoint == "console.static":
        return None  # the error page of a lost database has its styles, too
    by_itself = rule is not None and rule.by_itself
    ended = leave_ended_session(counts_as_use=not by_itself)
    if not may(audience):
        if current_user.is_authenticated:
            _log.warning("%s %s refused to %s", request.method, request.path, current_user.email)
            abort(403)
        if changes and (page := save_form_after_end(ended)) is not None:
            return page
        # What was sent is lost, so only the address of a page that is read is worth returning to.
        back = this_address() if request.method == "GET" and not by_itself else None
        why = None if ended is None else (ended.why or "1")
        return redirect(url_for("security.login", next=back, ended=why))
    if must_change_password() and request.endpoint not in _BEFORE_THE_PASSWORD_IS_CHANGED:
        return redirect(url_for("security.change_password"))
    if audience is not Audience.ANYONE:
        allow_forms()
    if changes and (stored := _check_token(csrf, audience)) is not None:
        return stored
    if request.endpoint == _CODE_PAGE and current_user.is_authenticated and not sets_up_second_factor():
        # The library would sign out anyone who opens this page without a reason, and any link can lead here.
        return redirect(url_for("account.index"))
    return step_up(needed=rule.sensitive) if changes and rule and current_user.is_authenticated else None


def _is_change() -> bool:
    """Whether the request may change something: only POST may. A view sees nothing but GET, OPTIONS and POST.

    So no view can take HEAD for the form that it expects: neither token nor proof of identity protects it.
    """
    if request.method == CHANGE_METHOD:
        return True
    if request.method not in READ_METHODS:
        abort(405)
    if request.method == "HEAD":
        request.method = "GET"  # the server leaves out the body by the method that the browser sent
    return False


def _check_token(csrf: CSRFProtect, audience: Audience) -> ResponseReturnValue | None:
    """Check the CSRF token. A form with an outdated token is stored, to be sent again.

    A field without a name is a bad request: the library cannot read it. So is a file in place of a text:
    forms would take it for the text.

    :raises CSRFError: the token is outdated or missing, and the form is not stored.
    """
    if None in request.form or any(name != FILE_FIELD for name in request.files):
        abort(400)
    try:
        csrf.protect()
    except CSRFError:
        if request.endpoint == "security.login" and sent_by_own_page():
            flash("The page had expired. Sign in now.", "warning")
            return redirect(url_for("security.login", next=request.form.get("next") or None))
        stored = None if audience is Audience.ANYONE else save_form_after_stale_token()
        if stored is None:
            raise
        return stored
    return None
