"""Names to addresses, with a bound on time, in threads of its own: a server of names may hang, too.

Nobody can end such a thread, and it waits for longer than whoever asked. So names that were answered for the
last time have threads apart from those that were not: servers that hang hold up new names alone.
"""

from __future__ import annotations

import asyncio
import socket
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

RESOLVE_SECONDS: Final = 5.0
THREADS: Final = 64
"""For new names, and as many for those that were answered."""

REMEMBERED: Final = 10_000
"""Names that were answered; the longest unused is forgotten."""

Resolve = Callable[[str, int], Awaitable[list[str]]]
"""The addresses of a host's name; those of an address are itself."""


class NotResolved(Exception):
    """The name has no address, or nobody told it in time."""


class Resolver:
    """Asks the system, as every program does."""

    def __init__(self) -> None:
        self._for_new = ThreadPoolExecutor(THREADS, thread_name_prefix="resolve-new")
        self._for_answered = ThreadPoolExecutor(THREADS, thread_name_prefix="resolve")
        self._answered: OrderedDict[str, None] = OrderedDict()

    async def __call__(self, host: str, port: int) -> list[str]:
        """The addresses, the best first.

        :raises NotResolved: there is none.
        """
        threads = self._for_answered if host in self._answered else self._for_new
        asked = asyncio.get_running_loop().run_in_executor(threads, _ask, host, port)
        try:
            found = await asyncio.wait_for(asked, RESOLVE_SECONDS)
        except (OSError, UnicodeError, TimeoutError):
            self._answered.pop(host, None)
            raise NotResolved from None
        self._answered[host] = None
        self._answered.move_to_end(host)
        if len(self._answered) > REMEMBERED:
            self._answered.popitem(last=False)
        return found

    def close(self) -> None:
        """End without waiting for servers that hang."""
        for threads in (self._for_new, self._for_answered):
            threads.shutdown(wait=False, cancel_futures=True)


def _ask(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return [str(address[0]) for _, _, _, _, address in found]
