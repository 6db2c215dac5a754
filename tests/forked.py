"""Programs of ours in processes that are forked from one which has imported the application.

A process of Python imports for more than a second before ``gunicorn`` or a ``flask`` command begins. These
begin at once, with the arguments, environment, folder and files that they get, as programs do. Each process
of pytest has one such process a program, which ends with it.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Final, Literal

import gunicorn

ROOT = Path(__file__).resolve().parents[1]

Program = Literal["flask", "gunicorn"]

_NAMES: Final = {"flask": "flask", "gunicorn": f"{Path(gunicorn.__file__).parent}/__main__.py"}
"""How each is called, as gunicorn's second master starts by that again."""

THIN_CLIENT = """\
#!{python} -IS
import json, os, signal, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect("{address}")
    sent = json.dumps([sys.argv, os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(server, [len(sent).to_bytes(4, "big")], [0, 1, 2])
    server.sendall(sent)
    answers = server.makefile()
    child = int(answers.readline())
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: os.kill(child, number))
    code = int(answers.readline())
    sys.exit(code if code >= 0 else 128 - code)
"""
"""The program of a shell: it hands everything over, signals too, and ends as the forked process does."""


class Forked:
    """A process, with what tests use of ``subprocess.Popen``.

    :param arguments: without the program's own name.
    :param stdout: a file, or None for a pipe: ``stdout`` is its other end.
    """

    def __init__(
        self,
        program: Program,
        arguments: Sequence[str],
        *,
        env: Mapping[str, str],
        stdout: IO[str] | IO[bytes] | None = None,
        stderr: IO[str] | IO[bytes],
        cwd: Path = ROOT,
    ) -> None:
        self.returncode: int | None = None
        self.stdout: IO[str] | None = None
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.connect(_address_of(program))
        sent = json.dumps([[_NAMES[program], *arguments], str(cwd), dict(env)]).encode()
        with open(os.devnull) as nothing:  # noqa: PTH123  pathlib has no null device
            if stdout is None:
                reading, writing = os.pipe()
                self.stdout = os.fdopen(reading)
            else:
                writing = os.dup(stdout.fileno())
            files = [nothing.fileno(), writing, stderr.fileno()]
            socket.send_fds(self._connection, [len(sent).to_bytes(4, "big")], files)
            os.close(writing)
        self._connection.sendall(sent)
        self._answers = self._connection.makefile("rb")
        self.pid = int(self._answers.readline())
        self._ended = select.poll()
        self._ended.register(self._connection, select.POLLIN)

    def poll(self) -> int | None:
        """Its exit code, minus the signal that ended it, None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it has ended.

        :raises subprocess.TimeoutExpired: it still runs.
        """
        if self.returncode is None:
            if not self._ended.poll(None if timeout is None else timeout * 1000):
                raise subprocess.TimeoutExpired([str(self.pid)], timeout or 0)
            with self._connection, self._answers:
                self.returncode = int(self._answers.readline())
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, None]:
        """Wait until it has ended, and return what is left of its output."""
        self.wait(timeout)
        if self.stdout is None:
            return "", None
        with self.stdout as output:
            return output.read(), None

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def path_of(name: Program) -> str:
    """The path of a program that runs there, for a shell and ``subprocess.run``.

    SIGKILL ends only this program, and not what it runs: see ``Forked``.
    """
    return str(Path(_address_of(name)).with_name(name))


@cache
def _address_of(program: Program) -> str:
    """Start the process that forks this program, once, and return the path of its socket."""
    folder = tempfile.TemporaryDirectory(prefix="forked-")
    address = f"{folder.name}/socket"
    process = subprocess.Popen(
        [sys.executable, "-m", __name__, program, address], cwd=ROOT, stdin=subprocess.PIPE
    )
    atexit.register(process.communicate)  # closes its input, which ends it
    until = time.monotonic() + 60
    while not Path(address).exists():
        assert process.poll() is None and time.monotonic() < until, "it does not start"
        time.sleep(0.02)
    atexit.register(folder.cleanup)
    client = Path(folder.name, program)
    client.write_text(THIN_CLIENT.format(python=sys.executable, address=address))
    client.chmod(0o755)
    return address


def _serve(program: Program, address: str) -> None:
    """Fork a process for each program that connects, until the standard input is closed."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{address}.new")
        server.listen()
        Path(f"{address}.new").rename(address)
        while sys.stdin not in select.select([sys.stdin, server], [], [])[0]:
            connection, _ = server.accept()
            if os.fork() == 0:
                server.close()
                if os.fork() == 0:
                    _attend(program, connection)
                os._exit(0)
            os.wait()
            connection.close()


def _attend(program: Program, connection: socket.socket) -> None:
    """Run one command in a process of its own, and report how it ended."""
    length, files, _, _ = socket.recv_fds(connection, 4, 3)
    with connection.makefile("rb") as sent:
        arguments, folder, environment = json.loads(sent.read(int.from_bytes(length, "big")))
    child = os.fork()
    if child == 0:
        connection.close()
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = arguments
        _main(program)
        sys.exit()
    for file in files:
        os.close(file)
    connection.sendall(f"{child}\n".encode())
    connection.sendall(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n".encode())
    os._exit(0)


def _main(program: Program) -> None:
    """Run the program, which raises SystemExit through every frame at its end."""
    if program == "gunicorn":
        from gunicorn.app.wsgiapp import run  # noqa: PLC0415  a flask command does not import it

        run(prog="gunicorn")
    else:
        from flask.cli import main  # noqa: PLC0415  nor gunicorn this

        main()


def _import_everything(program: Program) -> None:
    """Import what the program would at its start and at its first requests."""
    if program == "gunicorn":
        import_module("serving.ending")  # before the patch, as gunicorn.conf.py does
        from serving import patch  # noqa: PLC0415  a flask command does not import gevent

        patch()
        # Nothing more of `serving`: what the workers of one server share would be shared by all servers.
        for name in ("gunicorn.app.wsgiapp", "gunicorn.arbiter", "gunicorn.workers.ggevent"):
            import_module(name)
    import app  # noqa: PLC0415

    for module in pkgutil.walk_packages(app.__path__, "app."):
        with suppress(ImportError):  # of an extra that is not installed
            import_module(module.name)


if __name__ == "__main__":
    gc.disable()
    wanted: Program = "gunicorn" if sys.argv[1] == "gunicorn" else "flask"
    _import_everything(wanted)
    gc.freeze()
    gc.enable()
    _serve(wanted, sys.argv[2])
