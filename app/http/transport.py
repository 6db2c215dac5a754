"""Whether a request came over https, what every answer then says about it, and the cookie of the console."""

from __future__ import annotations

from functools import partial
from ipaddress import ip_address
from typing import Final

from flask import Flask, Request, Response, request
from flask.sessions import SecureCookieSession, SecureCookieSessionInterface, SessionMixin

from app.http.headers import AS_IT_IS, NO_STORE

HSTS: Final = "max-age=31536000"
"""A year, for this host alone: what else is under its name is not ours to decide."""


def over_https(trusted_proxies: int) -> bool:
    """Whether the caller is known to have used https: the connection is, or a trusted proxy says so.

    ``X-Forwarded-Proto`` counts as ``X-Forwarded-For`` does. Many proxies set it instead of adding to it:
    where there are fewer entries than proxies, the first one counts.
    """
    if request.environ.get("wsgi.url_scheme") == "https":
        return True
    entries = _forwarded_schemes() if trusted_proxies else []
    return bool(entries) and entries[-min(trusted_proxies, len(entries))] == "https"


def needs_secure_cookies(trusted_proxies: int) -> bool:
    """Whether cookies are for https alone: everywhere but over http on the browser's own machine.

    Also where only the caller claims https. It can harm nobody but itself by it, and behind a proxy that
    TRUSTED_PROXIES does not count the cookie is protected all the same.
    """
    if over_https(trusted_proxies) or "https" in _forwarded_schemes():
        return True
    return not _is_loopback(request.host)


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


def register(app: Flask, *, trusted_proxies: int) -> None:
    """Let every answer over https say that https alone is to be used, and redirects keep to the scheme.

    Sessions cost requests without cookies nothing.
    """
    app.session_interface = LazySessions(trusted_proxies)
    app.after_request(partial(_protect, trusted_proxies))


def _protect(trusted_proxies: int, response: Response) -> Response:
    if over_https(trusted_proxies):
        response.headers.setdefault("Strict-Transport-Security", HSTS)
    if 300 <= response.status_code < 400 and "Location" in response.headers:
        response.headers["Location"] = _without_own_host(response.headers["Location"])
        # Those of the routing have a page with the Host header in it, and no headers of their own.
        for name, value in (NO_STORE, *AS_IT_IS):
            response.headers.setdefault(name, value)
    return response


def _without_own_host(location: str) -> str:
    """Where a redirect leads. Absolute ones are of the routing, with the scheme of the last hop."""
    own = f"{request.scheme}://{request.host}/"
    path = location[len(own) - 1 :]
    # The routing writes the host in lower case. A path of two slashes would be another host.
    if location[: len(own)].lower() != own.lower() or path.startswith(("//", "/\\")):
        return location
    return path


def _forwarded_schemes() -> list[str]:
    """The entries of ``X-Forwarded-Proto``."""
    header = request.environ.get("HTTP_X_FORWARDED_PROTO", "")
    return [entry.strip().lower() for entry in header.split(",")] if header else []


def _is_loopback(host: str) -> bool:
    """Whether a Host header, with or without a port, names the loopback interface."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    try:
        return name == "localhost" or ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False
