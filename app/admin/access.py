"""Who may do what in the console: a rule for every route, enforced before any of them runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from flask import abort, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_login import current_user
from flask_wtf.csrf import CSRFProtect

from app.admin.requests import allow_forms
from app.admin.sign_in.sessions import leave_ended_session
from app.domain.operators import Role

READ_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class Audience(StrEnum):
    """Whom a route is for. Each includes those after it, except NOBODY."""

    ANYONE = "anyone"
    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Access:
    """Whom a route is for when it is read (GET) and when it changes something (POST)."""

    read: Audience
    change: Audience = Audience.NOBODY

    def of(self, method: str) -> Audience:
        """The audience of one method."""
        return self.read if method in READ_METHODS else self.change


Rules = Mapping[str, Access]
"""The rule of each endpoint. An endpoint without a rule is for nobody."""

READ: Final = Access(Audience.VIEWER)
EDIT: Final = Access(Audience.OPERATOR, Audience.OPERATOR)
ADMINISTER: Final = Access(Audience.ADMIN, Audience.ADMIN)
OWN: Final = Access(Audience.VIEWER, Audience.VIEWER)
"""Everybody's own account."""
OPEN: Final = Access(Audience.ANYONE, Audience.ANYONE)
"""Signing in. What these pages do depends on the state of the sign-in."""

SECURITY_RULES: Final[Rules] = {
    "security.login": OPEN,
    "security.two_factor_setup": OPEN,
    "security.two_factor_token_validation": OPEN,
    "security.two_factor_setup_validate": Access(Audience.NOBODY, Audience.VIEWER),
    "security.change_password": OWN,
    "security.verify": OWN,
    "security.logout": Access(Audience.NOBODY, Audience.VIEWER),
    "console.static": Access(Audience.ANYONE),
}


def may(audience: Audience) -> bool:
    """Whether the current user belongs to the audience."""
    if audience is Audience.ANYONE:
        return True
    if audience is Audience.NOBODY or not current_user.is_authenticated:
        return False
    role: Role = current_user.role
    return role.may_act_as(Role(audience.value))


def guard(rules: Rules, csrf: CSRFProtect) -> ResponseReturnValue | None:
    """Runs before every route of the console: checks session and role, and for changes the CSRF token."""
    rule = rules.get(request.endpoint or "")
    audience = rule.of(request.method) if rule else Audience.NOBODY
    if audience is Audience.NOBODY:
        abort(404)
    ended = leave_ended_session()
    if not may(audience):
        if current_user.is_authenticated:
            abort(403)
        # A POST cannot be repeated after signing in: only the address of a read page is remembered.
        back = request.full_path.rstrip("?") if request.method == "GET" else None
        return redirect(url_for("security.login", next=back, ended="1" if ended else None))
    if audience is not Audience.ANYONE:
        allow_forms()
    if request.method not in READ_METHODS:
        csrf.protect()
    return None
