"""How many attempts may be under way, to one place and in all.

A receiver that hangs holds what it was given until the time is up. So a place (``host:port``) gets little
until it has answered, and places that have not answered get half of everything at most: the others always
find room.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from threading import Lock
from typing import Final

ALL: Final = 400
"""Attempts at one time: each holds a file, and a process may often have 1024."""

OF_UNPROVEN: Final = ALL // 2
AT_PROVEN: Final = 16
AT_UNPROVEN: Final = 2

REMEMBERED: Final = 10_000
"""Places that are known to answer; the longest unused is forgotten."""


class Places:
    """The attempts under way. Threads may share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._under_way: Counter[str] = Counter()
        self._counted_as_unproven: Counter[str] = Counter()
        self._proven: OrderedDict[str, None] = OrderedDict()

    def free(self, place: str) -> int:
        """How many more attempts may go there now."""
        with self._lock:
            in_all = ALL - self._under_way.total()
            if place in self._proven:
                return max(0, min(AT_PROVEN - self._under_way[place], in_all))
            of_unproven = OF_UNPROVEN - self._counted_as_unproven.total()
            return max(0, min(AT_UNPROVEN - self._under_way[place], in_all, of_unproven))

    def fill(self, place: str, number: int) -> None:
        """Note that so many begin."""
        if number == 0:
            return
        with self._lock:
            self._under_way[place] += number
            if place not in self._proven:
                self._counted_as_unproven[place] += number

    def leave(self, place: str, *, answered: bool) -> None:
        """Note that an attempt has ended, and whether the receiver answered in good time."""
        with self._lock:
            _lower(self._under_way, place)
            _lower(self._counted_as_unproven, place)
            if answered:
                self._proven[place] = None
                self._proven.move_to_end(place)
                if len(self._proven) > REMEMBERED:
                    self._proven.popitem(last=False)
            else:
                self._proven.pop(place, None)


def _lower(counter: Counter[str], place: str) -> None:
    """Count one less; a place that nothing goes to is not kept."""
    if counter[place] > 1:
        counter[place] -= 1
    else:
        del counter[place]
