"""Sessions that cost nothing where there are none: public callers send no cookies."""

from __future__ import annotations

from ipaddress import ip_address

from flask import Flask, Request, Response, request
from flask.sessions import SecureCookieSession, SecureCookieSessionInterface, SessionMixin


class LazySessions(SecureCookieSessionInterface):
    """Flask's own signed cookies, without setting up the signing for requests that have no cookie."""

    def open_session(self, app: Flask, request: Request) -> SecureCookieSession | None:
        """The session of the request's cookie; an empty one without setting up keys when it has none."""
        if "HTTP_COOKIE" not in request.environ and app.secret_key:
            return self.session_class()
        return super().open_session(app, request)

    def save_session(self, app: Flask, session: SessionMixin, response: Response) -> None:
        """Nothing to do, not even a cookie to think about, for an empty one that nobody has looked at."""
        if session or session.accessed or session.modified:
            super().save_session(app, session, response)

    def get_cookie_secure(self, app: Flask) -> bool:
        """Cookies travel over https alone, but for a gateway that is tried out on one's own machine."""
        return not is_loopback(request.host)


def is_loopback(host: str) -> bool:
    """Whether a request's Host, with or without a port, is this machine's own name for itself."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    try:
        return name == "localhost" or ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False
