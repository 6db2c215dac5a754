"""What something costs a request, told more finely than over a connection: in one process, in turns."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from flask import Flask
from werkzeug.test import run_wsgi_app

from bench.duels.noise import cores, read_clocks, share_of_others
from bench.duels.ratios import Bound, estimate
from bench.duels.report import Line, judged

Ask = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of request."""

    what: str
    bound: Bound
    """Of the microseconds of the processor that it takes more than another."""
    ask: Ask


def asking(app: Flask, environ: dict[str, Any], body: bytes = b"") -> Ask:
    """A request to an application, which it has to answer by 200."""

    def ask() -> None:
        given = environ | {"wsgi.input": BytesIO(body)}
        answer, status, _ = run_wsgi_app(app, given, buffered=True)
        if status != "200 OK":
            raise SystemExit(f"{status}: {b''.join(answer)!r}")

    return ask


def costs(cases: Sequence[Case], plain: Ask, rounds: int, requests: int) -> tuple[list[Line], list[str]]:
    """What each case takes more than ``plain``: a line, and a row with its time on the clock.

    :param requests: of each kind in a round. Many short rounds tell more than few long ones on a machine
        whose speed changes; what is done once in so many requests is to be done in each.
    """
    more: dict[str, list[tuple[float, float]]] = {case.what: [] for case in cases}
    turns = [("", plain), *((case.what, case.ask) for case in cases)]
    before = read_clocks([])
    for number in range(-1, rounds):  # the first warms up
        turns.reverse()
        with _no_garbage():
            took = {what: _timed(ask, requests) for what, ask in turns}
        if number >= 0:
            for what, found in more.items():
                found.append((took[what][0] - took[""][0], took[what][1] - took[""][1]))
    others = share_of_others(before, read_clocks([]), cores())
    lines, rows = [], []
    for case in cases:
        cpu, wall = zip(*more[case.what], strict=True)
        found = estimate(cpu)
        text = f"{found.median:.1f} ({found.interval.low:.1f} to {found.interval.high:.1f})"
        what = f"{case.what}, µs CPU"
        lines.append(Line(what, case.bound, text, "", others, judged(case.bound, found.interval, others)))
        rows.append(f"| {case.what} | {found.median:.1f} | {statistics.median(wall):.1f} |")
    return lines, rows


@contextmanager
def _no_garbage() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _timed(ask: Ask, requests: int) -> tuple[float, float]:
    """Microseconds of CPU and on the clock for one of so many requests."""
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(requests):
        ask()
    return (time.process_time() - cpu) / requests * 1e6, (time.perf_counter() - wall) / requests * 1e6
