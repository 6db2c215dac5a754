"""Runs ``flask`` commands in processes that are forked from one which has imported the application.

A process of Python needs seconds of imports before a command begins. Commands of pages run here with the
arguments, environment, folder and files that the shell gave them, as programs do.
"""

from __future__ import annotations

import gc
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flask.cli import main

import app  # noqa: F401  everything that a command needs

CLIENT = """\
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
    sys.exit(int(answers.readline()))
"""
"""The program ``flask`` of the shell: it hands everything over, signals too, and ends as the command does."""


@contextmanager
def forking(program: Path) -> Iterator[None]:
    """A server for the program, which is written here; both are gone with the block."""
    address = program.parent / ".socket"
    program.write_text(CLIENT.format(python=sys.executable, address=address))
    program.chmod(0o755)
    root = Path(__file__).resolve().parents[2]
    process = subprocess.Popen([sys.executable, "-m", __name__, str(address)], cwd=root)
    try:
        until = time.monotonic() + 60
        while not address.exists():
            assert process.poll() is None and time.monotonic() < until, "it does not start"
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait()


def serve(address: str) -> None:
    """Fork a process for each program that connects."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{address}.new")
        server.listen()
        Path(f"{address}.new").rename(address)
        while True:
            connection, _ = server.accept()
            if os.fork() == 0:
                server.close()
                if os.fork() == 0:
                    _attend(connection)
                os._exit(0)
            os.wait()
            connection.close()


def _attend(connection: socket.socket) -> None:
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
        main()  # raises SystemExit through every frame, as the program does
        sys.exit()
    for file in files:
        os.close(file)
    connection.sendall(f"{child}\n".encode())
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    connection.sendall(f"{code if code >= 0 else 128 - code}\n".encode())
    os._exit(0)


if __name__ == "__main__":
    gc.freeze()
    serve(sys.argv[1])
