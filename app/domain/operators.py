"""Who works in the console: roles, passwords, sessions, and how long a guesser waits."""

from __future__ import annotations

import re
from datetime import timedelta
from enum import StrEnum
from typing import Final

MIN_PASSWORD_LENGTH: Final = 12
MAX_PASSWORD_LENGTH: Final = 256
MAX_EMAIL_LENGTH: Final = 254

SESSION_IDLE: Final = timedelta(hours=1)
"""A session that nobody used for so long has ended."""

SESSION_LIFETIME: Final = timedelta(hours=12)
"""A session ends so long after its sign-in, used or not: a shift."""

STEP_UP_AFTER: Final = timedelta(minutes=10)
"""A grave change asks for password, code or passkey again when the last proof is older than this."""

RECOVERY_CODES: Final = 10
"""How many recovery codes are made at a time."""

FAILURES_FORGOTTEN: Final = timedelta(hours=1)
"""Failures older than this, counted from the last, no longer count."""

_EMAIL: Final = re.compile(r"[^\s@\"<>(),:;\\\[\]]+@[^\s@\"<>(),:;\\\[\]]+", re.ASCII)
_LONGEST_WAIT: Final = 900


class Role(StrEnum):
    """What an account may do; each role may also do what the ones before it may."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"

    def may_act_as(self, needed: Role) -> bool:
        """Whether this role is enough where ``needed`` is asked for."""
        ranks = list(Role)
        return ranks.index(self) >= ranks.index(needed)


class FailureScope(StrEnum):
    """What failed sign-ins are counted by."""

    PAIR = "pair"
    """One account from one address: a person who mistypes, or a guesser."""
    ADDRESS = "address"
    """One address, whatever the account: somebody who tries many."""
    ACCOUNT = "account"
    """One account from anywhere: many machines that try one."""


_FREE: Final = {FailureScope.PAIR: 4, FailureScope.ADDRESS: 20, FailureScope.ACCOUNT: 50}
_MOST: Final = {
    FailureScope.PAIR: _LONGEST_WAIT,
    FailureScope.ADDRESS: _LONGEST_WAIT,
    # Whoever attacks an account from many machines must not keep its owner out.
    FailureScope.ACCOUNT: 10,
}


def wait_after(scope: FailureScope, failures: int) -> timedelta:
    """How long after the last of so many failures the next try is looked at: 2, 4, 8 … seconds."""
    beyond = failures - _FREE[scope]
    if beyond <= 0:
        return timedelta()
    return timedelta(seconds=min(2 ** min(beyond, 16), _MOST[scope]))


def normal_email(text: str) -> str | None:
    """The address in the one spelling that identifies an account; None where it is none."""
    email = text.strip().lower()
    if len(email) > MAX_EMAIL_LENGTH or not _EMAIL.fullmatch(email):
        return None
    return email


def password_complaint(password: str, email: str) -> str | None:
    """Why the password cannot be used, in a sentence; None where it can."""
    if len(password) < MIN_PASSWORD_LENGTH:
        return f"Choose a password of at least {MIN_PASSWORD_LENGTH} characters."
    if len(password) > MAX_PASSWORD_LENGTH:
        return f"Choose a password of at most {MAX_PASSWORD_LENGTH} characters."
    if len(set(password)) < 5:
        return "Choose a password with more different characters."
    if password.lower() == email:
        return "Choose a password that is not the email address."
    return None
