"""The order in which a process checks the guesses of strangers: one after the other.

Those from networks that have not failed lately come first, so that somebody at a new browser does not wait
behind guessers. Guessers may come from a new network each time. So only a few guesses at one account, and
from one network, wait among the first. Others wait behind, as if they had failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Event, Lock
from time import monotonic
from typing import Final

from app.accounts.services.throttle import MustWait

WAIT_SECONDS: Final = 8.0
"""While the database takes no writes, each guess before it waits in vain: the sum has to stay short."""

LOOK_SECONDS: Final = 1.0
"""How often to check whether a waiting client is still there."""

MOST_OF_ACCOUNT: Final = 10
"""Guesses at one account that wait among the first: others wait about a second for them."""

MOST_OF_NETWORK: Final = 2
"""Guesses of one network among the first: after as many failures it has no place there."""

MOST: Final = 200
"""Guesses in each of the two queues. No more can be checked within ``WAIT_SECONDS``."""

_AGAIN: Final = timedelta(seconds=5)


class _Waiting:
    """A guess that waits."""

    __slots__ = ("account", "has_its_turn", "network")

    def __init__(self, account: str, network: str) -> None:
        self.account = account
        self.network = network
        self.has_its_turn = Event()


class GuessQueue:
    """The queue of one process, shared by its threads or greenlets."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._is_checking = False
        self._first: list[_Waiting] = []
        self._behind: list[_Waiting] = []

    def __len__(self) -> int:
        return len(self._first) + len(self._behind)

    @contextmanager
    def turn(
        self, account: str, network: str, *, failed: bool, has_left: Callable[[], bool] = lambda: False
    ) -> Iterator[None]:
        """Wait for the turn of a guess; it lasts as long as the block.

        :param account: what is tried.
        :param network: where the guess comes from.
        :param failed: whether that network has failed lately.
        :param has_left: whether the client is gone. Its guess is not checked.
        :raises MustWait: too many wait already, or the turn did not come within ``WAIT_SECONDS``.
        """
        guess = _Waiting(account, network)
        self._join(guess, failed=failed)
        try:
            if not guess.has_its_turn.is_set():
                _wait(guess, has_left)
            yield
        finally:
            self._leave(guess)

    def _join(self, guess: _Waiting, *, failed: bool) -> None:
        with self._lock:
            if not self._is_checking:
                self._is_checking = True
                guess.has_its_turn.set()
                return
            queue = self._behind if failed or self._is_crowded(guess) else self._first
            if len(queue) >= MOST:
                raise _too_many()
            queue.append(guess)

    def _is_crowded(self, guess: _Waiting) -> bool:
        """Whether too many of the same account, of the same network, or in all wait among the first."""
        return (
            sum(each.account == guess.account for each in self._first) >= MOST_OF_ACCOUNT
            or sum(each.network == guess.network for each in self._first) >= MOST_OF_NETWORK
            or len(self._first) >= MOST
        )

    def _leave(self, guess: _Waiting) -> None:
        """End the turn of a guess, which is then the next one's; or its wait, if it had none."""
        with self._lock:
            for queue in (self._first, self._behind):
                if guess in queue:
                    queue.remove(guess)
                    return
            following = self._first or self._behind
            if following:
                following.pop(0).has_its_turn.set()
            else:
                self._is_checking = False


def _wait(guess: _Waiting, has_left: Callable[[], bool]) -> None:
    until = monotonic() + WAIT_SECONDS
    while not guess.has_its_turn.wait(max(0.0, min(LOOK_SECONDS, until - monotonic()))):
        if monotonic() >= until or has_left():
            raise _too_many()
    if has_left():
        raise _too_many()


def _too_many() -> MustWait:
    return MustWait(_AGAIN, "Too many sign-ins at the same time.")
