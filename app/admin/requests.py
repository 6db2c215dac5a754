"""What the console wants to know of a request."""

from __future__ import annotations

from flask import current_app

from app.http import public


def caller() -> str:
    """The address that the request comes from, as ``TRUSTED_PROXIES`` defines it; ``-`` on a socket."""
    return str(public.caller(current_app.extensions["console"].trusted_proxies) or "-")
