"""Hashes and generates passwords, and refuses those that are easy to guess."""

from __future__ import annotations

import re
import secrets
from threading import Lock
from typing import Any, ClassVar, Final

from passlib.context import CryptContext

from app.accounts.rules.sign_in import normal_password, password_complaint
from app.cooperation import in_native_thread

_LEAST_SCORE: Final = 3
"""Of zxcvbn. A lower score means fewer than 10^8 guesses, which a thief of the database makes in days."""

_CHECKED_LENGTH: Final = 24
"""How many characters zxcvbn reads. More make a password no weaker, but the search slow: seconds for 72
characters that may each mean several letters, 0.1 s for 24."""

_OWN_WORDS: Final = ("transfer", "gateway", "bridge", "console", "operator", "admin")
"""What a guesser tries first here."""


class NativeHashes(CryptContext):  # type: ignore[misc]  # libpass has no types
    """A context that works in a native thread: a hash takes as long as a hundred answers.

    A process makes one hash at a time. So a client that sends a hundred passwords at once waits for them, and
    other requests still get a processor.
    """

    _one_at_a_time: ClassVar = Lock()

    def hash(self, *args: Any, **kwargs: Any) -> Any:
        with self._one_at_a_time:
            return in_native_thread(super().hash, *args, **kwargs)

    def verify(self, *args: Any, **kwargs: Any) -> Any:
        with self._one_at_a_time:
            return in_native_thread(super().verify, *args, **kwargs)


HASHES: Final = NativeHashes(schemes=["argon2"])
"""Argon2id with the parameters of argon2-cffi, which follow RFC 9106. Flask-Security uses it, too."""


def hash_password(password: str) -> str:
    """The Argon2id hash, with its salt and parameters, as one string."""
    return str(HASHES.hash(normal_password(password)))


def generate_password() -> str:
    """A random password of 120 bits in 20 characters."""
    return secrets.token_urlsafe(15)


def why_refused(password: str, email: str) -> str | None:
    """Why this password is refused, in a sentence; None where it is good enough.

    The same rule holds for the console, the command line and OPERATOR_PASSWORD. Lists of common passwords
    hold few of 12 characters, since most are shorter. So zxcvbn splits the password into such words, names,
    dates and keyboard rows, and counts the guesses that a program needs which knows them all.
    """
    if complaint := password_complaint(password, email):
        return complaint
    # Its word lists take as long to load as any package here, and new passwords are rare.
    from zxcvbn import zxcvbn  # noqa: PLC0415

    known = [*_OWN_WORDS, email, *re.split(r"[^a-z0-9]+", email)]
    found = zxcvbn(password[:_CHECKED_LENGTH], user_inputs=[word for word in known if word])
    if found["score"] >= _LEAST_SCORE:
        return None
    return (
        "This password is easy to guess: it consists of common words, names, dates or keyboard rows. "
        "Enter four random words, or let a password manager create one."
    )
