"""A process on a terminal of its own, as a person starts it: with Ctrl-C, and a window that can be closed."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import psutil

from tests.serving.server import ROOT

SECONDS = 90


class Terminal:
    """The process leads the session of the terminal, and all that it starts is in that session."""

    def __init__(self, command: Sequence[str], settings: Mapping[str, str]) -> None:
        self._ours, its = pty.openpty()
        self.process = subprocess.Popen(
            command, cwd=ROOT, env={**settings, "TERM": "dumb"}, pass_fds=[its],
            preexec_fn=partial(os.login_tty, its),  # noqa: PLW1509  there is no other way to get a terminal
        )  # fmt: skip
        os.close(its)
        self._shown = b""

    def shown_until(self, holds: Callable[[str], bool]) -> str:
        """What it has shown since the last call, once that holds."""
        end = time.monotonic() + SECONDS
        while not holds(shown := self._shown.decode(errors="replace").replace("\r\n", "\n")):
            assert self._read(0.05) or (self.process.poll() is None and time.monotonic() < end), shown
        self._shown = b""
        return shown

    def _read(self, seconds: float) -> bool:
        """Whether there was something to read."""
        if not select.select([self._ours], [], [], seconds)[0]:
            return False
        try:
            self._shown += os.read(self._ours, 65536)
        except OSError:  # nobody has the terminal any more
            return False
        return True

    def wait(self, seconds: float) -> None:
        """Let it work for so long, and forget what it shows."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._read(end - time.monotonic())
        self._shown = b""

    def press_ctrl_c(self) -> None:
        """To all processes in the foreground."""
        os.write(self._ours, b"\x03")

    def terminate(self) -> None:
        """To the process that was started, and no other."""
        self.process.terminate()

    def close(self) -> None:
        """Close the window."""
        os.close(self._ours)
        self._ours = -1

    def processes(self) -> list[psutil.Process]:
        """All that are left of the session."""
        return [each for each in psutil.process_iter() if _session_of(each) == self.process.pid]

    def assert_nothing_left(self) -> None:
        """Wait for the last processes: what make started ends at the same signal, at times after make."""
        end = time.monotonic() + SECONDS
        while left := self.processes():
            assert time.monotonic() < end, left
            time.sleep(0.01)

    def ended(self) -> str:
        """What it shows until it has ended, of Ctrl-C what comes after that, without empty lines."""
        end = time.monotonic() + SECONDS
        while self.process.poll() is None:
            assert time.monotonic() < end, self._shown.decode(errors="replace")
            if self._ours >= 0:
                self._read(0.02)
            else:
                time.sleep(0.02)
        while self._ours >= 0 and self._read(0.0):
            pass
        shown = self._shown.decode(errors="replace").rpartition("^C")[2]
        return "\n".join(filter(None, shown.replace("\r", "").split("\n")))


def _session_of(process: psutil.Process) -> int | None:
    with suppress(OSError, psutil.Error):
        return None if process.status() == psutil.STATUS_ZOMBIE else os.getsid(process.pid)
    return None


@contextmanager
def on_terminal(command: Sequence[str], settings: Mapping[str, str]) -> Iterator[Terminal]:
    """The process on its terminal. What is left of its session is killed with the block."""
    terminal = Terminal(command, settings)
    try:
        yield terminal
    finally:
        for each in terminal.processes():
            with suppress(psutil.Error):
                each.kill()
        terminal.process.wait(SECONDS)
        if terminal._ours >= 0:
            terminal.close()


def loaded(process: subprocess.Popen[bytes], library: str) -> bool:
    """Whether it has imported a compiled library (Linux)."""
    return library in Path(f"/proc/{process.pid}/maps").read_text()
