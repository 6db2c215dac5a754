"""A reporter that goes on whatever happens, and remembers what was acknowledged."""

from __future__ import annotations

import time
from collections import Counter
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException
from threading import Event, Thread
from typing import Final

import orjson

from bench.feed import events

TOKEN: Final = "only for measurements"
PORTION: Final = 20
PAUSE_SECONDS: Final = 0.1
PATIENCE_SECONDS: Final = 15


class Reporter:
    """Sends a portion after the other, each until it was taken."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._first = 0
        self._over = Event()
        self._thread = Thread(target=self._work, daemon=True)
        self.acknowledged: list[str] = []
        """The ids of events that were answered as accepted or repeated."""
        self.failures: Counter[str] = Counter()

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, after the portion that is on its way was taken or failed."""
        self._over.set()
        self._thread.join(timeout=2 * PATIENCE_SECONDS)

    def _work(self) -> None:
        while not self._over.is_set():
            portion = list(events(self._first, PORTION, datetime.now(UTC)))
            self._first += PORTION
            while not self._over.is_set():
                outcome = self._post(portion)
                if outcome == "200":
                    break
                self.failures[outcome] += 1
                time.sleep(PAUSE_SECONDS)
            time.sleep(PAUSE_SECONDS)

    def _post(self, portion: list[bytes]) -> str:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE_SECONDS)
        headers = {"Content-Type": "application/x-ndjson", "Authorization": f"Bearer {TOKEN}"}
        try:
            connection.request("POST", "/ingest/v1/events", b"\n".join(portion), headers)
            response = connection.getresponse()
            answer = response.read()
        except TimeoutError:
            return "timeout"
        except (OSError, HTTPException):
            return "connection"
        finally:
            connection.close()
        if response.status == 200:
            refused = {line["id"] for line in orjson.loads(answer)["refused"]}
            ids = [orjson.loads(line)["id"] for line in portion]
            self.acknowledged += [each for each in ids if each not in refused]
        return str(response.status)
