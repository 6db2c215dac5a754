"""Who calls the console, and who may do what: a rule for every route, enforced before any of them runs."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Final

from flask import Flask, abort, current_app, flash, g, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_login import current_user
from flask_wtf.csrf import CSRFError, CSRFProtect
from msgspec import Struct
from werkzeug.routing import IntegerConverter, ValidationError

from app.accounts.roles import Role
from app.accounts.sign_in.datastore import leave_ended_session, sets_up_second_factor
from app.accounts.sign_in.step_up import (
    save_form_after_end,
    save_form_after_stale_token,
    sent_by_own_page,
    step_up,
)
from app.audit.records import Actor, Source
from app.http import public
from app.http.public import TRANSFER_PAGES
from app.values.ip_addresses import IPAddress, counted_network

_log = logging.getLogger(__name__)

FILE_FIELD: Final = "file"
"""The name of the file in each form that accepts one."""

READ_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


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
        """The audience of one method."""
        return self.read if method in READ_METHODS else self.change


Rules = Mapping[str, Access]
"""The rule of each endpoint. An endpoint without a rule is refused to all."""

READ: Final = Access(Audience.VIEWER)
REFRESH: Final = Access(Audience.VIEWER, by_itself=True)
"""The requests by which an open page refreshes itself."""
EDIT: Final = Access(Audience.OPERATOR, Audience.OPERATOR)
ADMINISTER: Final = Access(Audience.ADMIN, Audience.ADMIN, sensitive=True)
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
    rule = rules.get(request.endpoint or "")
    audience = rule.of(request.method) if rule else Audience.NOBODY
    if audience is Audience.NOBODY:
        abort(404)
    if request.endpoint == "console.static":
        return None  # the error page of a lost database has its styles, too
    by_itself = rule is not None and rule.by_itself
    ended = leave_ended_session(counts_as_use=not by_itself)
    changes = request.method not in READ_METHODS
    if not may(audience):
        if current_user.is_authenticated:
            _log.warning("%s %s refused to %s", request.method, request.path, current_user.email)
            abort(403)
        if changes and (page := save_form_after_end(ended)) is not None:
            return page
        # What was sent is lost, so only the address of a page that is read is worth returning to.
        back = request.full_path.rstrip("?") if request.method == "GET" and not by_itself else None
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


LARGEST_ID: Final = (1 << 63) - 1
"""The largest integer that both databases can store."""

_LONGEST: Final = len(str(LARGEST_ID))


def read_id(text: str) -> int | None:
    """The number in a text; None where it is not a number, or larger than a row number can be."""
    if not (text.isascii() and text.isdecimal()) or len(text) > _LONGEST:
        return None
    number = int(text)
    return number if number <= LARGEST_ID else None


class IdConverter(IntegerConverter):
    """A row number in an address. A number that no row can have is a page that does not exist."""

    def to_python(self, value: str) -> Any:
        number = read_id(value)
        if number is None:
            raise ValidationError
        return number


def match_row_numbers(app: Flask) -> None:
    """Let ``<int:…>`` in the console's addresses match only numbers of rows."""
    app.url_map.converters["int"] = IdConverter


SIGNED_IN_BYTES: Final = 8 * 1024 * 1024
"""The largest form, in bytes, after signing in: ten thousand base fees take half of it."""

SIGNED_IN_PARTS: Final = 1000
"""Its fields."""


def want_forms(largest: int) -> None:
    """Register that a view accepts forms of so many bytes."""
    g.largest_form = largest


def allow_forms() -> None:
    """Accept forms as large as the view registered. Before, only the size of a sign-in is accepted."""
    largest = g.get("largest_form", SIGNED_IN_BYTES)
    request.max_form_memory_size = request.max_content_length = largest
    request.max_form_parts = SIGNED_IN_PARTS


def caller() -> str:
    """The address that the request comes from, as ``TRUSTED_PROXIES`` defines it; ``-`` on a socket."""
    return str(_caller() or "-")


def network() -> str:
    """The key by which the caller's guesses are counted; ``-`` on a socket."""
    address = _caller()
    return "-" if address is None else counted_network(address)


def page_of_user(transfer_id: str) -> str:
    """The address of the page where a user follows a transfer; empty while ``PUBLIC_URL`` is not set.

    :param transfer_id: lower-case hex with 0x.
    """
    public_url: str = current_app.extensions["console"].public_url
    return f"{public_url}{TRANSFER_PAGES}{transfer_id}" if public_url else ""


def _caller() -> IPAddress | None:
    return public.caller(current_app.extensions["console"].trusted_proxies)


def actor() -> Actor:
    """Who is signed in, as the audit names them."""
    return actor_named(current_user.email)


def actor_named(email: str) -> Actor:
    """The actor of an account's email: just after it signed in, or out."""
    return Actor(email, Source.CONSOLE, caller())


def actor_unknown() -> Actor:
    """The actor of an attempt to sign in. The typed email does not prove who it is."""
    return Actor("not signed in", Source.CONSOLE, caller())


TOKEN_FIELD = "csrf_token"  # noqa: S105  its name, not one
"""The name of the CSRF token, which every form sends."""


def unexpected_field_complaint(known: Iterable[str]) -> str | None:
    """The message for a request with fields that its form does not have; None where there are none.

    If such a field were ignored, its sender would believe that it counted.
    """
    unexpected = sorted({*request.form, *request.files} - {*known, TOKEN_FIELD})
    if not unexpected:
        return None
    shown = ", ".join(f"“{name[:60]}”" for name in unexpected[:5])
    return f"This form has no field {shown}: nothing was changed. Load the page again."
