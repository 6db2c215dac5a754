"""The routes of the pages: a transfer by its id or its transaction, a form to look one up, and one button.

They are opened together with the public operations. The server renders the whole page, so it needs no
script. It takes no wallet, because thieves copy pages that do.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any, Final

from flask import Blueprint, Flask, Response, redirect, request, url_for
from flask.templating import Environment
from flask.typing import ResponseReturnValue
from msgspec import Struct
from msgspec.structs import replace
from werkzeug.exceptions import HTTPException, NotFound

from app.db.database import Database
from app.http.application import add_part, current
from app.http.errors import answer_errors_by_pages, as_gateway_error, retry_after
from app.http.headers import IMMUTABLE, NO_STORE, REASON, digest, needs_secure_cookies
from app.http.limits import RefundRequestLimit
from app.http.mounted import below
from app.http.public import PREFIX, TRANSFER_PAGES, caller
from app.network.snapshot import SnapshotSource
from app.observability.logs import failed_request
from app.observability.outages import FAILURES
from app.refunds.services import request_refund
from app.transfer_page.languages import (
    COOKIE,
    COOKIE_SECONDS,
    LANGUAGES,
    QUERY,
    current_reader,
    language_of,
    open_languages,
    texts,
)
from app.transfer_page.rules.reader import message
from app.transfer_page.rules.steps import FollowedTransfer, NotSeen
from app.transfer_page.services import PageWording, follow_transfer
from app.transfers.rules.progress import NextActor
from app.transfers.rules.refunds.request_message import WithdrawRequest
from app.transfers.services.lookups import Wording
from app.values.codes import Reason
from app.values.codes import TransferHistoryStatus as Status
from app.values.error_catalogue import ErrorKind
from app.values.errors import GatewayError
from app.values.times import rfc3339
from app.values.wire_values import parse_transfer_id, parse_tx_hash


class PagesInterface(Struct, frozen=True):
    """The settings, and the templates with the texts of the reader's language. The two addresses that the
    pages link to are empty where they are not configured. ``waits``: whether ``/v2/waitTransferStatus`` is
    served at the same address as the pages.
    """

    trusted_proxies: int
    support_url: str
    refund_url: str
    waits: bool
    templates: Environment

    def refund_page(self, transfer_id: str) -> str:
        """The page of the app where this transfer's refund is claimed; empty where there is none."""
        return self.refund_url.replace("{transfer_id}", transfer_id)


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
        message("Too many requests from your connection"),
        message("Your transfer is not affected. This page tries again by itself in a moment."),
    ),
    ErrorKind.UNAVAILABLE: _Words(
        503,
        message("We cannot show your transfer at the moment"),
        message("Your transfer continues meanwhile. This page tries again by itself."),
    ),
    ErrorKind.INTERNAL: _Words(
        500,
        message("This page failed"),
        message("Your transfer is not affected. Please try again in a minute, or ask support."),
    ),
}
_NOT_REQUESTED: Final = message("Your refund may not be requested yet. Go back, check, and try again later.")
"""For the button, which the page does not press again by itself."""

