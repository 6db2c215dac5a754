"""How often a caller may send requests, counted in windows of time (limits such as ``20/second;1000/hour``).

A window begins with the first request and ends after its seconds; the next one begins with the next request.
They are counted in this process, or in a Redis that processes share, while that answers. Without its Redis a
limit is neither open nor closed: each process counts for itself, and tries the Redis again every few seconds
(docs/decisions/0055-limits.md).
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import sha1
from itertools import islice
from threading import Lock
from typing import Final, NamedTuple, cast

from app.observability.outages import FAILURES
from app.values.codes import Reason
from app.values.errors import GatewayError
from app.values.ip_addresses import IPAddress, counted_network

IN_MEMORY: Final = "memory://"

MOST_COUNTERS: Final = 100_000
"""Some 25 MB. Beyond that the oldest half is removed: a limit for each address does not stop a caller with so
many addresses, and memory needs a limit."""

REST_SECONDS: Final = 5.0
"""How long a Redis that did not answer is not tried again: a try can take as long as a request may."""

TIMEOUT_SECONDS: Final = 0.5
"""For a connection, for the answer, and for a connection to be free: at worst the last two after each other.
An answer takes a millisecond."""

MOST_CONNECTIONS: Final = 32
"""Of one process. Each is in use for one command, so they are enough for thousands of requests a second."""

PREFIX: Final = "gateway:"
"""Of the names of counters. The gateway's user of Redis needs rights only on these (docs/limits.md)."""

_SCRIPT: Final = """
local counted = {}
for i, key in ipairs(KEYS) do
  local times, left = redis.call('INCR', key), redis.call('PTTL', key)
  if left < 0 then
    left = tonumber(ARGV[2 * i])
    redis.call('PEXPIRE', key, left)
  end
  counted[2 * i - 1], counted[2 * i] = times, left
  if times > tonumber(ARGV[2 * i - 1]) then break end
end
return counted
"""
"""All limits of a request in one round trip. Redis runs it atomically, by its own clock: no count is lost
between processes, and all see the same end of the window. A counter without an end gets one."""

_HASH: Final = sha1(_SCRIPT.encode(), usedforsecurity=False).hexdigest()
"""The name of the script in Redis after it was sent."""

_LIMIT: Final = re.compile(
    r"\s*(\d+)\s*(?:/|per)\s*(\d*)\s*(second|minute|hour|day|month|year)s?\s*", re.IGNORECASE | re.ASCII
)
_SECONDS: Final = {
    "second": 1, "minute": 60, "hour": 3600, "day": 86_400, "month": 30 * 86_400, "year": 360 * 86_400,
}  # fmt: skip
_log = logging.getLogger(__name__)


class Limit(NamedTuple):
    """So many times in a window of so many seconds."""

    amount: int
    seconds: int


class LimitUsage(NamedTuple):
    """The use of the limit that has the least left, this request included.

    ``reset_seconds``: whole seconds until its window ends, at least one. ``is_over``: this request exceeded
    it.
    """

    limit: int
    remaining: int
    reset_seconds: int
    is_over: bool


@lru_cache(maxsize=4096)
def limits_of(text: str) -> tuple[Limit, ...]:
    """The limits in a text, those of the shortest windows first; none for an empty one.

    :raises ValueError: it cannot be read.
    """
    return tuple(sorted(map(_limit, re.split("[,;|]", text)), key=lambda each: each.seconds)) if text else ()


def _limit(text: str) -> Limit:
    """One of them, such as ``100/minute``, ``100 per minute`` or ``100/5 minutes``."""
    found = _LIMIT.fullmatch(text)
    if found is None:
        raise ValueError(f"not a limit: {text!r}")
    amount, windows, unit = found.groups()
    return Limit(int(amount), (int(windows or 1) or 1) * _SECONDS[unit.lower()])


