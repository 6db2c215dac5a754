"""The processes that the demonstration starts: they end with it, however it ends."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, Final

_PR_SET_PDEATHSIG: Final = 1
_LIBC: Final = ctypes.CDLL(None)


def start(command: Sequence[str], **options: Any) -> subprocess.Popen[str]:
    """Start it in a process group of its own: the keys of the terminal are for the demonstration alone, which
    ends its processes one after the other.

    If it cannot, being killed, Linux does. It does so, too, when the thread ends that calls this.
    """
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, text=True, process_group=0,
        preexec_fn=_end_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509  a call that needs no lock
        **options,
    )  # fmt: skip


def _end_with_parent() -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
