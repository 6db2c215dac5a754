"""Work in a fork: its result and its failure reach the process that waits, and it does not outlive that."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(work: str, before: str = "") -> subprocess.Popen[str]:
    """A program of its own: it has no threads, and ends as programs do."""
    program = f"""
import os, sys, time
from serving import ending, patch
ending.stop_quietly()
patch()
from scripts.apart import apart
def work():
    {work}
{before}
print(apart(work), "and went on")
"""
    command = [sys.executable, "-c", program]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_result_of_the_fork_is_returned() -> None:
    printed, _ = run("return 'one', str(os.getppid())").communicate()
    assert printed.startswith("['one', '")
    assert printed.endswith("'] and went on\n")


def test_fork_has_threads_of_its_own() -> None:
    """gevent's, which the process before had used: without them it would wait for ever."""
    look_up = "import socket; socket.getaddrinfo('127.0.0.1', 0)"
    process = run(f"{look_up}; return ['looked up']", before=look_up)
    assert process.communicate(timeout=60)[0] == "['looked up'] and went on\n"


@pytest.mark.parametrize(
    ("work", "printed"),
    [("raise SystemExit('DATABASE_URL: away')", "DATABASE_URL: away\n"), ("sys.exit(1)", "")],
)
def test_refusal_in_the_fork_ends_the_process(work: str, printed: str) -> None:
    process = run(work)
    assert process.communicate() == ("", printed)
    assert process.returncode == 1


def test_fault_in_the_fork_ends_the_start() -> None:
    process = run("return 1 / 0")
    out, error = process.communicate()
    assert (out, process.returncode) == ("", 1)
    assert error.count("ZeroDivisionError: division by zero") == 1


def test_fork_ends_with_the_process(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    with run(f"open({str(file)!r}, 'w').write(str(os.getpid())); time.sleep(600)") as process:
        while not (file.exists() and file.read_text()):
            assert process.poll() is None
            time.sleep(0.02)
        process.terminate()
        process.communicate()
    assert process.returncode == 0
    pid = int(file.read_text())
    until = time.monotonic() + 5
    while psutil.pid_exists(pid) and time.monotonic() < until:
        time.sleep(0.02)
    assert not psutil.pid_exists(pid)
