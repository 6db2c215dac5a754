"""Callers of the gateway during the rehearsal of an upgrade: readers, a reporter, a receiver of webhooks."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

import orjson

from tests.load.requests import Request
from tests.migrating.old_release import life

READERS: Final = 4
COMPLETED: Final = 5
FRESH_SECONDS: Final = 0.5
"""After so long every process answers what was acknowledged (docs/decisions/0031-cached-facts.md)."""

FIRST_NUMBER: Final = 20_000_000
"""Of the transfers that are sent during the upgrade."""


class Connection:
    """One connection to the proxy, opened again where it was closed."""

    def __init__(self, port: int, headers: Mapping[str, str] | None = None) -> None:
        self._wire = HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = dict(headers or {})

    def request(
        self, method: str, path: str, body: str | bytes = "", kind: str = "application/json"
    ) -> bytes:
        """The status and the body of the answer."""
        headers = self._headers | ({"Content-Type": kind} if body else {})
        try:
            self._wire.request(method, path, body or None, headers)
            response = self._wire.getresponse()
            return b"%d " % response.status + response.read()
        except (OSError, HTTPException):
            self._wire.close()
            raise

    def answer(self, request: Request) -> bytes:
        """The status and the body of the answer to a prepared request."""
        return self.request(request.method, request.path, request.body)


def answers_to(port: int, requests: Sequence[Request]) -> dict[Request, bytes]:
    """All answers, requested over several connections."""

    def read(part: Sequence[Request]) -> dict[Request, bytes]:
        connection = Connection(port)
        return {request: connection.answer(request) for request in part}

    found: dict[Request, bytes] = {}
    with ThreadPoolExecutor(READERS) as pool:
        for part in pool.map(read, [requests[n::READERS] for n in range(READERS)]):
            found |= part
    return found


MOVES: Final = {"as_of", "as_of_block", "read_to", "facts_age_seconds"}
"""Names whose values differ with time: how far the log is, how old facts are."""


def places_that_differ(old: Any, new: Any, path: str = "") -> Iterator[str]:
    """The places of a JSON document that differ, but for ``MOVES``. Further fields are no difference."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in old.keys() - MOVES:
            if name in new:
                yield from places_that_differ(old[name], new[name], f"{path}/{name}")
            else:
                yield f"{path}/{name}: only before"
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for n, pair in enumerate(zip(old, new, strict=True)):
            yield from places_that_differ(*pair, f"{path}/{n}")
    elif old != new:
        yield f"{path}: {old!r}, {new!r}"


class Load:
    """Readers that compare answers with those of before, and a reporter that repeats what was not taken."""

    def __init__(
        self, public: int, operators: int, token: str, account: str, known: Mapping[Request, bytes]
    ) -> None:
        """
        :param public: the proxy's port for the public.
        :param operators: its port for reporters.
        :param token: of the reporter.
        :param account: that sends what is reported.
        :param known: the answers that stay as they are.
        """
        self._public, self._operators, self._token, self._account = public, operators, token, account
        self._known = list(known.items())
        self._ended = threading.Event()
        self._number = FIRST_NUMBER
        self._payouts: list[dict[str, object]] = []
        self.reads = 0
        self.failed = Counter[str]()
        """Reads without an answer, by what came instead."""
        self.differing = Counter[str]()
        """Reads with another answer than before, by path; a release may add fields."""
        self.stale: list[str] = []
        """Transfers that were answered as open after their payout was acknowledged."""
        self.acknowledged: set[str] = set()
        self.refused: list[object] = []
        self.completed: list[str] = []
        """Transfers whose payout was acknowledged."""
        self.repeated = Counter[str]()
        """Posts that were sent again, by what came instead of an answer."""
        self.longest_pause = 0.0
        """The most seconds between two posts that were taken."""

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Read and report until the block ends."""
        self._ended.clear()
        with ThreadPoolExecutor(READERS + 1) as pool:
            working = [pool.submit(self._report), *(pool.submit(self._read, n) for n in range(READERS))]
            try:
                yield
            finally:
                self._ended.set()
            for each in working:
                each.result()

    def _read(self, seed: int) -> None:
        connection, draw = Connection(self._public), random.Random(seed)
        while not self._ended.wait(0.02):
            request, before = draw.choice(self._known)
            self.reads += 1
            try:
                answer = connection.answer(request)
            except (OSError, HTTPException) as error:
                self.failed[type(error).__name__] += 1
                continue
            if answer == before:
                continue
            if not answer.startswith(b"200"):
                self.failed[answer[:120].decode()] += 1
            elif any(places_that_differ(orjson.loads(before[4:]), orjson.loads(answer[4:]))):
                self.differing[request.path.partition("?")[0]] += 1

    def _report(self) -> None:
        taken = time.monotonic()
        while not self._ended.wait(0.1):
            released, body = self._payouts, []
            self._payouts = []
            for _ in range(5):
                self._number += 1
                sends, payout = life(self._number, datetime.now(UTC).isoformat(), self._account)
                body += sends
                self._payouts.append(payout)
            self._post([*body, *released])
            now = time.monotonic()
            self.longest_pause, taken = max(self.longest_pause, now - taken), now
            self._follow([str(each["transfer_id"]) for each in released])

    def _post(self, events: list[dict[str, object]]) -> None:
        connection = Connection(self._operators, {"Authorization": f"Bearer {self._token}"})
        lines = b"\n".join(map(orjson.dumps, events))
        while True:
            try:
                answer = connection.request("POST", "/ingest/v1/events", lines, "application/x-ndjson")
            except (OSError, HTTPException) as error:
                answer = type(error).__name__.encode()
            if answer.startswith(b"200"):
                break
            self.repeated[answer[:80].decode()] += 1
            time.sleep(0.1)
        self.refused += orjson.loads(answer[4:])["refused"]
        self.acknowledged |= {str(each["id"]) for each in events}

    def _follow(self, completed: Sequence[str]) -> None:
        """Whether each process answers what was acknowledged: the proxy sends the requests to all of them."""
        self.completed += completed
        time.sleep(FRESH_SECONDS)
        connection = Connection(self._public)
        opened = [str(each["transfer_id"]) for each in self._payouts]
        for each in (*completed, *opened) * READERS:
            with_id = Request("/v2/getTransferStatus", f'{{"transfer_id":"{each}"}}')
            try:
                answer = connection.answer(with_id)
            except (OSError, HTTPException) as error:
                self.failed[type(error).__name__] += 1
                continue
            if each in completed and orjson.loads(answer[4:])["status"] != COMPLETED:
                self.stale.append(each)


class Receiver(ThreadingHTTPServer):
    """Takes webhooks."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Taken)
        self.deliveries: list[tuple[bytes, dict[str, str]]] = []
        """Bodies and headers."""

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Serve until the block ends."""
        threading.Thread(target=self.serve_forever, daemon=True).start()
        with self:
            yield
            self.shutdown()


class _Taken(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.deliveries.append((body, dict(self.headers)))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""
