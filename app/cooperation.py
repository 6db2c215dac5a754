"""How work lets the other requests of its process run, and how often the garbage collector runs.

Under ``gunicorn.conf.py`` a process serves its requests by greenlets: one that neither waits nor gives way
blocks all the others. Elsewhere (commands, tests, servers with threads) the same calls cost almost nothing.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final, ParamSpec, TypeVar

from gevent import Timeout, get_hub, idle
from gevent.monkey import is_module_patched

P = ParamSpec("P")
T = TypeVar("T")


TURN_SECONDS: Final = 0.001
"""How long work without waiting clients goes on before others have their turn: less than the time of a public
answer."""

OTHERS_SECONDS: Final = 0.003
"""How long all others together may then go on, while they have something to do."""


def give_way() -> None:
    """Let all other ready greenlets run, also those that become ready only now."""
    # Not sleep(0): gevent resumes such sleepers up to fifty times before it looks at sockets again. An idle
    # watcher of the highest priority is called once in each turn of the loop, after that look.
    if served_by_greenlets():
        idle(get_hub().loop.MAXPRI)


def yield_to_others() -> None:
    """Let the others go on until none of them is ready, for ``OTHERS_SECONDS`` at most: callers with
    continuous requests would otherwise stop work that yields to them.
    """
    if served_by_greenlets():
        with Timeout(OTHERS_SECONDS, False):
            idle()


def in_turns(items: Iterable[T], monotonic: Callable[[], float] = time.monotonic) -> Iterator[T]:
    """The items, with turns for others in between: for all work on thousands of them."""
    until = monotonic() + TURN_SECONDS
    for item in items:
        if monotonic() >= until:
            yield_to_others()
            until = monotonic() + TURN_SECONDS
        yield item


def in_native_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run ``work`` while other greenlets run, and return its result. For calls that block a thread without
    greenlets, such as a statement of SQLite. Where no greenlets serve, the call is made directly.
    """
    if not served_by_greenlets():
        return work(*args, **kwargs)
    # The hub would log each exception that the work raises there.
    value, error = get_hub().threadpool.apply(_outcome, (partial(work, *args, **kwargs),))
    if error is not None:
        raise error
    result: T = value
    return result


def _outcome(work: Callable[[], T]) -> tuple[T | None, Exception | None]:
    try:
        return work(), None
    except Exception as error:
        return None, error


def served_by_greenlets() -> bool:
    patched: bool = is_module_patched("threading")
    return patched


@contextmanager
def given_up_after(seconds: float | None, too_late: Exception) -> Iterator[None]:
    """End the wait in the block after so many seconds by raising ``too_late``, where greenlets serve.
    Elsewhere the block needs its own timeout.
    """
    if seconds is None or not served_by_greenlets():
        yield
        return
    with Timeout(max(seconds, 0.0), too_late):
        yield


_YOUNG: Final = 20_000
"""New objects, less those freed, before the collector runs. With Python's own 700 a fifth of the time of a
batch of events went into searches for garbage."""


def collect_seldom() -> None:
    """Make the collector run less often in this process. Costs some megabytes."""
    _, middle_age, old = gc.get_threshold()
    gc.set_threshold(_YOUNG, middle_age, old)
