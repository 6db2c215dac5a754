"""Where the readers are compared: a node, a database server, and what one reading took."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import orjson
import psutil

from bench.serving import ROOT, cpu_seconds, serving
from bench.watching.databases import Cluster
from bench.watching.node import Setup

PATIENCE_SECONDS = 1_800.0
LOOKS_EVERY = 0.2
"""Seconds: looking takes time from those who are looked at."""


@dataclass(frozen=True, slots=True)
class Node:
    """The node of the chains, on loopback."""

    port: int
    process: psutil.Process

    def url(self, chain_id: int, name: str) -> str:
        """One of the URLs of a chain; what comes in there is counted under the name."""
        return f"http://127.0.0.1:{self.port}/{chain_id}/{name}"

    def asked(self) -> dict[str, Any]:
        """By name, how often each method was asked and when the first request came."""
        said: dict[str, Any] = orjson.loads(self._ask("GET", "/"))
        return said

    def move_head(self, chain_id: int, block: int) -> None:
        """Let the chain end with this block."""
        self._ask("PUT", f"/{chain_id}/head/{block}")

    def _ask(self, method: str, path: str) -> bytes:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request(method, path)
        said = connection.getresponse().read()
        connection.close()
        return said


@contextmanager
def node(setups: Sequence[Setup], folder: Path) -> Iterator[Node]:
    """A node for these chains."""
    file = folder / "chains.json"
    file.write_bytes(orjson.dumps([setup.as_json() for setup in setups]))
    command = ["bench.watching.node", str(file), "{port}"]
    with serving(command, {}, folder / "node.log") as served:
        yield Node(served.port, served.process)


@dataclass(frozen=True, slots=True)
class Arena:
    """What every reader gets, and where its output goes."""

    node: Node
    setup: Setup
    cluster: Cluster
    folder: Path

    @property
    def last(self) -> int:
        """The last block that has to be read."""
        return self.setup.shape.last


@dataclass(frozen=True, slots=True)
class Reading:
    """What one reader did in one round.

    :param seconds: from its first question to its end.
    :param facts: logs, of a feed its lines.
    :param cpu: seconds of its own processes after their start, without the node's and the database's.
    :param requests: over HTTP.
    """

    who: str
    seconds: float
    facts: int
    cpu: float
    requests: int = 0

    @property
    def rate(self) -> float:
        """Facts a second."""
        return self.facts / self.seconds


@contextmanager
def running(
    command: Sequence[str], settings: Mapping[str, str], log: Path, cwd: Path = ROOT
) -> Iterator[psutil.Popen]:
    """A process of a reader; what still runs at the end of the block is ended."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    with log.open("w") as output:
        child = psutil.Popen(
            command,
            cwd=cwd,
            env={**kept, **settings},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield child
    finally:
        with suppress(psutil.NoSuchProcess):
            child.terminate()
        try:
            child.wait(timeout=15)
        except psutil.TimeoutExpired:
            child.kill()
            child.wait()


def begin(child: psutil.Popen, served: Node, names: Collection[str]) -> float:
    """Wait for its first question under one of the names; the processor's seconds that its start took."""
    while child.poll() is None and not served.asked().keys() & set(names):
        time.sleep(LOOKS_EVERY / 4)
    return cpu_seconds([child])


def finish(child: psutil.Popen, is_done: Callable[[], bool], log: Path) -> tuple[float, float]:
    """Wait until it is done; the moment of it, and the processor's seconds used until then.

    :raises SystemExit: the process ended before, or it takes too long.
    """
    end = time.monotonic() + PATIENCE_SECONDS
    used = 0.0
    while time.monotonic() < end:
        ended = child.poll() is not None
        if not ended:
            used = cpu_seconds([child])
        if is_done():
            return time.monotonic(), used
        if ended:
            break
        time.sleep(LOOKS_EVERY)
    raise SystemExit(f"{' '.join(map(str, child.args))} did not come to its end:\n{log.read_text()[-3000:]}")


def module(name: str, *arguments: str) -> list[str]:
    """The command that runs a module of ours."""
    return [sys.executable, "-m", name, *arguments]
