"""Whether a request came over https, and what every answer then says about it."""

from __future__ import annotations

from functools import partial
from ipaddress import ip_address
from typing import Final

from flask import Flask, Response, request

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


def register(app: Flask, *, trusted_proxies: int) -> None:
    """Let every answer over https say that https alone is to be used, and redirects keep to the scheme."""
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
