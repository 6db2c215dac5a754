"""What something costs a request, told more finely than over a connection: in one process, in turns."""

from __future__ import annotations

import gc
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Final

from flask import Flask
from werkzeug.test import run_wsgi_app

from bench.duels.noise import cores, read_clocks, share_of_others
from bench.duels.ratios import Bound, estimate
from bench.duels.report import Line, judged

Ask = Callable[[], None]
_SEED: Final = 1


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of request."""

    what: str
    bound: Bound
    """Of the microseconds of the processor that it takes more than another."""
    ask: Ask


@dataclass(frozen=True, slots=True)
class Cost:
    """What a case took more than the plain one in each round, a request."""

    what: str
    bound: Bound
    cpu: Sequence[float]
    """Microseconds of the processor."""
    wall: Sequence[float]
    """Microseconds on the clock."""
    others: float
    """The part of the cores that was not ours."""

    def with_more(self, rounds: Cost) -> Cost:
        """Together with the rounds of another process."""
        cpu, wall = [*self.cpu, *rounds.cpu], [*self.wall, *rounds.wall]
        return Cost(self.what, self.bound, cpu, wall, max(self.others, rounds.others))

    def line(self) -> Line:
        """What it comes to, of the processor."""
        found = estimate(self.cpu)
        text = f"{found.median:.1f} ({found.interval.low:.1f} to {found.interval.high:.1f})"
        verdict = judged(self.bound, found.interval, self.others)
        return Line(f"{self.what}, µs CPU", self.bound, text, "", self.others, verdict)

    def row(self) -> str:
        """The same beside its time on the clock."""
        return f"| {self.what} | {statistics.median(self.cpu):.1f} | {statistics.median(self.wall):.1f} |"


def asking(app: Flask, environ: dict[str, Any], body: bytes = b"") -> Ask:
    """A request to an application, which it has to answer by 200."""

    def ask() -> None:
        given = environ | {"wsgi.input": BytesIO(body)}
        answer, status, _ = run_wsgi_app(app, given, buffered=True)
        if status != "200 OK":
            raise SystemExit(f"{status}: {b''.join(answer)!r}")

    return ask


def costs(cases: Sequence[Case], plain: Ask, rounds: int, requests: int, settled: float = 0.0) -> list[Cost]:
    """What each case takes more than ``plain``.

    :param requests: of each kind in a round. Many short rounds tell more than few long ones on a machine
        whose speed changes; what is done once in so many requests is to be done in each.
    :param settled: seconds after these, for what threads still do for them: it is not who comes next's.
    """
    gc.collect()
    gc.freeze()  # so that collecting before each turn takes no time
    more: dict[str, list[tuple[float, float]]] = {case.what: [] for case in cases}
    turns = [("", plain), *((case.what, case.ask) for case in cases)]
    before = read_clocks([])
    order = random.Random(_SEED)
    for number in range(-1, rounds):  # the first warms up
        order.shuffle(turns)  # who comes first, or after whom, is not to matter
        took = {what: _timed(ask, requests, settled) for what, ask in turns}
        if number >= 0:
            for what, found in more.items():
                found.append((took[what][0] - took[""][0], took[what][1] - took[""][1]))
    others = share_of_others(before, read_clocks([]), cores())
    return [
        Cost(case.what, case.bound, *map(list, zip(*more[case.what], strict=True)), others) for case in cases
    ]


@contextmanager
def _no_garbage() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _timed(ask: Ask, requests: int, settled: float) -> tuple[float, float]:
    """Microseconds of CPU and on the clock for one of so many requests."""
    with _no_garbage():
        for _ in range(requests // 4):
            ask()  # the first after others, or after a rest, find little of their own in the caches
        cpu, wall = time.process_time(), time.perf_counter()
        for _ in range(requests):
            ask()
        wall = time.perf_counter() - wall
        time.sleep(settled)
        return (time.process_time() - cpu) / requests * 1e6, wall / requests * 1e6
