"""Counters in a Redis, which all processes share (docs/decisions/0055-limits.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from redis import BlockingConnectionPool, Redis
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as NotConnected
from redis.exceptions import NoScriptError
from redis.retry import Retry

from app.runtime.limits.counts import Limit

PATIENCE_SECONDS: Final = 0.5
"""For a connection, for the answer, and for a connection to be free: at worst the last two after each other.
An answer takes a millisecond."""

MOST_CONNECTIONS: Final = 32
"""Of one process. Each is in use for one question, so these do for thousands of requests a second."""

PREFIX: Final = "gateway:"
"""Of the names of counters. The gateway's user of Redis needs rights on no other (docs/limits.md)."""

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
"""All limits of a request in one round trip. Redis runs it as a whole, by its own clock: no count is lost
between processes, and none sees another end of the window. A counter without an end gets one."""


class SharedCounts:
    """Counters that every process on the same Redis counts with."""

    def __init__(self, url: str) -> None:
        """
        :param url: ``redis://``, ``rediss://`` or ``unix://``; options in its query outrank those of here.
        """
        # Connections are opened where they are needed, by each process for itself: the pool knows when it was
        # forked. One that was closed while idle costs a second try, one that does not answer costs none.
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=MOST_CONNECTIONS,
            timeout=PATIENCE_SECONDS,
            socket_timeout=PATIENCE_SECONDS,
            socket_connect_timeout=PATIENCE_SECONDS,
            retry=Retry(NoBackoff(), 1, supported_errors=(NotConnected,)),
            protocol=2,
            driver_info=None,
        )
        self._redis: Redis = Redis(connection_pool=pool)
        self._hash = self._redis.register_script(_SCRIPT).sha

    def count(self, name: str, limits: Sequence[Limit]) -> Sequence[tuple[int, int]]:
        """As :class:`app.runtime.limits.counts.Counts` says.

        :raises redis.RedisError: it cannot count now: away, silent, full, read-only, or it does not know us.
        """
        words: list[str | int] = [f"{PREFIX}{name}:{each.amount}/{each.seconds}" for each in limits]
        for limit in limits:
            words += (limit.amount, limit.seconds * 1000)
        try:
            told = self._redis.evalsha(self._hash, len(limits), *words)
        except NoScriptError:  # it was started anew
            told = self._redis.eval(_SCRIPT, len(limits), *words)
        numbers = cast("list[int]", told)
        return list(zip(numbers[::2], numbers[1::2], strict=True))

    def place(self) -> str:
        """Where it is, without the password."""
        options = self._redis.connection_pool.connection_kwargs
        server = options.get("path") or f"{options.get('host', 'localhost')}:{options.get('port', 6379)}"
        return f"{server}/{options.get('db', 0)}"

    def ask(self) -> None:
        """See whether it counts, which takes more rights than to answer; no connection is kept.

        :raises redis.RedisError: it does not.
        """
        try:
            self.count("asked", (Limit(1, 0),))  # a window that is over at once: nothing is left there
        finally:
            self._redis.connection_pool.disconnect()
