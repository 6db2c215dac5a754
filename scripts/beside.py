"""Work beside a process, which ends with that process: ``python -m scripts.beside MODULE …``.

Its standard input is a pipe of which only that process holds the other end. However the process ends, the
pipe does too, and then all that the module has started is killed. The keys of the terminal do not reach it.
"""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Final

from serving.ending import at_end

_ROOT: Final = Path(__file__).resolve().parent.parent


def run_beside(module: str, *arguments: str) -> None:
    """Start it. At the end of this process, it is waited for."""
    read, write = os.pipe()
    held = os.fdopen(write, "wb", buffering=0)
    command = [sys.executable, "-m", "scripts.beside", module, *arguments]
    process = subprocess.Popen(command, cwd=_ROOT, stdin=read, process_group=0)
    os.close(read)
    os.register_at_fork(after_in_child=held.close)

    def end() -> None:
        if os.getpid() == started_by:  # and not in a fork of it
            held.close()
            process.wait()

    started_by = os.getpid()
    at_end(end)


def _end_with_input() -> None:
    os.read(0, 1)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    threading.Thread(target=_end_with_input, daemon=True).start()
    sys.argv[:] = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
