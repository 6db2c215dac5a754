"""So many requests a second, whatever becomes of them.

``python -m bench.faults.load PORT RATE QUESTIONS SEEN``, where the last two are files.
Each request is sent when it is due, on a free connection or on a new one, as independent clients would: a
server that stands still is not asked less. It ends when its standard input is closed.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from pathlib import Path
from typing import Final

import orjson

from bench.faults.figures import Seen

PATIENCE_SECONDS: Final = 10.0
"""After that a client gives up."""


class Client:
    """Asks one server on loopback."""

    def __init__(self, port: int, questions: list[bytes]) -> None:
        self._port = port
        self._questions = questions
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self._draw = random.Random(7)
        self.seen: list[Seen] = []

    async def ask(self, due: float) -> None:
        """One request; what became of it is noted."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                outcome = await self._exchange(self._draw.choice(self._questions))
        except TimeoutError:
            outcome = "timeout"
        except (OSError, EOFError, ValueError):
            outcome = "connection"
        self.seen.append(Seen(due, time.monotonic() - due, outcome))

    async def _exchange(self, question: bytes) -> str:
        if not self._free:
            self._free.append(await asyncio.open_connection("127.0.0.1", self._port))
        reader, writer = connection = self._free.pop()
        kept = False
        try:
            writer.write(question)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.split(b"content-length: ", 1)[1].split(b"\r\n", 1)[0])
            await reader.readexactly(length)
            kept = b"connection: close" not in head
        finally:
            if kept:
                self._free.append(connection)
            else:
                writer.close()
        return head[9:12].decode()

    async def run(self, rate: float) -> None:
        """Ask until standard input ends; then wait for those that are on their way."""
        loop = asyncio.get_running_loop()
        over = loop.run_in_executor(None, sys.stdin.read)
        under_way: set[asyncio.Task[None]] = set()
        due = time.monotonic()
        while not over.done():
            now = time.monotonic()
            while due <= now:
                task = loop.create_task(self.ask(due))
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


def main(port: str, rate: str, questions: str, seen: str) -> None:
    """Ask the questions of a file, at random, and write what was seen as JSON."""
    lines = Path(questions).read_text(encoding="ascii").splitlines()
    client = Client(int(port), [request_bytes(*line.split("\t")) for line in lines])
    asyncio.run(client.run(float(rate)))
    Path(seen).write_bytes(orjson.dumps([(one.due, one.seconds, one.outcome) for one in client.seen]))


if __name__ == "__main__":
    main(*sys.argv[1:])
