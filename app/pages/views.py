"""The routes of the pages: a transfer by its id or its transaction, a form to look one up, and one button."""

from __future__ import annotations

from typing import Final

from flask import Blueprint, redirect, request, url_for
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import NotFound

from app.domain.codes import Reason
from app.domain.errors import GatewayError
from app.domain.refund.ask import WithdrawRequest
from app.domain.wire_values import parse_transfer_id
from app.http.pages import TRANSFER_PAGES
from app.http.public import caller
from app.pages.answers import page, protect
from app.pages.door import current_door
from app.pages.looks import look_of
from app.pages.typed import read_key
from app.runtime.gateway import current_gateway
from app.services.journeys.journey import follow_transfer
from app.services.journeys.shapes import FollowedTransfer, NotSeen
from app.services.refund_asks import ask_for_refund

pages = Blueprint(
    "pages", __name__, template_folder="templates", static_folder="static", static_url_path="/pages/static"
)
pages.after_request(protect)

_SEE_OTHER: Final = 303


@pages.get(TRANSFER_PAGES)
def look_up() -> ResponseReturnValue:
    """The form; what was typed into it leads to the page of the transfer."""
    typed = request.args.get("key", "")
    key = read_key(typed)
    if key is not None:
        return redirect(url_for("pages.transfer", key=key), _SEE_OTHER)
    return page("look_up.html", 400 if typed.strip() else 200, typed=typed)


@pages.get(f"{TRANSFER_PAGES}<path:key>")
def transfer(key: str) -> ResponseReturnValue:
    """Where a transfer is. It has one address, that of its id in lower case with 0x."""
    read = read_key(key)
    if read is None:
        return page("look_up.html", 404, typed=key)
    followed = follow_transfer(current_gateway(), read)
    if isinstance(followed, NotSeen):
        return page("not_seen.html", 404, followed=followed)
    if not isinstance(followed, FollowedTransfer):
        return page("several.html", transfers=followed)
    if key != followed.transfer_id:
        return redirect(url_for("pages.transfer", key=followed.transfer_id), _SEE_OTHER)
    refund_page = current_door().refund_page(followed.transfer_id)
    return page("transfer.html", followed=followed, look=look_of(followed), refund_page=refund_page)


@pages.post(f"{TRANSFER_PAGES}<transfer_id>/refund")
def request_refund(transfer_id: str) -> ResponseReturnValue:
    """Ask for the refund, as every client can (docs/interface.md#refund-ask), and show the page again.

    Where there is nothing to ask for any more, the page says what has happened instead.
    """
    try:
        wanted = parse_transfer_id(transfer_id)
    except ValueError:
        raise NotFound from None
    try:
        ask_for_refund(current_gateway(), WithdrawRequest(wanted, 0), caller(current_door().trusted_proxies))
    except GatewayError as error:
        if error.reason not in (Reason.REFUND_NOT_AVAILABLE, Reason.TRANSFER_NOT_FOUND):
            raise
    return redirect(url_for("pages.transfer", key=f"0x{wanted.hex()}"), _SEE_OTHER)
