"""Many who wait, in a process of their own: ``python -m bench.waiters PORT FILE``, used by ``bench.wait``.

Each line of the file is a path. It says ``ready`` when all are asked, and on the next line it reads, at which
moments they were answered, as a JSON list of seconds of the monotonic clock, null where none came.
"""

from __future__ import annotations

import json
import resource
import selectors
import socket
import sys
import time
from pathlib import Path
from typing import Final

ADDRESSES: Final = 50
ANSWER_SECONDS: Final = 30
MORE_FILES: Final = 500


class Waiters:
    """The connections, each with its question, and when it was answered last."""

    def __init__(self, port: int, paths: list[str]) -> None:
        self.answered: list[float | None] = [None] * len(paths)
        self._selector = selectors.DefaultSelector()
        self._questions = [f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode() for path in paths]
        for number, question in enumerate(self._questions):
            source = (f"127.0.0.{2 + number % ADDRESSES}", 0)
            wire = socket.create_connection(("127.0.0.1", port), timeout=20, source_address=source)
            wire.sendall(question)
            self._selector.register(wire, selectors.EVENT_READ, number)

    def hear(self, seconds: float, *, again: bool) -> int:
        """Take what is answered for so long at most; how many answers came.

        :param again: whether to ask again, so that as many wait as before.
        """
        came = 0
        for key, _ in self._selector.select(seconds):
            wire, number = key.fileobj, key.data
            assert isinstance(wire, socket.socket)
            answer = wire.recv(65536)
            if not answer.startswith(b"HTTP/1.1 200 "):
                raise SystemExit(f"who waits was answered {answer[:200]!r}")
            self.answered[number] = time.monotonic()
            came += 1
            if again:
                wire.sendall(self._questions[number])
        return came


def main(arguments: list[str]) -> None:
    """Wait until a line is read, asking again; then take an answer of each."""
    port, file = int(arguments[0]), Path(arguments[1])
    paths = file.read_text().splitlines()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(len(paths) + MORE_FILES, most), most))
    waiters = Waiters(port, paths)
    print("ready", flush=True)
    with selectors.DefaultSelector() as commands:
        commands.register(sys.stdin, selectors.EVENT_READ)
        while not commands.select(0):
            waiters.hear(0.05, again=True)
    sys.stdin.readline()
    waiters.answered = [None] * len(paths)
    print("listening", flush=True)
    left, until = len(paths), time.monotonic() + ANSWER_SECONDS
    while left and time.monotonic() < until:
        left -= waiters.hear(0.05, again=False)
    print(json.dumps(waiters.answered), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
