"""Lets a test that measures run while no other test of this checkout does."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

LOCKS: Final = Path(__file__).resolve().parents[1] / ".tmp" / "alone"


@contextmanager
def taking_turns(*, alone: bool, folder: Path = LOCKS) -> Iterator[None]:
    """Run beside the others; or, alone, wait until they have ended and have them wait.

    Whoever comes waits at the gate behind one who waits to be alone, or that one would wait for ever.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "gate").open("w") as gate, (folder / "room").open("w") as room:
        fcntl.flock(gate, fcntl.LOCK_EX)
        fcntl.flock(room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(gate, fcntl.LOCK_UN)
        try:
            yield
        finally:
            # Closing it is not enough: a process that the test started may have a copy.
            fcntl.flock(room, fcntl.LOCK_UN)
