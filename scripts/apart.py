"""Work in a fork of this process: what it imports and allocates does not stay in memory afterwards."""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NoReturn

from gevent.os import fork

from serving.ending import STOPPING, at_end


def apart(work: Callable[[], Sequence[str] | None]) -> Sequence[str]:
    """The texts that the work returns, if any. The fork is killed where this process ends before.

    :raises SystemExit: the work has ended so. A fault of it has been printed.
    """
    sys.stdout.flush()
    read, write = os.pipe()
    held = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    child = fork()  # whose threads and events are its own
    if not child:
        _do(work, write)
    running = [child]

    def kill() -> None:
        for pid in running:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    at_end(kill)
    signal.pthread_sigmask(signal.SIG_SETMASK, held)
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as answer:
        returned = answer.read()
    _, status = os.waitpid(child, 0)
    running.clear()
    if status:
        raise SystemExit(json.loads(returned) if returned else 1)
    found: Sequence[str] = json.loads(returned)
    return found


def _do(work: Callable[[], Sequence[str] | None], write: int) -> NoReturn:
    """Signals of the terminal stay blocked: the process that waits gets them as well, and kills this one."""
    code = 1
    try:
        with os.fdopen(write, "w", encoding="utf-8") as answer:
            try:
                json.dump(work() or (), answer)
                code = 0
            except SystemExit as ended:
                json.dump(ended.code, answer)
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
