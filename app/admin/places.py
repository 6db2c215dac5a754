"""A process looks at one guess of a stranger at a time: the others wait, so that operators need not.

A guess takes a processor for the hash of a password, and the database for what is counted. Who guesses from
many addresses is not slowed down by what is counted of each, and would keep everybody else waiting for both.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Lock
from typing import Final

from flask_login import current_user

from app.services.operators.throttle import Guess, MustWait

WAIT_SECONDS: Final = 8.0
"""While nobody may write, each guess before it waits in vain for the database: the sum has to stay short."""

_AGAIN: Final = timedelta(seconds=5)

_place = Lock()


@contextmanager
def place_for(guess: Guess) -> Iterator[None]:
    """Wait for the place where a guess is looked at. Whom the gateway knows needs none.

    Of whoever is signed in, or at a browser that signed in before, few guesses are looked at in any case. For
    strangers it makes no difference whether the account exists.

    :raises MustWait: others had it for ``WAIT_SECONDS``; the guess must not be judged.
    """
    if guess.device is not None or current_user.is_authenticated:
        yield
        return
    if not _place.acquire(timeout=WAIT_SECONDS):
        raise MustWait(_AGAIN, "Too many sign-ins at the same time.")
    try:
        yield
    finally:
        _place.release()
