"""``make demo`` on a port of its own. One at a time: it has one folder."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from demo.anvil import WORKSHOP
from tests.programs import anvil

SETTINGS: Final = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}


@contextmanager
def held_port() -> Iterator[int]:
    """A port that only the demonstration can take.

    A socket that is bound and does not listen holds it: the system gives it to no other process, and those
    that name it can still listen there.
    """
    anvil()
    with (WORKSHOP.parent / "demo.lock").open("w") as lock, socket.socket() as held:
        fcntl.flock(lock, fcntl.LOCK_EX)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield int(held.getsockname()[1])
