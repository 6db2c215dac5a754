"""Where the readers are compared: a node, a database server, and what one reading took."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import psutil

from bench.watching.setting import FIRST_BLOCK, PROVIDERS
from tests.databases import new_postgres_database
from tests.deploy.files import ROOT
from tests.load.served import cpu_seconds, send_request, serving
from tests.postgres import gateway_on, postgres_server

TIMEOUT_SECONDS = 1_800.0
LOOKS_EVERY = 0.2
"""Seconds. More frequent checks would take time from the readers."""


@dataclass(frozen=True, slots=True)
class Arena:
    """What every reader gets, and where its output goes."""

    blocks: int
    logs: int
    node: int
    """The port of the node."""
    server: str
    """The URL of the database server."""
    template: str
    """A database with the gateway's tables."""
    folder: Path

    @property
    def last(self) -> int:
        return FIRST_BLOCK + self.blocks - 1

    def empty(self) -> str:
        """The URL of a new database without tables."""
        return new_postgres_database(self.server)

    def migrated(self) -> str:
        """The URL of a new database with the gateway's tables."""
        return new_postgres_database(self.server, self.template)

    def url(self, name: str, provider: str = PROVIDERS[0]) -> str:
        """One of the URLs of the node; its requests are counted under the name."""
        return f"http://{provider}:{self.node}/{name}"

    def calls(self) -> dict[str, Any]:
        """By name, how often each method was called and when the first request came."""
        counted: dict[str, Any] = orjson.loads(send_request(self.node, "GET", "/"))
        return counted


@contextmanager
def arena(blocks: int, logs: int, folder: Path) -> Iterator[Arena]:
    """A node for the chain, and a database server."""
    command = ["bench.watching.node", str(blocks), str(logs), "{port}"]
    with postgres_server() as database, serving(command, {}, folder / "node.log") as node:
        template = new_postgres_database(database.url)
        with gateway_on(template):
            pass
        yield Arena(blocks, logs, node.port, database.url, template, folder)


@dataclass(frozen=True, slots=True)
class Reading:
    """What one reader did in one round.

    :param seconds: from its first request to its end.
    :param facts: logs, of a feed its lines.
    :param cpu: seconds of its own processes after their start, without the node's and the database's.
    :param requests: over HTTP.
    """

    who: str
    seconds: float
    facts: int
    cpu: float
    requests: int = 0


@contextmanager
def running(command: Sequence[str], settings: Mapping[str, str], log: Path) -> Iterator[psutil.Popen]:
    """A process of a reader; what still runs at the end of the block is ended."""
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    with log.open("w") as output:
        child = psutil.Popen(
            command,
            cwd=ROOT,
            env={**inherited, **settings},
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


def begin(child: psutil.Popen, place: Arena, names: Collection[str]) -> float:
    """Wait for its first request under one of the names. Returns the processor's seconds of its start."""
    while child.poll() is None and not place.calls().keys() & set(names):
        time.sleep(LOOKS_EVERY / 4)
    return cpu_seconds([child])


def finish(child: psutil.Popen, is_done: Callable[[], bool], log: Path) -> tuple[float, float]:
    """Wait until it is done. Returns that moment, and the processor's seconds used until then.

    :raises SystemExit: the process ended before, or it takes too long.
    """
    end = time.monotonic() + TIMEOUT_SECONDS
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
    return [sys.executable, "-m", name, *arguments]
