"""One reporter who uploads events without pause."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from http.client import HTTPConnection
from threading import Event
from typing import Final

import orjson

from bench.feed import events
from bench.serving import Served

TOKEN: Final = "only for measurements"
BODY_EVENTS: Final = 5_000
PATIENCE_SECONDS: Final = 120


class Reporter:
    """Sends ever new events to one server, a body after the other."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._bodies = _bodies()
        self.uploads = 0
        """Bodies that were taken so far."""

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Upload while the block runs; it ends after the body that is on its way.

        :raises SystemExit: a body was not taken in full.
        """
        ended = Event()

        def work() -> None:
            while not ended.is_set():
                self.upload()

        with ThreadPoolExecutor(1) as thread:
            working = thread.submit(work)
            try:
                yield
            finally:
                ended.set()
            working.result()

    def upload(self) -> None:
        """One body.

        :raises SystemExit: it was not taken in full.
        """
        connection = HTTPConnection(self._served.host, self._served.port, timeout=PATIENCE_SECONDS)
        headers = {"Content-Type": "application/x-ndjson", "Authorization": f"Bearer {TOKEN}"}
        connection.request("POST", "/ingest/v1/events", next(self._bodies), headers)
        response = connection.getresponse()
        answer = response.read()
        connection.close()
        if response.status != 200 or orjson.loads(answer).get("accepted") != BODY_EVENTS:
            raise SystemExit(f"an upload was answered {response.status}: {answer[:300]!r}")
        self.uploads += 1


def _bodies() -> Iterator[bytes]:
    now, first = datetime.now(UTC), 0
    while True:
        yield b"\n".join(events(first, BODY_EVENTS, now))
        first += BODY_EVENTS
