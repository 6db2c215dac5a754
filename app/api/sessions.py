"""Sessions for the console, without their cost for public requests, which send no cookies."""

from __future__ import annotations

from typing import Final

from flask import Flask, Request, Response
from flask.sessions import SecureCookieSession, SecureCookieSessionInterface, SessionMixin

from app.http.transport import needs_secure_cookies, over_https

SECURE_PREFIX: Final = "__Secure-"
"""Browsers take a cookie whose name begins like this over https alone, and only with Secure."""


class LazySessions(SecureCookieSessionInterface):
    """Flask's own signed cookies, without setting up the signing for requests that have no cookie.

    Over https the cookie has a name of its own, so that none that was planted over http counts there.
    """

    def __init__(self, trusted_proxies: int) -> None:
        self._trusted_proxies = trusted_proxies

    def open_session(self, app: Flask, request: Request) -> SecureCookieSession | None:
        """The session of the request's cookie; an empty one, without signing keys, where there is none."""
        if "HTTP_COOKIE" not in request.environ and app.secret_key:
            return self.session_class()
        return super().open_session(app, request)

    def save_session(self, app: Flask, session: SessionMixin, response: Response) -> None:
        """Save the session, unless it is empty and was neither read nor changed."""
        if session or session.accessed or session.modified:
            super().save_session(app, session, response)

    def get_cookie_name(self, app: Flask) -> str:
        """The cookie's name for the scheme of the request."""
        name = super().get_cookie_name(app)
        return f"{SECURE_PREFIX}{name}" if over_https(self._trusted_proxies) else name

    def get_cookie_secure(self, app: Flask) -> bool:
        """Whether the cookie is for https alone."""
        return needs_secure_cookies(self._trusted_proxies)
