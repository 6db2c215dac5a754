"""How a greenlet waits for PostgreSQL."""

from __future__ import annotations

from time import monotonic
from typing import Any

from psycopg import waiting
from psycopg.errors import _WaitTimeout  # what psycopg's own functions raise

from app.cooperation import served_by_greenlets, wait_for_file


def wait(gen: Any, fileno: int, interval: float = 0.0, timeout: float | None = None) -> Any:
    """Run one of psycopg's generators to its end, and let others run while it waits.

    psycopg has such functions itself. They go through a patched ``poll``, wake up ten times a second for
    signals that greenlets do not need, and cost 60 µs more a statement.

    :param fileno: the connection's socket.
    :param timeout: seconds after which to give up.
    :raises OperationalError: it took longer than ``timeout``.
    """
    until = None if timeout is None else monotonic() + timeout
    try:
        events = next(gen)
        while True:
            left = None if until is None else until - monotonic()
            wait_for_file(fileno, events, left, _WaitTimeout("wait timeout expired"))
            # What was waited for is said to be ready. Where only one of two is, the other is found not to be.
            events = gen.send(events)
    except StopIteration as ended:
        return ended.value


def wait_by_greenlets() -> None:
    """Make psycopg wait in this way, where greenlets serve."""
    if served_by_greenlets():
        waiting.wait = wait
