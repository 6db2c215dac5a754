"""A gateway that responds by a script, to see what clients do with it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from itertools import pairwise
from select import select
from typing import Any
from urllib.parse import parse_qs, urlsplit

from demo.wallet import listening

STATUS, WAIT, EVENTS = "getTransferStatus", "waitTransferStatus", "transferEvents"


@dataclass(frozen=True)
class Say:
    """One answer: a status, or an HTTP status with a reason.

    :param after: seconds until it is given.
    :param foreign: the JSON of another server, such as a proxy.
    """

    status: int = 0
    http: int = 200
    reason: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    after: float = 0
    broken: bool = False
    stream: str | None = None
    foreign: object = None

    def body(self) -> bytes:
        if self.stream is not None:
            return self.stream.encode()
        if self.broken:
            return b"<html>"
        if self.foreign is not None:
            return json.dumps(self.foreign).encode()
        err = {"code": 500, "msg": "as the script says"} if self.reason else None
        return json.dumps({"err": err, "status": self.status}).encode()


@dataclass
class Script:
    """The answers to each operation in turn, the last for ever; and the requests with their times."""

    says: Mapping[str, Sequence[Say]]
    requests: list[tuple[float, str, Any]] = field(default_factory=list)
    given_up: list[float] = field(default_factory=list)
    """Seconds that clients waited for an answer before they left."""

    def next(self, operation: str, query: Any) -> Say:
        turn = self.operations.count(operation)
        self.requests.append((time.monotonic(), operation, query))
        says = self.says.get(operation, [Say(http=404, broken=True)])
        return says[min(turn, len(says) - 1)]

    @property
    def operations(self) -> list[str]:
        return [operation for _, operation, _ in self.requests]

    @property
    def pauses(self) -> list[float]:
        times = [moment for moment, _, _ in self.requests]
        return [later - earlier for earlier, later in pairwise(times)]


@contextmanager
def serving(scripts: Mapping[str, Script]) -> Iterator[str]:
    """The base address; the script of a name is under ``/name``."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            last = self.headers.get("Last-Event-ID")
            self._answer(parse_qs(urlsplit(self.path).query) | ({} if last is None else {"last": last}))

        def do_POST(self) -> None:
            self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def _answer(self, query: Any) -> None:
            name, _, operation = urlsplit(self.path).path.removeprefix("/").split("/")
            say = scripts[name].next(operation, query)
            if (waited := self._left_within(say.after)) is not None:
                scripts[name].given_up.append(waited)
                self.close_connection = True
                return
            body = say.body()
            self.send_response(say.http)
            kind = "application/json" if say.stream is None else "text/event-stream"
            given = {"Content-Type": kind, "Content-Length": str(len(body)), **say.headers}
            if say.reason:
                given["X-Gateway-Reason"] = say.reason
            for header, value in given.items():
                self.send_header(header, value)
            self.end_headers()
            self.wfile.write(body)

        def _left_within(self, seconds: float) -> float | None:
            """When the client left before so many seconds; None where it waits for them."""
            began = time.monotonic()
            readable, _, _ = select([self.connection], [], [], seconds)
            return time.monotonic() - began if readable else None

        def log_message(self, *args: object) -> None:
            pass

    with listening(Handler) as base:
        yield base
