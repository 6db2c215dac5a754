"""Two reporters who send the same events at the same time, each to a gateway of its own."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException
from itertools import pairwise
from threading import Event, Lock
from typing import Final

import orjson
from msgspec import Struct

from tests.load.events import TOKEN, events

PORTION: Final = 20
"""Events in a body."""

PAUSE_SECONDS: Final = 0.2
TIMEOUT_SECONDS: Final = 10
"""Of an answer. After it a reporter sends the body again."""

BUSY_SECONDS: Final = 1.5
"""A pause between two acknowledged bodies that is no failure."""


class Body(Struct):
    """One body as both sent it.

    :param accepted: how many of its events were answered as new, by both together.
    :param acknowledged: how many of the two had an answer with 200.
    """

    lines: list[bytes]
    accepted: int = 0
    acknowledged: int = 0


class Twins:
    """They send until they are ended. In every moment an event may be new to only one of their gateways."""

    def __init__(self, ports: Sequence[int], first: int = 0) -> None:
        """
        :param first: the number of the first event: no other twins may have sent it.
        """
        self._ports, self._first = ports, first
        self.bodies: list[Body] = []
        self._making = Lock()
        self._began = datetime.now(UTC)
        self._ended = Event()
        self.times: dict[int, list[float]] = {port: [] for port in ports}
        """When each had a body acknowledged, in monotonic seconds."""
        self.failures: Counter[str] = Counter()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Send while the block runs."""
        with ThreadPoolExecutor(len(self._ports)) as threads:
            working = [threads.submit(self._work, port) for port in self._ports]
            try:
                yield
            finally:
                self._ended.set()
            for each in working:
                each.result()

    def acknowledged(self) -> list[str]:
        """The ids of all events that one of them has an acknowledgement of."""
        return [orjson.loads(line)["id"] for body in self.bodies if body.acknowledged for line in body.lines]

    def accepted_twice(self) -> int:
        """How many events were answered as new more often than they are."""
        return sum(max(0, body.accepted - len(body.lines)) for body in self.bodies)

    def back_after(self, began: float) -> float:
        """Seconds from a moment until both had acknowledgements again: to the end of the longest pause.

        0 where no pause is longer than those of a busy machine.
        """
        back = 0.0
        for times in self.times.values():
            since = [began, *(moment for moment in times if moment >= began), time.monotonic()]
            pause, end = max((later - earlier, later) for earlier, later in pairwise(since))
            back = max(back, end - began if pause > BUSY_SECONDS else 0.0)
        return back

    def _work(self, port: int) -> None:
        number = 0
        while not self._ended.wait(PAUSE_SECONDS):
            while not self._post(port, self.body(number)):
                if self._ended.wait(PAUSE_SECONDS):
                    return
            number += 1

    def body(self, number: int) -> Body:
        """One of the bodies, the same for both."""
        with self._making:
            while len(self.bodies) <= number:
                first = self._first + len(self.bodies) * PORTION
                self.bodies.append(Body(list(events(first, PORTION, self._began))))
        return self.bodies[number]

    def _post(self, port: int, body: Body) -> bool:
        connection = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
        headers = {"Content-Type": "application/x-ndjson", "Authorization": f"Bearer {TOKEN}"}
        try:
            connection.request("POST", "/ingest/v1/events", b"\n".join(body.lines), headers)
            response = connection.getresponse()
            answer = response.read()
        except TimeoutError:
            self.failures["timeout"] += 1
            return False
        except (OSError, HTTPException):
            self.failures["connection"] += 1
            return False
        finally:
            connection.close()
        if response.status != 200:
            self.failures[str(response.status)] += 1
            return False
        verdict = orjson.loads(answer)
        assert verdict["refused"] == [], verdict
        body.accepted += verdict["accepted"]
        body.acknowledged += 1
        self.times[port].append(time.monotonic())
        return True
