"""How long after wrong passwords and codes the next try has to wait."""

from __future__ import annotations

import hmac
from datetime import timedelta
from enum import StrEnum
from typing import Final

FAILURES_FORGOTTEN: Final = timedelta(hours=1)
"""Failures older than this, counted from the last, no longer count."""

LATELY: Final = timedelta(minutes=10)
"""A network has failed lately if more than one failure came within this time, the last one within it now."""

_QUARTER_HOUR: Final = 900
_TYPED_LABEL: Final = b"transfer gateway, what was typed as an email: "
_TYPED_DIGITS: Final = 24


class FailureScope(StrEnum):
    """The kinds of keys by which failed sign-ins are counted."""

    PAIR = "pair"
    """One account from one address: a person who mistypes, or a guesser."""
    ADDRESS = "address"
    """One address, for any account: a guesser who tries many."""
    ACCOUNT = "account"
    """One account, from any address: many machines that try one."""
    LATELY = "lately"
    """One address in the last minutes: decides who is checked first, and makes nobody wait by itself."""
    DEVICE = "device"
    """One account from a browser that signed in to it before: its owner, independent of other tries."""


_FREE: Final = {
    FailureScope.PAIR: 4,
    FailureScope.ADDRESS: 20,
    FailureScope.ACCOUNT: 50,
    FailureScope.LATELY: 1,
    FailureScope.DEVICE: 4,
}
_LONGEST_WAIT_SECONDS: Final = {
    FailureScope.PAIR: _QUARTER_HOUR,
    FailureScope.ADDRESS: _QUARTER_HOUR,
    # Its owner may use a browser that is not known yet.
    FailureScope.ACCOUNT: 10,
    FailureScope.LATELY: 0,
    FailureScope.DEVICE: _QUARTER_HOUR,
}


def forgotten_after(scope: FailureScope) -> timedelta:
    """How long after the last failure none of them counts."""
    return LATELY if scope is FailureScope.LATELY else FAILURES_FORGOTTEN


def has_failed(scope: FailureScope, failures: int) -> bool:
    """Whether these failures let others go first. One failure is a person who mistyped."""
    return scope is FailureScope.LATELY and failures > _FREE[scope]


def wait_after(scope: FailureScope, failures: int, *, failed: bool = False) -> timedelta:
    """How long after the last of so many failures the next try is checked: 2, 4, 8 … seconds.

    :param failed: whether the network of that try has failed lately. Then it waits for an account twice as
        long as others, who thus come before it.
    """
    beyond = failures - _FREE[scope]
    if beyond <= 0:
        return timedelta()
    wait = timedelta(seconds=min(2 ** min(beyond, 16), _LONGEST_WAIT_SECONDS[scope]))
    return 2 * wait if failed and scope is FailureScope.ACCOUNT else wait


def typed_name(key: bytes, typed: str) -> str:
    """The name under which a text typed as an email is counted. It hides the text: people type passwords
    there.

    The same text in any letter case has the same name. Without the key the text cannot be found from it.
    """
    text = typed.strip().lower().encode("utf-8", "replace")
    return hmac.new(key, _TYPED_LABEL + text, "sha256").hexdigest()[:_TYPED_DIGITS]
