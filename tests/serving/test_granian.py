"""The command that docs/performance.md gives for granian starts the gateway, word by word."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path

import psutil

from app.values.codes import TransferHistoryStatus as Status
from tests.deploy.files import free_port
from tests.serving.server import ROOT, environment
from tests.site.snippets import block_of

RUN = [block_of("docs/performance.md", "pip install granian")]
PORT = 8000
"""The command's."""

TO_END = 40
"""Seconds: more than the command gives its workers."""


def documented() -> str:
    """The command, as a reader copies it."""
    (found,) = re.findall(r"^granian (?:.*\\\n)*.*$", RUN[0].code, re.MULTILINE)
    return str(found)


@contextmanager
def running(command: str, log: Path, **settings: str) -> Iterator[subprocess.Popen[bytes]]:
    """A shell's command in the repository, with the programs of this environment, ended with the block."""
    passed_on = environment(**settings)
    path = os.pathsep.join((str(Path(sys.executable).parent), passed_on["PATH"]))
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["sh", "-c", f"exec {command}"],
            cwd=ROOT,
            env=passed_on | {"PATH": path},
            stdout=output,
            stderr=output,
        )
    try:
        yield process
    finally:
        left = psutil.Process(process.pid).children() if process.poll() is None else []
        process.kill()  # where it has not ended by itself
        process.wait()
        for worker in left:
            with suppress(psutil.NoSuchProcess):
                worker.kill()


def test_documented_command_serves(tmp_path: Path, sqlite_template: Path) -> None:
    port, log = free_port(), tmp_path / "log"
    command = documented()
    assert f"--port {PORT} " in command
    command = command.replace(f"--port {PORT} ", f"--port {port} ")
    with running(command, log, DATABASE_URL=f"sqlite:///{sqlite_template}") as process:
        wait_until_it_listens(process, port, log)
        request(port, "GET", "/readyz")
        status = request(port, "POST", "/v2/getTransferStatus", json.dumps({"transfer_id": "ab" * 32}))
        assert status["status"] == Status.TRANSFER_UNKNOWN, "no such transfer"
        assert len(psutil.Process(process.pid).children()) >= 2, "--workers 2"
        process.terminate()  # the second worker may still load the application, and not hear it
        process.wait(TO_END)
    assert "Traceback" not in log.read_text()


def wait_until_it_listens(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    until = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.05)
        else:
            return


def request(port: int, method: str, path: str, body: str | None = None) -> dict[str, object]:
    """What the server answers, as JSON."""
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
    response = connection.getresponse()
    answer: dict[str, object] = json.load(response)
    connection.close()
    assert response.status == 200, answer
    return answer
