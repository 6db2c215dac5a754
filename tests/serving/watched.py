"""A real gunicorn with metrics and health on ports of their own, and what they answer."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import psutil

from tests.metrics.counted import Series, series, value
from tests.serving.server import Server, serving


@dataclass(frozen=True, slots=True)
class Watched:
    """The server, and the two ports."""

    server: Server
    metrics: int
    health: int

    def request(self, port: int, path: str, method: str = "GET", timeout: float = 20) -> tuple[int, bytes]:
        """Status and body of an answer."""
        connection = HTTPConnection("127.0.0.1", port, timeout=timeout)
        try:
            connection.request(method, path)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def series(self) -> Series:
        """The metrics of now."""
        status, body = self.request(self.metrics, "/metrics")
        assert status == 200, body
        return series(body)

    def until(self, holds: Callable[[Series], bool], seconds: float = 30) -> Series:
        """The first metrics of which this holds."""
        end = time.monotonic() + seconds
        while True:
            try:
                found = self.series()
                if holds(found) or time.monotonic() > end:
                    assert holds(found), found
                    return found
            except (OSError, HTTPException):
                if time.monotonic() > end:
                    raise
            time.sleep(0.1)

    @property
    def workers(self) -> list[psutil.Process]:
        """Those that serve."""
        return psutil.Process(self.server.process.pid).children()


@contextmanager
def watched(log: Path, application: str = "wsgi:app", **settings: str) -> Iterator[Watched]:
    """The server, once all its workers have reported; ended with the block."""
    ports = {"METRICS_PORT": "0", "HEALTH_PORT": "0"}
    with serving(application, log, **(ports | settings)) as server:
        assert server.process.stdout
        found: dict[str, int] = {}
        for line in server.process.stdout:
            if shown := re.match(r"(Metrics|Health) +http://127\.0\.0\.1:(\d+)/", line):
                found[shown[1]] = int(shown[2])
            if len(found) == 2:
                break
        running = Watched(server, found["Metrics"], found["Health"])
        workers = int(settings.get("WEB_CONCURRENCY", "2"))
        running.until(lambda s: value(s, "gateway_workers") == workers, seconds=60)
        yield running
