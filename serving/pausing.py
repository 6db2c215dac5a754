"""Pauses of connections that are waited for by the thousand.

They switch greenlets by themselves: what gevent's own waits keep of each who waits, on the stack and beside
it, is two KiB more.
"""

from __future__ import annotations

from typing import Any

from gevent import get_hub, getcurrent


def wait_until(watcher: Any, seconds: float, late: type[Exception]) -> None:
    """Let the others run until a watcher calls.

    :param watcher: of gevent's loop; stopped when this returns or raises.
    :param late: raised when it has not called in so many seconds.
    """
    hub, current = get_hub(), getcurrent()
    timer = hub.loop.timer(seconds)
    try:
        watcher.start(current.switch)
        # From now on: the loop's own time is that of its last round, before whatever took long since.
        timer.start(current.throw, late, update=True)
        hub.switch()
    finally:
        watcher.stop()
        timer.close()
