"""Browsers that signed in before: a signed cookie for each account, by which its owner is told from others.

It gets its owner past what others make the account wait for. It opens nothing, and its own guesses have to
wait, too. A new ``fs_uniquifier`` (a new password, every session ended) makes it worthless.
"""

from __future__ import annotations

import hmac
import re
import secrets
from datetime import timedelta
from typing import Any, Final

from flask import Response, after_this_request, current_app, request

from app.domain.operators import DEVICE_LIFETIME
from app.domain.times import UNIX_EPOCH
from app.runtime.gateway import current_gateway
from app.services.operators.accounts import Account

_COOKIE: Final = re.compile(r"([0-9a-f]{32})\.([0-9]{1,12})\.([0-9a-f]{64})", re.ASCII)
_SECOND: Final = timedelta(seconds=1)


def known_device(account: Account) -> str | None:
    """The name of the browser that asks, where it signed in to the account before; else None."""
    match = _COOKIE.fullmatch(request.cookies.get(_cookie_name(account.id), ""))
    if match is None:
        return None
    keys = current_app.config["CONSOLE_DEVICE_KEYS"]
    seals = [_seal(account, match[1], int(match[2]), key) for key in keys]
    if not any(hmac.compare_digest(seal, match[3]) for seal in seals):
        return None
    signed_in_at = UNIX_EPOCH + int(match[2]) * _SECOND
    return match[1] if current_gateway().clock() - signed_in_at < DEVICE_LIFETIME else None


def remember_device(_sender: Any, user: Any, **_more: Any) -> None:
    """After a complete sign-in, let the browser keep that it was it."""
    account: Account = user.account
    device = known_device(account) or secrets.token_hex(16)
    now = (current_gateway().clock() - UNIX_EPOCH) // _SECOND
    seal = _seal(account, device, now, current_app.config["CONSOLE_DEVICE_KEYS"][0])
    interface = current_app.session_interface

    @after_this_request
    def send(response: Response) -> Response:
        response.set_cookie(
            _cookie_name(account.id),
            f"{device}.{now}.{seal}",
            max_age=DEVICE_LIFETIME,
            path=interface.get_cookie_path(current_app),
            secure=interface.get_cookie_secure(current_app),
            httponly=True,
            samesite="Strict",
        )
        return response


def _cookie_name(account_id: int) -> str:
    """Beside the session's cookie, with the same prefix."""
    return f"{current_app.session_interface.get_cookie_name(current_app)}_device_{account_id}"


def _seal(account: Account, device: str, at: int, key: str) -> str:
    """
    :param at: when it signed in, in Unix seconds.
    """
    sealed = f"{account.id} {account.fs_uniquifier} {device} {at}"
    return hmac.new(key.encode(), sealed.encode(), "sha256").hexdigest()
