"""Facts about a request of the console: its caller, its actor, unexpected fields."""

from __future__ import annotations

from collections.abc import Iterable

from flask import current_app, request
from flask_login import current_user

from app.domain.audit import Actor, Source
from app.domain.blocking import IPAddress
from app.domain.caller import counted_network
from app.http import public


def caller() -> str:
    """The address that the request comes from, as ``TRUSTED_PROXIES`` defines it; ``-`` on a socket."""
    return str(_caller() or "-")


def network() -> str:
    """What the caller's guesses are counted by; ``-`` on a socket."""
    address = _caller()
    return "-" if address is None else counted_network(address)


def _caller() -> IPAddress | None:
    return public.caller(current_app.extensions["console"].trusted_proxies)


def actor() -> Actor:
    """Who is signed in, as the audit names them."""
    return actor_named(current_user.email)


def actor_named(email: str) -> Actor:
    """The actor of an account's email: just after it signed in, or out."""
    return Actor(email, Source.CONSOLE, caller())


def actor_unknown() -> Actor:
    """Somebody who tries to sign in. Whose email they typed says nothing about who they are."""
    return Actor("not signed in", Source.CONSOLE, caller())


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