_NO_PAGE: Final = _Words(
    404, message("There is no such page"), message("Look up your transfer by its id or transaction hash.")
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
    interface = current(PagesInterface)
    text = interface.templates.get_template(f"pages/{template}").render(
        asset=_asset,
        reader=current_reader(),
        languages=LANGUAGES,
        rfc3339=rfc3339,
        support_url=interface.support_url,
        waits=below(f"{PREFIX}/waitTransferStatus") if interface.waits else "",
        look_up=url_for("pages.look_up"),
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
            path=below(TRANSFER_PAGES),
            secure=needs_secure_cookies(current(PagesInterface).trusted_proxies),
            httponly=True,
            samesite="Lax",
        )


def answer_error(error: Exception) -> Response:
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
        words = _ERRORS[answered.kind]
        return replace(words, advice=_NOT_REQUESTED) if request.method == "POST" else words
    if isinstance(error, HTTPException) and error.code is not None and 400 <= error.code < 500:
        if error.code == 404:
            return _NO_PAGE
        return _Words(error.code, _UNREADABLE.title, _UNREADABLE.advice)
    return _ERRORS[ErrorKind.INTERNAL] if answered.kind is ErrorKind.INTERNAL else _UNREADABLE


def _asset(name: str) -> str:
    """The address of a static file. It changes with the content, so caches may store the file for ever."""
    return url_for("pages.static", filename=name, v=digest(STATIC / name))


class Look(Struct, frozen=True):
    """``tone`` is one of the style sheet's; ``turn``, a message, is shown above the headline."""

    tone: str
    turn: str


_OVER: Final[dict[Status, Look]] = {
    Status.TRANSFER_COMPLETED: Look("good", message("Done")),
    Status.TRANSFER_REFUNDED: Look("good", message("Done")),
    Status.TRANSFER_FAILED: Look("bad", message("Failed")),
}
_OF_USER: Final = Look("warn", message("Your turn"))
_LOST: Final = Look("plain", message("Please check your wallet"))
_ON_THE_WAY: Final = Look("busy", message("On its way"))
_REFUND: Final = Look("busy", message("Refund on its way"))
_HELD: Final = Look("busy", message("Held back for some time"))


def look_of(followed: FollowedTransfer) -> Look:
    if followed.status in _OVER:
        return _OVER[followed.status]
    if followed.progress.next_actor is NextActor.USER:
        return _OF_USER
    if followed.status is Status.TRANSFER_UNKNOWN:
        return _LOST
    if followed.status is Status.TRANSFER_DELAYED or followed.held is not None:
        return _HELD
    if followed.status in (Status.TRANSFER_REQUESTING_REFUND, Status.TRANSFER_CONFIRMING_YOUR_REFUND):
        return _REFUND
    return _ON_THE_WAY


MOST: Final = 2_000
"""Characters that are read: links of explorers are shorter."""

_HASH: Final = re.compile(r"(?<![0-9a-zA-Z])(?:0[xX])?[0-9a-fA-F]{64}(?![0-9a-zA-Z])", re.ASCII)


def read_key(text: str) -> str | None:
    """The key for ``follow_transfer``; None where the text has none.

    In a link or a message the last hash counts. Hashes of chains that are no EVM are letters and digits: they
    are read only without other text around them. A hash may be broken into lines.
    """
    text = text[:MOST]
    whole = _HASH.findall(text)
    try:
        return parse_tx_hash(whole[-1] if whole else "".join(text.split()))
    except ValueError:
        return None


pages = Blueprint(
    "pages", __name__, template_folder="templates", static_folder="static", static_url_path="/pages/static"
)
pages.after_request(protect)

_SEE_OTHER: Final = 303


@pages.get(TRANSFER_PAGES)
def look_up() -> ResponseReturnValue:
    """The form. With a hash in the request it leads to the page of the transfer."""
    typed = request.args.get("key", "")
    key = read_key(typed)
    if key is not None:
        return redirect(url_for("pages.transfer", key=key), _SEE_OTHER)
    return page("look_up.html", 400 if typed.strip() else 200, typed=typed)


@pages.get(f"{TRANSFER_PAGES}<path:key>")
def transfer(key: str) -> ResponseReturnValue:
    """Where a transfer is. Its one address has its id in lower case with 0x."""
    read = read_key(key)
    if read is None:
        return page("look_up.html", 404, typed=key)
    followed = follow_transfer(current(Database), current(SnapshotSource), read, current_reader())
    if isinstance(followed, NotSeen):
        return page("not_seen.html", 404, followed=followed)
    if not isinstance(followed, FollowedTransfer):
        return page("several.html", transfers=followed)
    if key != followed.transfer_id:
        return redirect(url_for("pages.transfer", key=followed.transfer_id), _SEE_OTHER)
    refund_page = current(PagesInterface).refund_page(followed.transfer_id)
    return page("transfer.html", followed=followed, look=look_of(followed), refund_page=refund_page)


@pages.post(f"{TRANSFER_PAGES}<transfer_id>/refund")
def request_refund_by_page(transfer_id: str) -> ResponseReturnValue:
    """Request the refund, as every client can (docs/api/withdrawLiquidity.md#rules), and show the page again.

    Where a refund cannot be requested any more, the page says what has happened instead.
    """
    try:
        wanted = parse_transfer_id(transfer_id)
    except ValueError:
        raise NotFound from None
    try:
        request_refund(
            current(Database),
            current(SnapshotSource),
            current(RefundRequestLimit),
            WithdrawRequest(wanted, 0),
            caller(current(PagesInterface).trusted_proxies),
        )
    except GatewayError as error:
        if error.reason not in (Reason.REFUND_NOT_AVAILABLE, Reason.TRANSFER_NOT_FOUND):
            raise
    return redirect(url_for("pages.transfer", key=f"0x{wanted.hex()}"), _SEE_OTHER)


def open_pages(app: Flask, *, trusted_proxies: int, support_url: str, refund_url: str, waits: bool) -> None:
    """Serve the pages under ``/transfer/``, and pages for the errors there.

    :param refund_url: the page of the app where refunds are claimed, maybe with ``{transfer_id}`` in it.
    """
    interface = PagesInterface(trusted_proxies, support_url, refund_url, waits, templates_of(app))
    add_part(app, PagesInterface, interface)
    open_languages(app)
    app.register_blueprint(pages)
    add_part(app, Wording, PageWording())
    answer_errors_by_pages(app, TRANSFER_PAGES, answer_error)
