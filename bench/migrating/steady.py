"""So many requests a second, whatever the answers take: ``python -m bench.migrating.steady PORT RATE FILE``.

A line of the file is a path to get. A line on standard output is an answer: when it was due (Unix seconds),
how long it took from then on (milliseconds), its status, 0 where there was none.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final

CONNECTIONS: Final = 32
PATIENCE_SECONDS: Final = 10.0
LATE_SECONDS: Final = 60
"""How long after its time an answer is waited for."""

OK: Final = 200

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True, slots=True)
class Answer:
    """One request. ``ms`` counts from when it was due, so that waiting for a connection counts, too."""

    due: float
    ms: float
    status: int


@contextmanager
def steady_load(port: int, rate: int, paths: list[str], folder: Path) -> Iterator[Load]:
    """Ask until the block ends.

    :param rate: requests a second.
    """
    questions, answers = folder / "paths.txt", folder / "answers.txt"
    questions.write_text("\n".join(paths))
    with answers.open("w") as output:
        command = [sys.executable, "-m", "bench.migrating.steady", str(port), str(rate), str(questions)]
        child = subprocess.Popen(command, stdout=output, stdin=subprocess.PIPE)
        try:
            load = Load(answers, rate)
            load.begin()
            yield load
        finally:
            child.terminate()
            child.wait()


class Load:
    """What was asked so far."""

    def __init__(self, answers: Path, rate: int) -> None:
        self._answers = answers
        self._rate = rate

    def begin(self) -> None:
        """Wait for the first answer: from then on as many requests are due as were asked for."""
        for _ in range(10 * LATE_SECONDS):
            if self._answers.stat().st_size:
                return
            time.sleep(0.1)
        raise SystemExit("the server does not answer")

    def between(self, start: float, end: float) -> list[Answer]:
        """The requests that were due then, in Unix seconds.

        Those that are still waited for get a minute. Who has no answer then counts as failed: a server that
        is asked for more than it can give would else seem to have been asked for less.
        """
        due = int((end - start) * self._rate)
        for _ in range(LATE_SECONDS):
            if len(found := self._answered(start, end)) >= due:
                return found
            time.sleep(1)
        return found + [Answer(end, LATE_SECONDS * 1000, 0)] * (due - len(found))

    def catch_up(self) -> None:
        """Wait until nobody waits for an answer any more but who has just asked."""
        for _ in range(LATE_SECONDS):
            now = time.time()
            if len(self._answered(now - 2, now - 1)) >= self._rate - 1:
                return
            time.sleep(1)
        raise SystemExit(f"the server does not answer {self._rate} requests a second")

    def _answered(self, start: float, end: float) -> list[Answer]:
        found = []
        for line in self._answers.read_text().splitlines():
            words = line.split()
            if len(words) == 3 and start <= float(words[0]) < end:
                found.append(Answer(float(words[0]), float(words[1]), int(words[2])))
        return found


def p99(answers: list[Answer]) -> float:
    """In milliseconds; 0 without an answer."""
    times = sorted(answer.ms for answer in answers)
    return times[min(len(times) - 1, round(0.99 * len(times)))] if times else 0.0


async def _ask(port: int, rate: int, paths: list[bytes]) -> None:
    free: asyncio.Queue[Stream | None] = asyncio.Queue()
    for _ in range(CONNECTIONS):
        free.put_nowait(None)
    draw, asked = random.Random(1), set[asyncio.Task[None]]()
    start = time.time()
    for number in count(1):
        due = start + number / rate
        await asyncio.sleep(max(0.0, due - time.time()))
        task = asyncio.create_task(_one(port, free, draw.choice(paths), due))
        asked.add(task)
        task.add_done_callback(asked.discard)


async def _one(port: int, free: asyncio.Queue[Stream | None], path: bytes, due: float) -> None:
    stream = await free.get()
    status, kept = 0, False
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            stream = stream or await asyncio.open_connection("127.0.0.1", port)
            status, kept = await _exchange(stream, path)
    except (OSError, EOFError, TimeoutError, ValueError):
        pass
    finally:
        if stream and not kept:
            stream[1].close()
        free.put_nowait(stream if kept else None)
    with suppress(BrokenPipeError):
        sys.stdout.write(f"{due:.6f} {(time.time() - due) * 1000:.2f} {status}\n")
        sys.stdout.flush()


async def _exchange(stream: Stream, path: bytes) -> tuple[int, bool]:
    """The status of the answer, and whether the connection stays open."""
    reader, writer = stream
    writer.write(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path)
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
    await reader.readexactly(length)
    return int(head.split()[1]), b"connection: close" not in head


if __name__ == "__main__":
    lines = Path(sys.argv[3]).read_bytes().splitlines()
    asyncio.run(_ask(int(sys.argv[1]), int(sys.argv[2]), lines))
