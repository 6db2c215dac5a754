"""The counters of ``limits.py``, in a Redis that processes share (docs/decisions/0055-limits.md).

Imported only where ``RATE_LIMIT_STORAGE_URL`` names one.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha1
from typing import Final, cast

from redis import BlockingConnectionPool, Redis
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError
from redis.retry import Retry

from app.http.limits import Limit

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


class SharedCounts:
    """Counters that every process on the same Redis counts with. Thread-safe, also after a fork."""

    FAILURES: Final = (RedisError, OSError)
    """What :meth:`count` and :meth:`check` raise where it cannot be used."""

    def __init__(self, url: str) -> None:
        """
        :param url: ``redis://``, ``rediss://`` or ``unix://``; options in its query override ours.
        """
        # The pool opens a connection again that was closed while idle. A command without an answer is not
        # sent twice: it may have been counted.
        self._pool = BlockingConnectionPool.from_url(
            url,
            max_connections=MOST_CONNECTIONS,
            timeout=TIMEOUT_SECONDS,
            socket_timeout=TIMEOUT_SECONDS,
            socket_connect_timeout=TIMEOUT_SECONDS,
            retry=Retry(NoBackoff(), 0),
            protocol=2,
            driver_info=None,
        )
        self._redis = Redis(connection_pool=self._pool)

    def count(self, name: str, limits: Sequence[Limit]) -> Sequence[tuple[int, int]]:
        """As :meth:`app.http.limits.OwnCounts.count`.

        :raises redis.RedisError: it cannot count now: unreachable, silent, full, read-only, or it refuses our
            user.
        """
        words: list[str | int] = [f"{PREFIX}{name}:{each.amount}/{each.seconds}" for each in limits]
        for limit in limits:
            words += (limit.amount, limit.seconds * 1000)
        try:
            answer = self._redis.evalsha(_HASH, len(limits), *words)
        except NoScriptError:  # it was restarted
            answer = self._redis.eval(_SCRIPT, len(limits), *words)
        numbers = cast("list[int]", answer)
        return list(zip(numbers[::2], numbers[1::2], strict=True))

    def place(self) -> str:
        """Its address, without the password."""
        options = self._pool.connection_kwargs
        server = options.get("path") or f"{options.get('host', 'localhost')}:{options.get('port', 6379)}"
        return f"{server}/{options.get('db', 0)}"

    def check(self) -> None:
        """Count once: an answer alone would not prove the rights to count. No connection stays open.

        :raises redis.RedisError: it cannot count.
        """
        try:
            self.count("asked", (Limit(1, 0),))  # a window that is over at once: nothing stays there
        finally:
            self._pool.disconnect()
