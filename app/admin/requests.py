"""Facts about a request of the console: its caller, its actor, unexpected fields."""

from __future__ import annotations

from collections.abc import Iterable

from flask import current_app, request
from flask_login import current_user

from app.domain.audit import Actor, Source
from app.http import public


def caller() -> str:
    """The address that the request comes from, as ``TRUSTED_PROXIES`` defines it; ``-`` on a socket."""
    return str(public.caller(current_app.extensions["console"].trusted_proxies) or "-")


def actor() -> Actor:
    """Who is signed in, as the audit names them."""
    return actor_named(current_user.email)


def actor_named(email: str) -> Actor:
    """The actor of a given email: for a sign-in that is not complete, or just after a sign-out."""
    return Actor(email, Source.CONSOLE, caller())


TOKEN_FIELD = "csrf_token"  # noqa: S105  its name, not one
"""The name of the CSRF token, which every form sends."""


def unexpected_field_complaint(known: Iterable[str]) -> str | None:
    """The message for a request with fields that its form does not have; None where there are none.

    Ignoring such a field would let its sender believe that it counted.
    """
    unexpected = sorted({*request.form, *request.files} - {*known, TOKEN_FIELD})
    if not unexpected:
        return None
    shown = ", ".join(f"“{name[:60]}”" for name in unexpected[:5])
    return f"This form has no field {shown}: nothing was changed. Load the page again."
