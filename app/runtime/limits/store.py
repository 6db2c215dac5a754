"""Where the counters of limits are: in this process, or in a Redis while that can be asked.

Limits fail neither open nor closed: without its Redis each process counts for itself, and asks for it again
every few seconds (docs/decisions/0055-limits.md).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Final

from redis.exceptions import RedisError

from app.outages import FAILURES
from app.runtime.limits.counts import Counts, Limit
from app.runtime.limits.own_counts import OwnCounts
from app.runtime.limits.shared_counts import SharedCounts

IN_MEMORY: Final = "memory://"

REST_SECONDS: Final = 5.0
"""How long a store that could not be asked is left alone: asking can take as long as a request may."""

_log = logging.getLogger(__name__)


class LimitStore:
    """The counters of one process, or those that it shares."""

    def __init__(self, url: str, monotonic: Callable[[], float] = time.monotonic) -> None:
        """
        :param url: as of ``RATE_LIMIT_STORAGE_URL``.
        """
        self._shared = None if url == IN_MEMORY else SharedCounts(url)
        self._own: Counts = OwnCounts(monotonic)
        self._monotonic = monotonic
        self._rests_until: float | None = None

    @property
    def shared(self) -> bool | None:
        """Whether this process counts together with others; None where it is to count for itself."""
        return None if self._shared is None else self._rests_until is None

    def count(self, name: str, limits: Sequence[Limit]) -> Sequence[tuple[int, int]]:
        """As :class:`app.runtime.limits.counts.Counts` says; the shared counters while they can be asked."""
        if self._shared is None:
            return self._own.count(name, limits)
        rests_until = self._rests_until
        if rests_until is not None:
            now = self._monotonic()
            if now < rests_until:
                return self._own.count(name, limits)
            self._rests_until = now + REST_SECONDS  # one request asks; the others do not wait for the answer
        try:
            counted = self._shared.count(name, limits)
        except (RedisError, OSError) as error:
            self._rests_until = self._monotonic() + REST_SECONDS
            text = "the store of limits cannot be asked: this process counts for itself, until it can"
            FAILURES.report(_log, logging.WARNING, text, error=error)
            return self._own.count(name, limits)
        if rests_until is not None:
            self._rests_until = None
            _log.warning("the store of limits is back: processes count together again")
        return counted

    def place(self) -> str | None:
        """Where processes count together, without a password; None where each counts for itself."""
        return None if self._shared is None else self._shared.place()

    def complaint(self) -> str | None:
        """Why nothing can be counted together now, None where it can or need not be."""
        try:
            if self._shared is not None:
                self._shared.ask()
        except (RedisError, OSError) as error:
            return str(error) or type(error).__name__
        return None
