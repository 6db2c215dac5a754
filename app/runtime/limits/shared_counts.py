"""Counters in a Redis, which all processes share (docs/decisions/0055-limits.md)."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha1
from typing import Final, cast

from redis.exceptions import NoScriptError

from app.runtime.limits.connections import Connections
from app.runtime.limits.counts import Limit

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

_HASH: Final = sha1(_SCRIPT.encode(), usedforsecurity=False).hexdigest()
"""Under which Redis knows the script once it was sent."""


class SharedCounts:
    """Counters that every process on the same Redis counts with."""

    def __init__(self, url: str) -> None:
        """
        :param url: ``redis://``, ``rediss://`` or ``unix://``; options in its query outrank those of here.
        """
        self._connections = Connections(url)

    def count(self, name: str, limits: Sequence[Limit]) -> Sequence[tuple[int, int]]:
        """As :class:`app.runtime.limits.counts.Counts` says.

        :raises redis.RedisError: it cannot count now: away, silent, full, read-only, or it does not know us.
        """
        words: list[str | int] = [f"{PREFIX}{name}:{each.amount}/{each.seconds}" for each in limits]
        for limit in limits:
            words += (limit.amount, limit.seconds * 1000)
        try:
            told = self._connections.ask("EVALSHA", _HASH, len(limits), *words)
        except NoScriptError:  # it was started anew
            told = self._connections.ask("EVAL", _SCRIPT, len(limits), *words)
        numbers = cast("list[int]", told)
        return list(zip(numbers[::2], numbers[1::2], strict=True))

    def place(self) -> str:
        """Where it is, without the password."""
        options = self._connections.options
        server = options.get("path") or f"{options.get('host', 'localhost')}:{options.get('port', 6379)}"
        return f"{server}/{options.get('db', 0)}"

    def ask(self) -> None:
        """See whether it counts, which takes more rights than to answer; no connection is kept.

        :raises redis.RedisError: it does not.
        """
        try:
            self.count("asked", (Limit(1, 0),))  # a window that is over at once: nothing is left there
        finally:
            self._connections.close()
