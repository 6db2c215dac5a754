"""Names to addresses, with a bound on time, in threads of its own: a server of names may hang, too."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

RESOLVE_SECONDS: Final = 5.0
THREADS: Final = 64

Resolve = Callable[[str, int], Awaitable[list[str]]]
"""The addresses of a host's name; those of an address are itself."""


class NotResolved(Exception):
    """The name has no address, or nobody told it in time."""


class Resolver:
    """Asks the system, as every program does."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="resolve")

    async def __call__(self, host: str, port: int) -> list[str]:
        """The addresses, the best first.

        :raises NotResolved: there is none.
        """
        loop = asyncio.get_running_loop()
        asked = loop.run_in_executor(self._threads, _ask, host, port)
        try:
            return await asyncio.wait_for(asked, RESOLVE_SECONDS)
        except (OSError, UnicodeError, TimeoutError):
            raise NotResolved from None

    def close(self) -> None:
        """End without waiting for servers that hang."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _ask(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return [str(address[0]) for _, _, _, _, address in found]
