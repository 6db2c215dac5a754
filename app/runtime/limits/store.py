"""Where the counters of limits are: in this process, or in a Redis while that answers.

Limits fail neither open nor closed: without its Redis each process counts for itself, and tries it again
every few seconds (docs/decisions/0055-limits.md).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from app.outages import FAILURES
from app.runtime.limits.counts import Limit, OwnCounts

if TYPE_CHECKING:
    from app.runtime.limits.shared import SharedCounts

IN_MEMORY: Final = "memory://"

REST_SECONDS: Final = 5.0
"""How long a store that did not answer is left alone: trying it can take as long as a request may."""

_log = logging.getLogger(__name__)


class LimitStore:
    """The counters of one process, or those that it shares."""

    def __init__(self, url: str, monotonic: Callable[[], float] = time.monotonic) -> None:
        """
        :param url: as of ``RATE_LIMIT_STORAGE_URL``.
        """
        self._shared = None if url == IN_MEMORY else _shared(url)
        self._own = OwnCounts(monotonic)
        self._monotonic = monotonic
        self._rests_until: float | None = None

    @property
    def shared(self) -> bool | None:
        """Whether this process counts together with others; None where it is to count for itself."""
        return None if self._shared is None else self._rests_until is None

    def count(self, name: str, limits: Sequence[Limit]) -> Sequence[tuple[int, int]]:
        """As :meth:`OwnCounts.count` says; by the shared counters while they answer."""
        if self._shared is None:
            return self._own.count(name, limits)
        rests_until = self._rests_until
        if rests_until is not None:
            now = self._monotonic()
            if now < rests_until:
                return self._own.count(name, limits)
            self._rests_until = now + REST_SECONDS  # one request tries it; no other waits for that
        try:
            counted = self._shared.count(name, limits)
        except self._shared.FAILURES as error:
            self._rests_until = self._monotonic() + REST_SECONDS
            text = "the store of limits cannot be asked: this process counts for itself, until it can"
            FAILURES.report(_log, logging.WARNING, text, error=error)
            return self._own.count(name, limits)
        if rests_until is not None:
            self._rests_until = None
            _log.warning("the store of limits is back: processes count together again")
        return counted

    def described(self, processes: int) -> str:
        """A line for whoever starts so many processes; a store that cannot be asked is logged, no more."""
        if self._shared is None:
            several = (
                f"{processes} processes, each of which lets as many pass" if processes > 1 else "one process"
            )
            return f"are counted in the memory of {several} (RATE_LIMIT_STORAGE_URL)"
        try:
            self._shared.check()
        except self._shared.FAILURES as error:
            text = "RATE_LIMIT_STORAGE_URL: %s: each process counts for itself, until it can be asked"
            _log.warning(text, str(error) or type(error).__name__)
        return f"are counted together in the Redis at {self._shared.place()}"


def _shared(url: str) -> SharedCounts:
    # Its package takes time to import, which a process without a Redis spares.
    from app.runtime.limits.shared import SharedCounts  # noqa: PLC0415

    return SharedCounts(url)
