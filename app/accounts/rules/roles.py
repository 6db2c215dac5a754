"""Rules for the console: roles, passwords, sessions, and how long after wrong guesses the next one has to
wait.
"""

from __future__ import annotations

import hmac
import re
import unicodedata
from datetime import timedelta
from enum import StrEnum
from typing import Final

MIN_PASSWORD_LENGTH: Final = 12
MAX_PASSWORD_LENGTH: Final = 256
MAX_EMAIL_LENGTH: Final = 254

SESSION_IDLE: Final = timedelta(hours=1)
"""A session that was not used for so long has ended."""

SESSION_LIFETIME: Final = timedelta(hours=12)
"""A session ends so long after its sign-in, used or not: a shift."""

STEP_UP_AFTER: Final = timedelta(minutes=10)
"""A sensitive change needs password, code or passkey again when the last proof is older than this."""

RECOVERY_CODES: Final = 10
"""How many recovery codes are made at a time."""

FAILURES_FORGOTTEN: Final = timedelta(hours=1)
"""Failures older than this, counted from the last, no longer count."""

LATELY: Final = timedelta(minutes=10)
"""A network has failed lately if more than one failure came within this time, the last one within it now."""

DEVICE_LIFETIME: Final = timedelta(days=180)
"""A browser that signed in counts as known so long after its last sign-in."""

_EMAIL: Final = re.compile(r"[^\s@\"<>(),:;\\\[\]]+@[^\s@\"<>(),:;\\\[\]]+")
_LONGEST_WAIT: Final = 900
_TYPED_LABEL: Final = b"transfer gateway, what was typed as an email: "
_TYPED_DIGITS: Final = 24


class Role(StrEnum):
    """What an account may do; each role may also do what the ones before it may."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"

    def may_act_as(self, needed: Role) -> bool:
        """Whether this role is enough where ``needed`` is required."""
        ranks = list(Role)
        return ranks.index(self) >= ranks.index(needed)


class SessionEnd(StrEnum):
    """Why a session ended before its time."""

    EVERYWHERE = "everywhere"
    """Its owner signed out everywhere."""
    ELSEWHERE = "elsewhere"
    """Its owner ended it from another browser."""
    BY_ADMIN = "by_admin"
    PASSWORD = "password"  # noqa: S105  a reason, not one
    """The account's password changed."""
    SECOND_FACTOR = "second_factor"
    """The account's second factor changed, or is demanded and missing."""
    SWITCHED_OFF = "switched_off"


class FailureScope(StrEnum):
    """What failed sign-ins are counted by."""

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
_MOST: Final = {
    FailureScope.PAIR: _LONGEST_WAIT,
    FailureScope.ADDRESS: _LONGEST_WAIT,
    # Its owner may use a browser that is not known yet.
    FailureScope.ACCOUNT: 10,
    FailureScope.LATELY: 0,
    FailureScope.DEVICE: _LONGEST_WAIT,
}


def forgotten_after(scope: FailureScope) -> timedelta:
    """How long after the last failure none of them counts."""
    return LATELY if scope is FailureScope.LATELY else FAILURES_FORGOTTEN


def has_failed(scope: FailureScope, failures: int) -> bool:
    """Whether these failures let others go first. One alone is a person who mistyped."""
    return scope is FailureScope.LATELY and failures > _FREE[scope]


def wait_after(scope: FailureScope, failures: int, *, failed: bool = False) -> timedelta:
    """How long after the last of so many failures the next try is checked: 2, 4, 8 … seconds.

    :param failed: whether the network of that try has failed lately. Then it waits for an account twice as
        long as others, who thus come before it.
    """
    beyond = failures - _FREE[scope]
    if beyond <= 0:
        return timedelta()
    wait = timedelta(seconds=min(2 ** min(beyond, 16), _MOST[scope]))
    return 2 * wait if failed and scope is FailureScope.ACCOUNT else wait


def normal_email(text: str) -> str | None:
    """The address in the one spelling that identifies an account; None where it is none."""
    email = text.strip().lower()
    if len(email) > MAX_EMAIL_LENGTH or not _EMAIL.fullmatch(email) or not email.isprintable():
        return None
    return email


def typed_name(key: bytes, typed: str) -> str:
    """The name under which a text typed as an email is counted. It hides the text: people type passwords
    there.

    The same text in any letter case has the same name. Without the key the text cannot be found from it.
    """
    text = typed.strip().lower().encode("utf-8", "replace")
    return hmac.new(key, _TYPED_LABEL + text, "sha256").hexdigest()[:_TYPED_DIGITS]


def normal_password(text: str) -> str:
    """The password in the one form that is hashed: keyboards write the same letter in several ways (NFKD)."""
    return unicodedata.normalize("NFKD", text)


def is_too_long(password: str) -> bool:
    """Whether the password is longer than allowed, also in the form that is hashed."""
    return len(password) > MAX_PASSWORD_LENGTH or len(normal_password(password)) > MAX_PASSWORD_LENGTH


def password_complaint(password: str, email: str) -> str | None:
    """Why the password cannot be used, in a sentence; None where it can."""
    if len(password) < MIN_PASSWORD_LENGTH:
        return f"Enter a password of at least {MIN_PASSWORD_LENGTH} characters."
    if is_too_long(password):
        return f"Enter a password of at most {MAX_PASSWORD_LENGTH} characters."
    if len(set(password)) < 5:
        return "Enter a password with more different characters."
    if password.lower() == email:
        return "Enter a password that differs from the email address."
    return None
