"""The routes of the pages: a transfer by its id or its transaction, a form to look one up, and one button.

They are opened together with the public operations (docs/decisions/0046-the-page-of-a-transfer.md).
"""

from __future__ import annotations

import re
from typing import Final

from flask import Blueprint, Flask, redirect, request, url_for
from flask.typing import ResponseReturnValue
from msgspec import Struct
from werkzeug.exceptions import NotFound

from app.db.database import Database
from app.http.application import add_part, current
from app.http.errors import answer_errors_by_pages
from app.http.limits import RefundRequestLimit
from app.http.public import TRANSFER_PAGES, caller
from app.network.snapshot import SnapshotSource
from app.refunds.request import WithdrawRequest
from app.refunds.services import request_refund
from app.transfer_page import answers
from app.transfer_page.answers import (
    PagesInterface,
    current_interface,
    open_interface,
    page,
    protect,
    templates_of,
)
from app.transfer_page.languages import current_reader, open_languages
from app.transfer_page.reader import message
from app.transfer_page.services import PageWording, follow_transfer
from app.transfer_page.shapes import FollowedTransfer, NotSeen
from app.transfers.progress import NextActor
from app.transfers.services.lookups import Wording
from app.values.codes import Reason
from app.values.codes import TransferHistoryStatus as Status
from app.values.errors import GatewayError
from app.values.wire_values import parse_transfer_id, parse_tx_hash


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
    """The look of a transfer at its status."""
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
    refund_page = current_interface().refund_page(followed.transfer_id)
    return page("transfer.html", followed=followed, look=look_of(followed), refund_page=refund_page)


@pages.post(f"{TRANSFER_PAGES}<transfer_id>/refund")
def request_refund_by_page(transfer_id: str) -> ResponseReturnValue:
    """Request the refund, as every client can (docs/interface.md#refund-ask), and show the page again.

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
            caller(current_interface().trusted_proxies),
        )
    except GatewayError as error:
        if error.reason not in (Reason.REFUND_NOT_AVAILABLE, Reason.TRANSFER_NOT_FOUND):
            raise
    return redirect(url_for("pages.transfer", key=f"0x{wanted.hex()}"), _SEE_OTHER)


def open_pages(app: Flask, *, trusted_proxies: int, support_url: str, refund_url: str, waits: bool) -> None:
    """Serve the pages under ``/transfer/``, and pages for the errors there.

    :param support_url: where users get help; empty where it is not configured.
    :param refund_url: the page of the app where refunds are claimed, maybe with ``{transfer_id}`` in it.
    :param waits: whether waiting is served at the same address, so that a page may use it.
    """
    open_interface(app, PagesInterface(trusted_proxies, support_url, refund_url, waits, templates_of(app)))
    open_languages(app)
    app.register_blueprint(pages)
    add_part(app, Wording, PageWording())
    answer_errors_by_pages(app, TRANSFER_PAGES, answers.answer_error)
