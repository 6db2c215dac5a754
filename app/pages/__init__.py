"""Pages for the person who waits for a transfer: no account, no cookie, nothing that another host serves.

They are opened together with the public operations (docs/decisions/0046-the-page-of-a-transfer.md).
"""

from __future__ import annotations

from flask import Flask

from app.http.pages import TRANSFER_PAGES, answer_errors_by_pages
from app.pages import answers, views
from app.pages.door import PagesDoor, open_door

__all__ = ["open_pages"]


def open_pages(app: Flask, *, trusted_proxies: int, support_url: str, refund_url: str, waits: bool) -> None:
    """Serve the pages under ``/transfer/``, and pages for the errors there.

    :param support_url: where users get help; empty where that is not told.
    :param refund_url: the page of the app where refunds are claimed, maybe with ``{transfer_id}`` in it.
    :param waits: whether waiting is served at the same address, so that a page may ask for it.
    """
    open_door(app, PagesDoor(trusted_proxies, support_url, refund_url, waits))
    app.register_blueprint(views.pages)
    answer_errors_by_pages(app, TRANSFER_PAGES, answers.answer_error)
