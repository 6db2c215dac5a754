"""A line on a terminal while a backfill runs: how far it is, how fast, how long it will take."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TextIO

from app.domain.keys import ChainId
from app.watcher.loop.task import ChainTask
from app.watcher.loop.view import View

EVERY_SECONDS: Final = 1.0
MEASURED_SECONDS: Final = 30.0
BAR: Final = 24
"""Characters of the bar."""


@dataclass(slots=True)
class _Pace:
    """Blocks read at certain times."""

    seen: deque[tuple[float, int]] = field(default_factory=deque)

    def rate(self, now: float, done: int) -> float:
        """Blocks a second over the last half minute; 0 where that is not known yet."""
        self.seen.append((now, done))
        while now - self.seen[0][0] > MEASURED_SECONDS:
            self.seen.popleft()
        then, before = self.seen[0]
        return max(0.0, (done - before) / (now - then)) if now > then else 0.0


class Progress:
    """Shows the backfills of this process in one line. Where nobody looks, it shows nothing.

    :param monotonic: seconds that only grow.
    """

    def __init__(self, stream: TextIO, monotonic: Callable[[], float]) -> None:
        self._stream = stream
        self._monotonic = monotonic
        self._shown_at = float("-inf")
        self._paces: dict[ChainId, _Pace] = {}
        self._open = False

    def show(self, tasks: Mapping[ChainId, ChainTask]) -> None:
        """Write the line anew, once a second."""
        now = self._monotonic()
        if now - self._shown_at < EVERY_SECONDS or not self._stream.isatty():
            return
        self._shown_at = now
        parts = [text for task in list(tasks.values()) if (text := self._part(task, now))]
        if parts:
            self._stream.write("\r\x1b[K" + "   ".join(parts))
            self._stream.flush()
            self._open = True
        else:
            self.clear()

    def clear(self) -> None:
        """Take the line away."""
        if self._open:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._open = False

    def _part(self, task: ChainTask, now: float) -> str | None:
        found = None if task.view is None else done_of(task.view)
        if found is None:
            self._paces.pop(task.chain_id, None)
            return None
        done, total = found
        rate = self._paces.setdefault(task.chain_id, _Pace()).rate(now, done)
        return f"chain {task.chain_id} {line(done, total, rate)}"


def done_of(view: View) -> tuple[int, int] | None:
    """Blocks of the backfill that were read, and of all of it; None where it is done or not begun."""
    readings, start = view.readings, view.terms.from_block
    if readings.live_from is None or readings.live_from <= start:
        return None
    total = readings.live_from - start
    done = 0 if readings.backfilled_to is None else max(0, readings.backfilled_to - start + 1)
    return (done, total) if done < total else None


def line(done: int, total: int, rate: float) -> str:
    """The bar of one chain, with rate and time left."""
    filled = BAR * done // total
    left = _time((total - done) / rate) if rate > 0 else "-"
    return f"[{'#' * filled}{' ' * (BAR - filled)}] {100 * done // total}% {rate:,.0f} blocks/s {left} left"


def _time(seconds: float) -> str:
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02}"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"
