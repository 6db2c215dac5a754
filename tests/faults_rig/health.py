"""Requests the health of every gateway, as orchestrators do."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from threading import Event
from typing import Final

EVERY_SECONDS: Final = 0.25
TIMEOUT_SECONDS: Final = 2.0


@dataclass(slots=True)
class Health:
    """What one path of one gateway answered.

    :param slowest: of the answers, in seconds.
    :param reason: the last reason of a 503.
    """

    sent: int = 0
    answered: int = 0
    good: int = 0
    slowest: float = 0.0
    reason: str = ""


@dataclass(slots=True)
class Prober:
    """Sends requests to each address again and again, in a thread of its own."""

    addresses: Mapping[str, tuple[int, str]]
    """By name: port and path."""
    found: dict[str, Health] = field(default_factory=dict)
    _over: Event = field(default_factory=Event)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Probe while the block runs."""
        with ThreadPoolExecutor(len(self.addresses)) as threads:
            for name, (port, path) in self.addresses.items():
                self.found[name] = Health()
                threads.submit(self._work, self.found[name], port, path)
            try:
                yield
            finally:
                self._over.set()

    def _work(self, health: Health, port: int, path: str) -> None:
        while not self._over.wait(EVERY_SECONDS):
            began = time.monotonic()
            connection = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
            health.sent += 1
            try:
                connection.request("GET", path)
                response = connection.getresponse()
                body = response.read().decode()
            except (OSError, HTTPException):
                continue
            finally:
                connection.close()
            health.answered += 1
            health.good += response.status == 200
            health.slowest = max(health.slowest, time.monotonic() - began)
            if response.status == 503:
                health.reason = body
