"""How long the current work may wait for the database and the like, in all.

Each kind of work has its own limits for a single step (app/db/timeouts.py). Work that needs an answer soon
sets one for all its steps together. Only waiting counts, not what is done in between: a client may send its
body slowly.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import Final


class _Budget:
    """The seconds that are left."""

    __slots__ = ("left",)

    def __init__(self, left: float) -> None:
        self.left = left

    def spend(self, seconds: float) -> None:
        self.left = max(0.0, self.left - seconds)


_BUDGET: Final[ContextVar[_Budget | None]] = ContextVar("budget", default=None)
"""Of this thread or greenlet; None where its work has no total limit."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Limit the waits in the block to so long in all, or to what an outer limit leaves, if less."""
    around = _BUDGET.get()
    most = seconds if around is None else min(seconds, around.left)
    budget = _Budget(most)
    token = _BUDGET.set(budget)
    try:
        yield
    finally:
        _BUDGET.reset(token)
        if around is not None:
            around.spend(most - budget.left)


class Waiting:
    """One wait: ``with Waiting(most) as seconds``. The seconds may be 0; None is for ever."""

    __slots__ = ("_began", "_budget", "_most")

    def __init__(self, most: float | None = None) -> None:
        """
        :param most: the limit of this wait itself; None for none.
        """
        self._most = most
        self._budget = _BUDGET.get()
        self._began = 0.0

    def __enter__(self) -> float | None:
        if self._budget is None:
            return self._most
        self._began = monotonic()
        return self._budget.left if self._most is None else min(self._budget.left, self._most)

    def __exit__(self, *_: object) -> None:
        if self._budget is not None:
            self._budget.spend(monotonic() - self._began)
