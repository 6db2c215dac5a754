"""What the console wants to know of a request."""

from __future__ import annotations

from flask import current_app
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
    """Somebody at the console whose sign-in is not complete, or who has just left."""
    return Actor(email, Source.CONSOLE, caller())
