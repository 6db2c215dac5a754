"""Pages as answers: their settings, how they are rendered, their headers, and the page of an error."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, Final

from flask import Flask, Response, current_app, request, url_for
from flask.templating import Environment
from msgspec import Struct
from werkzeug.exceptions import HTTPException

from app.http.errors import as_gateway_error, retry_after
from app.http.headers import IMMUTABLE, NO_STORE, REASON, digest, needs_secure_cookies
from app.http.public import TRANSFER_PAGES
from app.observability.logs import failed_request
from app.observability.outages import FAILURES
from app.transfer_page.languages import (
    COOKIE,
    COOKIE_SECONDS,
    LANGUAGES,
    QUERY,
    current_reader,
    language_of,
    texts,
)
from app.transfer_page.reader import message
from app.values.error_catalogue import ErrorKind
from app.values.errors import GatewayError
from app.values.times import rfc3339

_KEY: Final = "pages"


class PagesInterface(Struct, frozen=True):
    """The settings, and the templates with the texts of the reader's language.

    ``waits``: whether ``/v2/waitTransferStatus`` is served at the same address as the pages. The two further
    addresses that the pages link to are empty where they are not configured.
    """

    trusted_proxies: int
    support_url: str
    refund_url: str
    waits: bool
    templates: Environment

    def refund_page(self, transfer_id: str) -> str:
        """The page of the app where this transfer's refund is claimed; empty where there is none."""
        return self.refund_url.replace("{transfer_id}", transfer_id)


def open_interface(app: Flask, interface: PagesInterface) -> None:
    """Store the interface in the application."""
    app.extensions[_KEY] = interface


def current_interface() -> PagesInterface:
    """The interface of the current application."""
    interface = current_app.extensions[_KEY]
    assert isinstance(interface, PagesInterface)  # noqa: S101  narrows the type of an untyped registry
    return interface


_log = logging.getLogger(__name__)

STATIC: Final = Path(__file__).parent / "static"

SHORTEST_RELOAD: Final = 10
"""Seconds after which a page is loaded again where the browser runs no script: a reader needs the time."""

_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # An explorer must not learn which transfer is looked at.
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "X-Robots-Tag": "noindex",
}
"""No inline code and nothing from other hosts: even an unescaped text could not run a script."""


class _Words(Struct, frozen=True):
    """Messages, to be looked up in the reader's language."""

    status: int
    title: str
    advice: str


_ERRORS: Final[dict[ErrorKind, _Words]] = {
    ErrorKind.RATE_LIMITED: _Words(
        429,
        message("Too many questions from your connection"),
        message("Your transfer is not touched by this. This page tries again by itself in a moment."),
    ),
    ErrorKind.UNAVAILABLE: _Words(
        503,
        message("We cannot look at the moment"),
        message("Your transfer goes on meanwhile; only this page cannot show it. It tries again by itself."),
    ),
    ErrorKind.INTERNAL: _Words(
        500,
        message("This page failed"),
        message("Your transfer is not touched by this. Please try again in a minute, or ask support."),
    ),
}
_NO_PAGE: Final = _Words(
    404, message("There is no such page"), message("Look your transfer up by its id or its transaction.")
)
_UNREADABLE: Final = _Words(
    400, message("The request could not be read"), message("Go back, reload the page and try again.")
)


def templates_of(app: Flask) -> Environment:
    """The application's templates, with ``gettext`` and ``ngettext`` for the pages only."""
    templates = app.jinja_env.overlay(extensions=["jinja2.ext.i18n"])
    templates.globals = dict(templates.globals)  # an overlay shares them with the console's templates
    templates.install_gettext_callables(  # type: ignore[attr-defined]  # the extension adds it
        lambda text: texts().gettext(text),
        lambda one, several, number: texts().ngettext(one, several, number),
        newstyle=True,
    )
    return templates


def page(template: str, status: int = 200, /, **shown: Any) -> Response:
    """A page. Everything it shows is passed in: it does not depend on a sign-in to the console."""
    interface = current_interface()
    text = interface.templates.get_template(f"pages/{template}").render(
        asset=_asset,
        reader=current_reader(),
        languages=LANGUAGES,
        rfc3339=rfc3339,
        support_url=interface.support_url,
        waits=interface.waits,
        shortest_reload=SHORTEST_RELOAD,
        **shown,
    )
    return Response(text, status)


def protect(response: Response) -> Response:
    """Set the headers. Caches store styles and scripts, which have versioned addresses, but no pages."""
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    by_digest = request.endpoint == "pages.static" and "v" in request.args
    name, value = NO_STORE
    response.headers[name] = IMMUTABLE if by_digest else value
    if request.endpoint != "pages.static":
        response.headers["Content-Language"] = current_reader().language
        response.vary.update(("Accept-Language", "Cookie"))
        _remember(response)
    return response


def _remember(response: Response) -> None:
    """Store a language that was chosen by hand in the browser: the only cookie of the pages."""
    chosen = language_of(request.args.get(QUERY, ""))
    if chosen is not None:
        response.set_cookie(
            COOKIE,
            chosen,
            max_age=COOKIE_SECONDS,
            path=TRANSFER_PAGES,
            secure=needs_secure_cookies(current_interface().trusted_proxies),
            httponly=True,
            samesite="Lax",
        )


def answer_error(error: Exception) -> Response:
    """A page that says what is wrong and what to do, with the same design as the others."""
    answered = as_gateway_error(error)
    words = _words(error, answered)
    if words.status >= 500:
        level = logging.ERROR if words.status == 500 else logging.WARNING
        path = request.path
        FAILURES.report(_log, level, "%s %s answered %d", request.method, path, words.status, error=error)
    seconds = retry_after(answered)
    again = max(seconds or 0, SHORTEST_RELOAD) if words.status in (429, 503) else 0
    response = page(
        "error.html",
        words.status,
        words=words,
        again=again if request.method == "GET" else 0,
        request_id=failed_request(words.status),
    )
    response.headers[REASON] = answered.reason.value
    if seconds:
        response.headers["Retry-After"] = str(seconds)
    return protect(response)


def _words(error: Exception, answered: GatewayError) -> _Words:
    if answered.kind in (ErrorKind.RATE_LIMITED, ErrorKind.UNAVAILABLE):
        return _ERRORS[answered.kind]
    if isinstance(error, HTTPException) and error.code is not None and 400 <= error.code < 500:
        if error.code == 404:
            return _NO_PAGE
        return _Words(error.code, _UNREADABLE.title, _UNREADABLE.advice)
    return _ERRORS[ErrorKind.INTERNAL] if answered.kind is ErrorKind.INTERNAL else _UNREADABLE


def _asset(name: str) -> str:
    """The address of a static file. It changes with the content, so caches may store the file for ever."""
    return url_for("pages.static", filename=name, v=digest(STATIC / name))
