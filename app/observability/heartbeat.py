"""Signs of life for systemd, which restarts a process that hangs: its notifications, a datagram each.

Run as a script, it waits for one: the probe of the manifests in ``deploy/kubernetes``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from socket import AF_UNIX, SOCK_DGRAM, socket
from typing import Final

BEAT_SECONDS: Final = 5.0
"""Between two beats. The units allow 120 s, the probe ``PROBE_SECONDS``."""

PROBE_SECONDS: Final = 20.0

_MESSAGE: Final = b"READY=1\nWATCHDOG=1"
"""systemd takes the first READY=1 as the end of the start, and ignores the others."""


def _address() -> str:
    """Where beats go; empty where nobody wants them. systemd writes ``@`` for the NUL of an abstract name."""
    name = os.environ.get("NOTIFY_SOCKET", "")  # noqa: TID251  a variable of systemd, not of this gateway
    return f"\0{name[1:]}" if name.startswith("@") else name


class Heartbeat:
    """Says that the work goes on. The loop that works calls it: a thread of its own would not hang with it.

    :param monotonic: seconds that never go back.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._address = _address()
        self._next = monotonic()

    def beat(self) -> None:
        """Send a sign of life, if the last was ``BEAT_SECONDS`` ago. Never waits and never fails."""
        if not self._address or self._monotonic() < self._next:
            return
        self._next = self._monotonic() + BEAT_SECONDS
        with suppress(OSError), socket(AF_UNIX, SOCK_DGRAM) as sender:  # a probe listens only now and then
            sender.setblocking(False)
            sender.sendto(_MESSAGE, self._address)


def wait_for_beat() -> None:
    """Wait for a beat of another process.

    :raises TimeoutError: none came.
    """
    address = _address()
    Path(address).unlink(missing_ok=True)
    with socket(AF_UNIX, SOCK_DGRAM) as receiver:
        receiver.bind(address)
        receiver.settimeout(PROBE_SECONDS)
        receiver.recv(len(_MESSAGE))


if __name__ == "__main__":
    try:
        wait_for_beat()
    except TimeoutError:
        sys.exit(f"no sign of life within {PROBE_SECONDS:g} seconds")
