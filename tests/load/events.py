"""Any number of events about transfers, and one reporter who sends them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection, HTTPException
from threading import Event
from typing import Final

import orjson

TOKEN: Final = "only for measurements"
EVENTS_PER_TRANSFER: Final = 4


def events(first: int, count: int, now: datetime) -> Iterator[bytes]:
    """So many events: pool transfers from send to release, one after the other."""
    for n in range(first // EVENTS_PER_TRANSFER, (first + count) // EVENTS_PER_TRANSFER):
        transfer_id = hashlib.sha256(b"bench %d" % n).hexdigest()
        sent = now - timedelta(days=6) + timedelta(milliseconds=400 * n % 500_000_000)
        block = 1_000_000 + n
        party = {"sender": "0x" + transfer_id[:40], "receiver": "0x" + transfer_id[:40]}
        route = {"src_chain_id": 1, "dst_chain_id": 56, "symbol": "USDT", "amount": "25000000"}
        source = {"kind": "pool", "src_tx_hash": transfer_id, "block": block}
        for kind, seconds, fields in (
            ("transfer.sent", 0, source | party | route),
            ("transfer.confirmed", 150, {"block": block}),
            ("network.status", 160, {"xfer_status": 2}),
            ("transfer.released", 240, {"dst_tx_hash": transfer_id, "block": 5 * block}),
        ):
            about = {"transfer_id": transfer_id, "at": (sent + timedelta(seconds=seconds)).isoformat()}
            yield orjson.dumps({"id": f"{kind}-{n}", "type": kind} | about | fields)


class Reporter:
    """Sends one body after the other to a gateway on loopback, each until it was taken."""

    def __init__(self, port: int, *, portion: int, pause: float = 0, timeout: float = 120) -> None:
        """
        :param portion: events in a body.
        :param pause: seconds between two bodies.
        :param timeout: seconds that an answer may take.
        """
        self._port, self._portion, self._pause, self._timeout = port, portion, pause, timeout
        self._first = 0
        self._ended = Event()
        self.acknowledged: list[str] = []
        """The ids of events that were answered as accepted or repeated."""

        self.failures: Counter[str] = Counter()
        """How often a body was not taken, by what came instead."""

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Upload while the block runs; it ends after the body that is on its way."""
        self._ended.clear()
        with ThreadPoolExecutor(1) as thread:
            working = thread.submit(self._work)
            try:
                yield
            finally:
                self._ended.set()
            working.result()

    def _work(self) -> None:
        while not self._ended.is_set():
            self.upload()
            self._ended.wait(self._pause)

    def upload(self) -> None:
        """One body of new events, again and again until it is taken or the work ends."""
        body = list(events(self._first, self._portion, datetime.now(UTC)))
        self._first += self._portion
        while (outcome := self._post(body)) != "200":
            self.failures[outcome] += 1
            if self._ended.wait(max(0.1, self._pause)):
                return

    def _post(self, lines: list[bytes]) -> str:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=self._timeout)
        headers = {"Content-Type": "application/x-ndjson", "Authorization": f"Bearer {TOKEN}"}
        try:
            connection.request("POST", "/ingest/v1/events", b"\n".join(lines), headers)
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
            ids = [orjson.loads(line)["id"] for line in lines]
            self.acknowledged += [each for each in ids if each not in refused]
        return str(response.status)
