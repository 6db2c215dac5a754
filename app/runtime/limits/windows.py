"""How often somebody did something, counted in windows of time (limits such as ``20/second;1000/hour``).

In memory each process counts for itself, in a shared store all count together. While that cannot be reached,
each counts for itself.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import Final

from limits import RateLimitItem, parse_many
from limits.errors import StorageError
from limits.storage import MemoryStorage, storage_from_string
from limits.strategies import FixedWindowRateLimiter

from app.outages import FAILURES

REST_SECONDS: Final = 5.0
"""How long a store that could not be reached is left alone: asking it can take as long as a request may."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Standing:
    """How somebody stands with the limit that has the least left, this time included.

    ``reset_seconds``: whole seconds until its window ends, at least one. ``is_over``: this was too often.
    """

    limit: int
    remaining: int
    reset_seconds: int
    is_over: bool


@lru_cache(maxsize=4096)
def limits_of(text: str) -> tuple[RateLimitItem, ...]:
    """The limits that a text names, those of the shortest windows first; none for an empty one.

    :raises ValueError: it cannot be read.
    """
    return tuple(sorted(parse_many(text))) if text else ()


class Windows:
    """Counts one kind of thing for everybody who does it."""

    def __init__(self, kind: str, storage_url: str, monotonic: Callable[[], float] = time.monotonic) -> None:
        """
        :param kind: what is counted; names the counters, so that each kind has its own in a shared store.
        :param storage_url: as of ``RATE_LIMIT_STORAGE_URL``.
        """
        self._kind = kind
        self._shared = FixedWindowRateLimiter(storage_from_string(storage_url, wrap_exceptions=True))
        self._own = FixedWindowRateLimiter(MemoryStorage())
        self._monotonic = monotonic
        self._resting_until = -1.0

    def count(self, limits: Sequence[RateLimitItem], who: str) -> Standing:
        """Count once by each of the limits, up to the first that does not allow it.

        :param limits: one or more, in the order in which they are looked at.
        """
        now = self._monotonic()
        if now >= self._resting_until:
            try:
                return self._counted(self._shared, limits, who)
            except StorageError as error:
                self._resting_until = now + REST_SECONDS
                text = "%s are counted in this process only"
                FAILURES.report(_log, logging.WARNING, text, self._kind, error=error)
        return self._counted(self._own, limits, who)

    def _counted(
        self, limiter: FixedWindowRateLimiter, limits: Sequence[RateLimitItem], who: str
    ) -> Standing:
        least: Standing | None = None
        for item in limits:
            is_over = not limiter.hit(item, self._kind, who)
            reset_at, remaining = limiter.get_window_stats(item, self._kind, who)
            reset = max(1, ceil(reset_at - time.time()))
            standing = Standing(item.amount, remaining, reset, is_over)
            if is_over:
                return standing
            if least is None or remaining < least.remaining:
                least = standing
        if least is None:
            raise ValueError("there is no limit to count by")
        return least