class OwnCounts:
    """Counters of this process. Thread-safe."""

    def __init__(
        self, monotonic: Callable[[], float] = time.monotonic, most_counters: int = MOST_COUNTERS
    ) -> None:
        self._monotonic = monotonic
        self._most = most_counters
        self._windows: dict[tuple[str, Limit], tuple[int, float]] = {}
        self._lock = Lock()

    def count(self, name: str, limits: Sequence[Limit]) -> Sequence[tuple[int, int]]:
        """Count once by each limit, up to the first that is exceeded.

        :return: for each of these the times in its window, this one included, and the milliseconds that are
            left of it.
        """
        now = self._monotonic()
        counted: list[tuple[int, int]] = []
        with self._lock:
            for limit in limits:
                key = name, limit
                times, ends = self._windows.get(key, (0, now))
                if ends <= now:
                    self._windows.pop(key, None)  # so that the order is that of their beginnings
                    times, ends = 0, now + limit.seconds
                times += 1
                self._windows[key] = times, ends
                counted.append((times, int((ends - now) * 1000)))
                if times > limit.amount:
                    break
            if len(self._windows) > self._most:
                self._windows = dict(islice(self._windows.items(), self._most // 2, None))
        return counted


class SharedCounts:
    """Counters that every process on the same Redis counts with. Thread-safe, also after a fork."""

    def __init__(self, url: str) -> None:
        """
        :param url: ``redis://``, ``rediss://`` or ``unix://``; options in its query override ours.
        """
        import redis  # noqa: PLC0415  it takes time, which a process without a Redis saves

        # The pool opens a connection again that was closed while idle. A command without an answer is not
        # sent twice: it may have been counted.
        self._pool = redis.BlockingConnectionPool.from_url(
            url,
            max_connections=MOST_CONNECTIONS,
            timeout=TIMEOUT_SECONDS,
            socket_timeout=TIMEOUT_SECONDS,
            socket_connect_timeout=TIMEOUT_SECONDS,
            retry=redis.retry.Retry(redis.backoff.NoBackoff(), 0),
            protocol=2,
            driver_info=None,
        )
        self._redis = redis.Redis(connection_pool=self._pool)
        self._unknown_script = redis.exceptions.NoScriptError
        self.failures = (redis.RedisError, OSError)
        """What :meth:`count` and :meth:`check` raise where it cannot be used: unreachable, silent, full,
        read-only, or it refuses our user."""

    def count(self, name: str, limits: Sequence[Limit]) -> Sequence[tuple[int, int]]:
        """As :meth:`OwnCounts.count`."""
        words: list[str | int] = [f"{PREFIX}{name}:{each.amount}/{each.seconds}" for each in limits]
        for limit in limits:
            words += (limit.amount, limit.seconds * 1000)
        try:
            answer = self._redis.evalsha(_HASH, len(limits), *words)
        except self._unknown_script:  # it was restarted
            answer = self._redis.eval(_SCRIPT, len(limits), *words)
        numbers = cast("list[int]", answer)
        return list(zip(numbers[::2], numbers[1::2], strict=True))

    def place(self) -> str:
        """Its address, without the password."""
        options = self._pool.connection_kwargs
        server = options.get("path") or f"{options.get('host', 'localhost')}:{options.get('port', 6379)}"
        return f"{server}/{options.get('db', 0)}"

    def check(self) -> None:
        """Count once: an answer alone would not prove the rights to count. No connection stays open."""
        try:
            self.count("asked", (Limit(1, 0),))  # a window that is over at once: nothing stays there
        finally:
            self._pool.disconnect()


class LimitStore:
    """The counters of one process, or those that it shares."""

    def __init__(self, url: str, monotonic: Callable[[], float] = time.monotonic) -> None:
        """
        :param url: as of ``RATE_LIMIT_STORAGE_URL``.
        """
        self._shared = None if url == IN_MEMORY else SharedCounts(url)
        self._own = OwnCounts(monotonic)
        self._monotonic = monotonic
        self._rests_until: float | None = None

    @property
    def shared(self) -> bool | None:
        """Whether this process counts together with others; None where it is set to count for itself."""
        return None if self._shared is None else self._rests_until is None

    def count(self, name: str, limits: Sequence[Limit]) -> LimitUsage:
        """Count once by each of the limits, up to the first that does not allow it.

        :param name: what is counted of whom, such as ``requests:198.51.100.7``.
        :param limits: one or more, in the order in which they are checked.
        """
        if not limits:
            raise ValueError("there is no limit to count by")
        counts = self._counts(name, limits)
        limit, (times, milliseconds) = min(
            zip(limits, counts, strict=False), key=lambda each: each[0].amount - each[1][0]
        )
        left = limit.amount - times
        return LimitUsage(limit.amount, max(0, left), max(1, -(-milliseconds // 1000)), left < 0)

    def _counts(self, name: str, limits: Sequence[Limit]) -> Sequence[tuple[int, int]]:
        """As :meth:`OwnCounts.count`, in the shared counters while they answer."""
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
        except self._shared.failures as error:
            self._rests_until = self._monotonic() + REST_SECONDS
            text = "the store of limits cannot be reached: this process counts for itself, until it can"
            FAILURES.report(_log, logging.WARNING, text, error=error)
            return self._own.count(name, limits)
        if rests_until is not None:
            self._rests_until = None
            _log.warning("the store of limits is back: processes count together again")
        return counted

    def described(self, processes: int) -> str:
        """A line for the log at the start of so many processes. A store that cannot be reached is only
        logged.
        """
        if self._shared is None:
            several = f"{processes} processes, each with the whole limit" if processes > 1 else "one process"
            return f"are counted in the memory of {several} (RATE_LIMIT_STORAGE_URL)"
        try:
            self._shared.check()
        except self._shared.failures as error:
            text = "RATE_LIMIT_STORAGE_URL: %s: each process counts for itself, until the Redis responds"
            _log.warning(text, str(error) or type(error).__name__)
        return f"are counted together in the Redis at {self._shared.place()}"


class RefundRequestLimit:
    """Counts the refund requests of each caller, over both interfaces together: each can cost a write."""

    def __init__(self, limit: str, store: LimitStore) -> None:
        """
        :param limit: such as ``10/minute``.
        """
        self._limits = limits_of(limit)
        self._store = store

    def count(self, caller: IPAddress | None) -> None:
        """Count one refund request of a caller.

        :raises GatewayError: this caller sends too many.
        """
        usage = self._store.count(f"refund-requests:{counted(caller)}", self._limits)
        if usage.is_over:
            raise GatewayError(
                "too many refund requests: one for each transfer is enough",
                reason=Reason.RATE_LIMITED,
                retry_after=usage.reset_seconds,
            )


def counted(caller: IPAddress | None) -> str:
    """The name under which a caller is counted. All with unknown addresses count as one."""
    return counted_network(caller) if caller is not None else "unknown"
