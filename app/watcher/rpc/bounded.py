"""What a node may send: raw, in time, and no more than was requested."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Timer
from typing import Any, Final

import httpx

KIB: Final = 1024
MIB: Final = 1024 * KIB

MAX_ANSWER_BYTES: Final = 8 * MIB
"""Of one answer, whatever was requested."""

MAX_ERROR_BYTES: Final = 64 * KIB
"""Of an answer with another status than 200. What is longer is a page for people."""

_LEAST: Final = 64 * KIB
_MOST: Final = {
    "eth_getLogs": MAX_ANSWER_BYTES,
    "eth_getBlockReceipts": MAX_ANSWER_BYTES,
    "eth_getBlockByNumber": 2 * MIB,  # with the hashes of 30,000 transactions
    "eth_getCode": MIB,
}

MAX_MEMORY: Final = 18 * MIB
"""That reading an answer may take: three bytes, such as ``[],``, become ninety. It is enough for 6,000 logs,
or for the receipts of 1,000 transactions."""

_COSTS: Final = {b"{": 160, b"[": 76, b",": 88, b":": 48}
"""Bytes of memory at most for each of these: for an object, an array, and what is in them."""


def most_bytes(methods: Sequence[str]) -> int:
    """How long the answer to these calls may be."""
    return min(sum(_MOST.get(method, _LEAST) for method in methods), MAX_ANSWER_BYTES)


def memory_of(content: bytes | bytearray) -> int:
    """How much memory reading this JSON takes at most. It is counted, not read."""
    wide = not content.isascii() or b"\\u" in content  # one such character makes all of its text as wide
    each = 2 + 4 * wide
    return each * len(content) + sum(cost * content.count(sign) for sign, cost in _COSTS.items())


class Deadline:
    """Ends the connection when a whole request takes too long, in whatever part of it the node is slow.

    The library's own timeouts begin anew with each byte that comes.
    """

    def __init__(self) -> None:
        self._stream: Any = None
        self._until = 0.0

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """For the time of one request."""
        self._until = time.monotonic() + seconds
        timer = Timer(seconds, self._cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    @property
    def is_over(self) -> bool:
        """Whether the last request took too long."""
        return time.monotonic() >= self._until

    def note(self, name: str, info: dict[str, Any]) -> None:
        """See the library's extension ``trace``: which connection is used from now on."""
        if name in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            self._stream = info["return_value"]
            if self.is_over:
                self._cut()

    def _cut(self) -> None:
        with suppress(OSError, AttributeError):
            self._stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)


def read(response: httpx.Response, most: int, check: Callable[[], None]) -> bytearray | None:
    """The body as it was sent; None where it is longer than ``most``.

    :param check: called with each part, raises where it took too long.
    """
    declared = response.headers.get("content-length", "")
    if declared.isdecimal() and int(declared[:20]) > most:
        return None
    content = bytearray()
    for part in response.iter_raw():
        check()
        if len(content) + len(part) > most:
            return None
        content += part
    check()  # cutting the connection ends a body that has no length
    return content
