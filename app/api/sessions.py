"""Sessions for the console, without their cost for public requests, which send no cookies."""

from __future__ import annotations

from ipaddress import ip_address

from flask import Flask, Request, Response, request
from flask.sessions import SecureCookieSession, SecureCookieSessionInterface, SessionMixin


class LazySessions(SecureCookieSessionInterface):
    """Flask's own signed cookies, without setting up the signing for requests that have no cookie."""

    def open_session(self, app: Flask, request: Request) -> SecureCookieSession | None:
        """The session of the request's cookie; an empty one, without signing keys, where there is none."""
        if "HTTP_COOKIE" not in request.environ and app.secret_key:
            return self.session_class()
        return super().open_session(app, request)

    def save_session(self, app: Flask, session: SessionMixin, response: Response) -> None:
        """Save the session, unless it is empty and was neither read nor changed."""
        if session or session.accessed or session.modified:
            super().save_session(app, session, response)

    def get_cookie_secure(self, app: Flask) -> bool:
        """Cookies are sent over https alone, except to a gateway on the browser's own machine."""
        return not is_loopback(request.host)


def is_loopback(host: str) -> bool:
    """Whether a Host header, with or without a port, names the loopback interface."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    try:
        return name == "localhost" or ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False
