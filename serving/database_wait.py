"""How a greenlet waits for PostgreSQL: the others run meanwhile."""

from __future__ import annotations

from time import monotonic
from typing import Any, Final

import gevent
from gevent.hub import get_hub
from psycopg import waiting
from psycopg.errors import _WaitTimeout  # type: ignore[attr-defined]


def wait(gen: Any, fileno: int, interval: float = 0.0, timeout: float | None = None) -> Any:
    hub = get_hub()
    try:
        state = next(gen)
        if timeout is None:
            while True:
                watcher = hub.loop.io(fileno, state)
                try:
                    hub.wait(watcher)
                finally:
                    watcher.close()
                state = gen.send(state)
        deadline = monotonic() + timeout
        while True:
            watcher = hub.loop.io(fileno, state)
            try:
                with gevent.Timeout(max(0.0, deadline - monotonic()), _WaitTimeout("wait timeout expired")):
                    hub.wait(watcher)
            finally:
                watcher.close()
            state = gen.send(state)
    except StopIteration as ended:
        return ended.value


def install() -> None:
    waiting.wait = wait
