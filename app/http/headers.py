"""All headers of answers that are not HTTP's own, those that https demands, and the console's cookie."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from functools import cache, partial
from ipaddress import ip_address
from itertools import islice
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import orjson
from flask import Flask, Request, Response, request
from flask.sessions import SecureCookieSession, SecureCookieSessionInterface, SessionMixin

from app.values.identifiers import TransferId

REASON: Final = "X-Gateway-Reason"
"""The header of a refusal that names its cause (docs/interface/answers.md#reasons)."""

JSON: Final = ("Content-Type", "application/json")
NO_STORE: Final = ("Cache-Control", "no-store")
NO_SNIFF: Final = ("X-Content-Type-Options", "nosniff")
NO_FRAMES: Final = ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")

AS_IT_IS: Final = (NO_SNIFF, NO_FRAMES)
"""A browser must use the declared type, load nothing for the answer, and show it in no other page."""

IMMUTABLE: Final = "public, max-age=31536000, immutable"
"""``Cache-Control`` of a file whose address has its digest."""

PRIVATE_HEADERS: Final = (JSON, NO_STORE, *AS_IT_IS)
"""Headers of an answer that pages of other origins may not read."""


@cache
def digest(file: Path) -> str:
    """A few digits that change with the content of the file, which is read once.

    Caches can store an address with them for ever.
    """
    return hashlib.sha256(file.read_bytes()).hexdigest()[:12]


def private_answer(document: Any) -> Response:
    """A document as a successful answer that pages of other origins may not read."""
    return Response(orjson.dumps(document), 200, PRIVATE_HEADERS)


TERMINAL: Final = "X-Transfer-Terminal"
FINAL_BY: Final = "X-Transfer-Final-By"
NEXT_ACTOR: Final = "X-Transfer-Next-Actor"
NEXT_POLL: Final = "X-Transfer-Next-Poll-Seconds"
AS_OF: Final = "X-Transfer-As-Of"

PROGRESS_HEADERS: Final = (TERMINAL, FINAL_BY, NEXT_ACTOR, NEXT_POLL, AS_OF)

MEANT: Final = "X-Transfer-Id"
"""The transfer of a transaction whose hash was sent as an id
(docs/api/getTransferStatus.md#transaction-as-id).
"""


MEANT_COUNT: Final = "X-Transfer-Count"
"""How many transfers a transaction has, if several (docs/api/getTransferStatus.md#by-transaction)."""


def meant_headers(meant: TransferId | None, count: int) -> list[tuple[str, str]]:
    """The headers about a transaction that was sent in place of an id: the transfer that is meant, and of how
    many it is the first.
    """
    named = [] if meant is None else [(MEANT, f"0x{meant.hex()}")]
    return [*named, (MEANT_COUNT, str(count))] if count > 1 else named


REQUEST_ID: Final = "X-Request-Id"

IGNORED: Final = "X-Gateway-Ignored"
"""The names of parameters that were sent and not read (docs/interface/answers.md#ignored)."""

MOST_IGNORED: Final = 10
"""So many names are in it."""

_IGNORED_KEY: Final = "gateway.ignored"
_LONGEST_NAME: Final = 64


def note_ignored(names: Collection[str]) -> None:
    """Have the answer to the current request name these parameters."""
    if names:
        request.environ.setdefault(_IGNORED_KEY, {}).update(dict.fromkeys(names))


def ignored_names() -> str:
    """The value of the header for the current request; empty where all was read."""
    names = request.environ.get(_IGNORED_KEY)
    if names is None:
        return ""
    shown = islice(names, MOST_IGNORED)
    return ", ".join(quote(name[:_LONGEST_NAME], safe="[]", errors="replace") for name in shown)


HSTS: Final = "max-age=31536000"
"""A year, only for this host: other hosts under its name are not ours."""


def over_https(trusted_proxies: int) -> bool:
    """Whether the caller is known to have used https: the connection is, or a trusted proxy says so.

    ``X-Forwarded-Proto`` is read like ``X-Forwarded-For``. Many proxies set it instead of adding to it: where
    there are fewer entries than proxies, the first one counts.
    """
    if request.environ.get("wsgi.url_scheme") == "https":
        return True
    entries = _forwarded_schemes() if trusted_proxies else []
    return bool(entries) and entries[-min(trusted_proxies, len(entries))] == "https"


def needs_secure_cookies(trusted_proxies: int) -> bool:
    """Whether cookies are only for https: everywhere except over http on the browser's own machine.

    Also where only the caller claims https. A false claim harms only the caller, and behind a proxy that
    TRUSTED_PROXIES does not count the cookie is still protected.
    """
    if over_https(trusted_proxies) or "https" in _forwarded_schemes():
        return True
    return not _is_loopback(request.host)


SECURE_PREFIX: Final = "__Secure-"
"""Browsers accept a cookie whose name begins like this only over https, and only with Secure."""


class LazySessions(SecureCookieSessionInterface):
    """Flask's own signed cookies, without setting up the signing for requests that have no cookie.

    Over https the cookie has another name, so that one planted over http is not accepted there.
    """

    def __init__(self, trusted_proxies: int) -> None:
        self._trusted_proxies = trusted_proxies

    def open_session(self, app: Flask, request: Request) -> SecureCookieSession | None:
        if "HTTP_COOKIE" not in request.environ and app.secret_key:
            return self.session_class()
        return super().open_session(app, request)

    def save_session(self, app: Flask, session: SessionMixin, response: Response) -> None:
        if session or session.accessed or session.modified:
            super().save_session(app, session, response)

    def get_cookie_name(self, app: Flask) -> str:
        name = super().get_cookie_name(app)
        return f"{SECURE_PREFIX}{name}" if over_https(self._trusted_proxies) else name

    def get_cookie_path(self, app: Flask) -> str:
        return f"{request.root_path}{super().get_cookie_path(app)}"

    def get_cookie_secure(self, app: Flask) -> bool:
        return needs_secure_cookies(self._trusted_proxies)


def require_https(app: Flask, *, trusted_proxies: int) -> None:
    """Make every answer over https require https from then on, and redirects stay on the scheme."""
    app.session_interface = LazySessions(trusted_proxies)
    app.after_request(partial(_protect, trusted_proxies))


def _protect(trusted_proxies: int, response: Response) -> Response:
    if over_https(trusted_proxies):
        response.headers.setdefault("Strict-Transport-Security", HSTS)
    if 300 <= response.status_code < 400 and "Location" in response.headers:
        response.headers["Location"] = _without_own_host(response.headers["Location"])
        # Redirects and errors of the routing have a page with the Host header in it, and no headers of their
        # own.
        for name, value in (NO_STORE, *AS_IT_IS):
            response.headers.setdefault(name, value)
    return response


def _without_own_host(location: str) -> str:
    """Where a redirect leads. Absolute ones come from the routing, with the scheme of the last hop."""
    own = f"{request.scheme}://{request.host}/"
    path = location[len(own) - 1 :]
    # The routing writes the host in lower case. A path with two slashes would be another host.
    if location[: len(own)].lower() != own.lower() or path.startswith(("//", "/\\")):
        return location
    return path


def _forwarded_schemes() -> list[str]:
    header = request.environ.get("HTTP_X_FORWARDED_PROTO", "")
    return [entry.strip().lower() for entry in header.split(",")] if header else []


def _is_loopback(host: str) -> bool:
    """Whether a Host header, with or without a port, names the loopback interface."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    try:
        return name == "localhost" or ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False
