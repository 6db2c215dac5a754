"""How a process ends at Ctrl-C, at SIGTERM and when its terminal is closed: without a traceback.

It needs nothing but Python, as it comes before everything that takes long to import
(docs/operations.md#ending).
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
from _thread import start_new_thread
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from select import poll
from types import FrameType, TracebackType
from typing import Any, Final

STOPPING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, a supervisor or ``kill``, and a terminal that is closed."""

_MAKE_SECONDS: Final = 0.1
"""How long the process still lives: GNU make fails where its child ends before it has seen Ctrl-C itself."""

_sleep: Final = time.sleep
"""Before it lets other greenlets go on: there are none any more."""

_INTERRUPTED: Final = 128 + signal.SIGINT

_is_ending = False
_unwinds = False
_at_end: list[Callable[[], None]] = []


def stop_quietly(*, unwinds: bool = False) -> None:
    """End at each of these signals from now on, and print no more about it than ``stopped``.

    :param unwinds: raise KeyboardInterrupt, for a program that ends what it has started. Others end at once,
        because a library that is interrupted while it is imported can crash.

    Only where nothing handles them yet: gunicorn reads its configuration again in a master that serves. What
    is ignored stays ignored, as ``nohup`` does with SIGHUP.
    """
    global _unwinds  # noqa: PLW0603  of the process, as its signals are
    _unwinds = unwinds
    for number in STOPPING:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _stop)
    held = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    if _print_no_interrupt() and signal.getsignal(signal.SIGHUP) is _stop:
        with suppress(OSError):  # there is no terminal
            start_new_thread(_pass_on_closing, (_open_terminal(),))
    # Signals are for this thread. Whoever started the process may have held them back until now.
    signal.pthread_sigmask(signal.SIG_SETMASK, held - {*STOPPING})


def _pass_on_closing(terminal: int) -> None:
    """Send this process SIGHUP when the terminal is closed.

    The system sends it to the process that leads the session. Where that is GNU make, nobody else gets it.
    """
    waiting = poll()
    waiting.register(terminal, 0)
    waiting.poll()
    os.kill(os.getpid(), signal.SIGHUP)


def _stop(_number: int, _frame: FrameType | None) -> None:
    global _is_ending  # noqa: PLW0603  of the process, as its signals are
    if _is_ending or not _unwinds:  # a person who presses it twice does not want to wait
        _end_at_once()
    _is_ending = True
    for number in (signal.SIGTERM, signal.SIGHUP):  # a closed terminal can send more than one
        if signal.getsignal(number) is _stop:
            signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


@contextmanager
def stopped_command() -> Iterator[None]:
    """End a command quietly at Ctrl-C. Its exit code is that of shells, and not 0: it is not done."""
    _print_no_interrupt(_INTERRUPTED)
    try:
        yield
    except KeyboardInterrupt:
        say_stopped()
        raise SystemExit(_INTERRUPTED) from None


def _print_no_interrupt(code: int = 0) -> bool:
    """End without a traceback where nothing catches KeyboardInterrupt, or nothing can, as in a destructor.

    Greenlets are threads here, and any of them can be active when a signal comes. Returns whether this was
    not done before.
    """
    if sys.excepthook is not sys.__excepthook__:
        return False

    def report(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        _end_if_interrupted(kind, code)
        sys.__excepthook__(kind, error, traceback)

    def report_ignored(ignored: Any) -> None:
        _end_if_interrupted(ignored.exc_type, code)
        sys.__unraisablehook__(ignored)

    def report_of_thread(ended: threading.ExceptHookArgs) -> None:
        _end_if_interrupted(ended.exc_type, code)
        threading.__excepthook__(ended)

    sys.excepthook, sys.unraisablehook, threading.excepthook = report, report_ignored, report_of_thread
    return True


def _end_if_interrupted(kind: type[BaseException], code: int) -> None:
    if issubclass(kind, KeyboardInterrupt):
        _end_at_once(code)


def at_end(work: Callable[[], None]) -> None:
    """Have something done when this process, or a fork of it, ends; also where it ends at once."""
    if not _at_end:
        atexit.register(_finish)
    _at_end.append(work)


def _finish() -> None:
    while _at_end:
        with suppress(Exception):
            _at_end.pop()()


def _end_at_once(code: int = 0) -> None:
    """End without Python's own clearing up: a signal that came meanwhile would kill the process."""
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    say_stopped()
    _finish()
    os._exit(code)


def say_stopped() -> None:
    """Print it on a terminal, below what that shows of Ctrl-C."""
    with suppress(OSError, ValueError):  # the terminal is closed
        sys.stdout.flush()
        if sys.stderr.isatty():
            sys.stderr.write("\nstopped\n")
            sys.stderr.flush()
            _sleep(_MAKE_SECONDS)


def has_terminal() -> bool:
    """Whether there is a terminal whose keys and whose closing send signals to this process."""
    try:
        os.close(_open_terminal())
    except OSError:
        return False
    return True


def _open_terminal() -> int:
    return os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
