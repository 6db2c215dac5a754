"""A taken port is found before anything else happens, and another one is offered."""

from __future__ import annotations

import re
import socket
import subprocess
import sys

import pytest

from serving.address import HOST, PORT, Address
from tests.applications import make_settings
from tests.serving.server import ROOT


def test_taken_port_error_names_a_free_one() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SystemExit) as refused:
            Address("127.0.0.1", port).refuse_if_taken("make run")
    found = re.fullmatch(
        rf"PORT: {port} on .*; choose another port, such as PORT=(\d+) make run", str(refused.value)
    )
    assert found
    assert int(found[1]) != port
    Address("127.0.0.1", int(found[1])).refuse_if_taken()


def test_first_look_has_the_default_address() -> None:
    settings = make_settings("sqlite://")
    assert (settings.host, settings.port) == (HOST, PORT)


def test_first_look_needs_only_python() -> None:
    """It comes before packages are installed, and before anything is imported that takes long."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-S", "-m", "serving.address"]  # -S: without packages
        ended = subprocess.run(
            command, cwd=ROOT, env={"PORT": port}, capture_output=True, text=True, check=False
        )
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"PORT: {port} on 127.0.0.1: Address already in use; ")
    for port in ("0", "none", "99999"):  # config.py says what is wrong with the last two
        assert subprocess.run(command, cwd=ROOT, env={"PORT": port}, check=False).returncode == 0
