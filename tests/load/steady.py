"""So many requests a second, whatever becomes of them.

Each request is sent when it is due, on a free connection or on a new one, as independent clients would: a
server that hangs is not sent less. A process of its own sends them:
``python -m tests.load.steady PORT RATE QUESTIONS SEEN``, where the last two are files.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson

from tests.deploy.files import ROOT

GOOD: Final = "200"
TIMEOUT_SECONDS: Final = 10.0
"""After that a client gives up."""

IDLE_SECONDS: Final = 30.0
"""After that a client does not use a connection again."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One request: when it was due (monotonic seconds), how long after that it ended, and how.

    :param outcome: the status of HTTP, or ``timeout`` or ``connection``.
    """

    due: float
    seconds: float
    outcome: str


@contextmanager
def steady_load(port: int, rate: float, requests: Path, folder: Path) -> Iterator[list[Seen]]:
    """Send until the block ends; afterwards the list has what became of every request.

    :param rate: requests a second.
    :param requests: as ``write_requests`` writes them.
    """
    seen, results = folder / "seen.json", list[Seen]()
    words = map(str, (port, rate, requests, seen))
    command = [sys.executable, "-m", "tests.load.steady", *words]
    child = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE)
    try:
        yield results
    finally:
        child.communicate()  # closes its standard input
    results += [Seen(*one) for one in orjson.loads(seen.read_bytes())]


class Client:
    """Sends requests to one server on loopback."""

    def __init__(self, port: int, requests: list[bytes]) -> None:
        self._port = port
        self._requests = requests
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter, float]] = []
        """Open connections, and when each was last used."""
        self._draw = random.Random(7)
        self.seen: list[Seen] = []

    async def send(self, due: float) -> None:
        """One request; what became of it is noted."""
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                outcome = await self._exchange(self._draw.choice(self._requests))
        except TimeoutError:
            outcome = "timeout"
        except (OSError, EOFError, ValueError):
            outcome = "connection"
        self.seen.append(Seen(due, time.monotonic() - due, outcome))

    async def _exchange(self, request: bytes) -> str:
        reader, writer = await self._connection()
        stays = False
        try:
            writer.write(request)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.split(b"content-length: ", 1)[1].split(b"\r\n", 1)[0])
            await reader.readexactly(length)
            stays = b"connection: close" not in head
        finally:
            if stays:
                self._free.append((reader, writer, time.monotonic()))
            else:
                writer.close()
        return head[9:12].decode()

    async def _connection(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A free connection, or a new one. Servers close those that nobody has used for a while."""
        while self._free:
            reader, writer, used = self._free.pop()
            if time.monotonic() - used < IDLE_SECONDS:
                return reader, writer
            writer.close()
        return await asyncio.open_connection("127.0.0.1", self._port)

    async def run(self, rate: float) -> None:
        """Send until standard input ends; then wait for the answers that are on their way."""
        loop = asyncio.get_running_loop()
        over = loop.run_in_executor(None, sys.stdin.read)
        under_way: set[asyncio.Task[None]] = set()
        due = time.monotonic()
        while not over.done():
            now = time.monotonic()
            while due <= now:
                task = loop.create_task(self.send(due))
                under_way.add(task)
                task.add_done_callback(under_way.discard)
                due += 1 / rate
            await asyncio.sleep(max(0.0005, due - time.monotonic()))
        await asyncio.gather(*under_way)


def request_bytes(method: str, path: str, body: str) -> bytes:
    """A request of HTTP/1.1 as it is sent."""
    lines = [f"{method} {path} HTTP/1.1", "Host: gateway.test"]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", body]).encode()


def main(port: str, rate: str, requests: str, seen: str) -> None:
    """Send the requests of a file, at random, and write what was seen as JSON."""
    lines = Path(requests).read_text(encoding="ascii").splitlines()
    client = Client(int(port), [request_bytes(*line.split("\t")) for line in lines])
    asyncio.run(client.run(float(rate)))
    Path(seen).write_bytes(orjson.dumps([(one.due, one.seconds, one.outcome) for one in client.seen]))


if __name__ == "__main__":
    main(*sys.argv[1:])
