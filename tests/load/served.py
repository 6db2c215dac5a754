"""Starting a server on loopback, waiting for it, measuring its processes, ending it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Final

import psutil

from tests.deploy.files import ROOT, free_port

GATEWAY: Final = ("gunicorn", "-c", "gunicorn.conf.py", "wsgi:app")
"""The command of the gateway, as arguments of ``python -m``."""

START_SECONDS: Final = 120
END_SECONDS: Final = 45


@dataclass(frozen=True, slots=True)
class Served:
    """A server that answers on loopback."""

    port: int
    process: psutil.Process
    host: str = "127.0.0.1"


@contextmanager
def serving(
    command: Sequence[str],
    settings: Mapping[str, str],
    log: Path,
    *,
    code: Path = ROOT,
    port: int | None = None,
    ready: str = "/",
    python: str = sys.executable,
) -> Iterator[Served]:
    """Run a server until the block ends. ``{port}`` in the command becomes its port.

    :param code: the folder that it runs in.
    :param port: one that is free where it is left out.
    :param ready: a path; the block begins when it is answered with a status below 500.
    :param python: the interpreter of that code.
    """
    port = port or free_port()
    passed_on = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    with log.open("w") as output:
        child = subprocess.Popen(
            [python, "-m", *(part.format(port=port) for part in command)],
            cwd=code,
            env={**passed_on, "PORT": str(port), **settings},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait_for(child, port, ready, log)
        yield Served(port, psutil.Process(child.pid))
    finally:
        child.terminate()
        try:
            child.wait(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _wait_for(child: subprocess.Popen[bytes], port: int, path: str, log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and child.poll() is None:
        with suppress(OSError, HTTPException):
            connection = HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", path)
            status = connection.getresponse().status
            connection.close()
            if status < 500:
                return
        time.sleep(0.1)
    raise SystemExit(f"{child.args!r} does not answer:\n{log.read_text()}")


def send_request(port: int, method: str, path: str, body: str = "") -> bytes:
    """The body of the answer to one request.

    :raises SystemExit: any status but 200.
    """
    return ask_whole(port, method, path, body)[0]


def ask_whole(port: int, method: str, path: str, body: str = "") -> tuple[bytes, Message]:
    """The body and the headers of the answer to one request.

    :raises SystemExit: any status but 200.
    """
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    headers = {"Content-Type": "application/json"} if body else {}
    connection.request(method, path, body or None, headers)
    response = connection.getresponse()
    answer = response.read()
    connection.close()
    if response.status != 200:
        raise SystemExit(f"{method} {path} was answered {response.status}: {answer[:200]!r}")
    return answer, response.headers


def cpu_seconds(roots: Iterable[psutil.Process]) -> float:
    """Processor time that these processes and all those under them have used so far.

    What has ended counts with the process that waited for it: PostgreSQL does for each connection's.
    """
    total = 0.0
    for root in roots:
        for process in (root, *root.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                total += times.user + times.system + times.children_user + times.children_system
    return total


def worker_bytes(master: psutil.Process) -> list[float]:
    """What each worker needs: its own memory and its part of what is shared."""
    return [worker.memory_full_info().pss for worker in master.children()]
