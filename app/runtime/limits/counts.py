"""What a store of counters is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Limit(NamedTuple):
    """So many times in a window of so many seconds."""

    amount: int
    seconds: int


class Counts(Protocol):
    """Counters by name, each gone when its window has ended."""

    def count(self, name: str, limits: Sequence[Limit]) -> Sequence[tuple[int, int]]:
        """Count once by each limit, up to the first that it is over.

        :return: for each of these the times in its window, this one included, and the milliseconds that are
            left of it.
        """
        ...
