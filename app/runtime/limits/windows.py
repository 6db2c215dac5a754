"""How often somebody did something, counted in windows of time (limits such as ``20/second;1000/hour``).

A window begins with the first time and ends after its seconds; then the next one begins with the next time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from limits import parse_many

from app.runtime.limits.counts import Limit
from app.runtime.limits.store import LimitStore


class Standing(NamedTuple):
    """How somebody stands with the limit that has the least left, this time included.

    ``reset_seconds``: whole seconds until its window ends, at least one. ``is_over``: this was too often.
    """

    limit: int
    remaining: int
    reset_seconds: int
    is_over: bool


@lru_cache(maxsize=4096)
def limits_of(text: str) -> tuple[Limit, ...]:
    """The limits that a text names, those of the shortest windows first; none for an empty one.

    :raises ValueError: it cannot be read.
    """
    return tuple(Limit(item.amount, item.get_expiry()) for item in sorted(parse_many(text))) if text else ()


class Windows:
    """Counts one kind of thing for everybody who does it."""

    def __init__(self, kind: str, store: LimitStore) -> None:
        """
        :param kind: what is counted, in a word without spaces: each kind has counters of its own in a store.
        """
        self._kind = kind
        self._store = store

    def count(self, limits: Sequence[Limit], who: str) -> Standing:
        """Count once by each of the limits, up to the first that does not allow it.

        :param limits: one or more, in the order in which they are looked at.
        """
        least: Standing | None = None
        counts = self._store.count(f"{self._kind}:{who}", limits)
        for limit, (times, milliseconds) in zip(limits, counts, strict=False):
            left = limit.amount - times
            if least is None or left < least.remaining:
                reset = max(1, -(-milliseconds // 1000))
                least = Standing(limit.amount, max(0, left), reset, left < 0)
        if least is None:
            raise ValueError("there is no limit to count by")
        return least
