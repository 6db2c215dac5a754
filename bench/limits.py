"""What limits cost a request: ``python -m bench.limits``.

Applications with and without limits answer transfer configs in one process, in turns; what one needs more
than the one without any is what its limits cost. With a Redis where ``redis-server`` is installed.
``--quick`` is a smoke run whose figures mean nothing.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil
from flask import Flask
from werkzeug.test import create_environ, run_wsgi_app

from app import create_app
from app.runtime.gateway import current_gateway
from app.sandbox.loader import load_sandbox
from app.services.approvals.api_keys import request_key
from bench.database import gateway_on
from bench.dataset import OPERATOR
from bench.duels.noise import cores, read_clocks, share_of_others
from bench.duels.ratios import Bound, estimate
from bench.duels.report import Line, judged, print_bars
from bench.programs import found
from config import Settings
from tests.limits.redis_server import running_redis

PATH: Final = "/v2/getTransferConfigs"
MOST: Final = "100000000/hour"
ONE, TWO = MOST, f"{MOST};100000000/minute"
IN_MEMORY: Final = Bound(at_most=30.0)
"""Microseconds of CPU."""


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of request."""

    what: str
    bound: Bound
    ask: Callable[[], None]


def main(arguments: list[str] | None = None) -> int:
    """Measure and print the report; 1 when a bar is missed on a quiet machine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run: do all parts work?")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--requests", type=int, default=400, help="of each kind in a round")
    options = parser.parse_args(arguments)
    if options.quick:
        options.rounds, options.requests = 3, 20
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gateway-bench-limits-")))
        url = f"sqlite:///{folder / 'gateway.db'}"
        free, limited = _database(url)
        roots: list[psutil.Process] = []
        plain = _asking(url)
        cases = [
            Case("no key, by RATE_LIMIT", IN_MEMORY, _asking(url, RATE_LIMIT=ONE)),
            Case("no key, two limits", IN_MEMORY, _asking(url, RATE_LIMIT=TWO)),
            Case("no key, IPv6", IN_MEMORY, _asking(url, peer="2001:db8::1", RATE_LIMIT=ONE)),
            Case("a key without a limit", Bound(), _asking(url, free)),
            Case("a key with a limit", Bound(), _asking(url, limited)),
        ]
        if found("redis-server") is not None:
            redis = stack.enter_context(running_redis())
            shared = {"RATE_LIMIT_STORAGE_URL": redis.url}
            cases += [
                Case("no key, in Redis", Bound(), _asking(url, RATE_LIMIT=ONE, **shared)),
                Case("no key, two limits in Redis", Bound(), _asking(url, RATE_LIMIT=TWO, **shared)),
            ]
        lines, rows = _measured(cases, plain, options.rounds, options.requests, roots)
    held = print_bars(lines)
    print("\n| request | µs CPU more | µs more |\n|---|---:|---:|", *rows, sep="\n")
    return int(not held and not options.quick)


def _database(url: str) -> tuple[str, str]:
    """Fill a new database; keys without and with a limit."""
    with gateway_on(url):
        gateway = current_gateway()
        load_sandbox(gateway, actor=OPERATOR)
        free, _ = request_key(gateway, "free", ("read",), "", actor=OPERATOR)
        limited, _ = request_key(gateway, "limited", ("read",), ONE, actor=OPERATOR)
    return free, limited


def _asking(url: str, key: str = "", peer: str = "198.51.100.7", **settings: str) -> Callable[[], None]:
    """A request to an application with these settings."""
    given = {"database_url": url, "secret_key": "bench" * 8, "audit_key": "bench" * 8}
    lower = {name.lower(): value for name, value in settings.items()}
    app: Flask = create_app(Settings.model_validate(given | lower))
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    environ: dict[str, Any] = create_environ(PATH, headers=headers, environ_overrides={"REMOTE_ADDR": peer})

    def ask() -> None:
        body, status, _ = run_wsgi_app(app, environ.copy(), buffered=True)
        if status != "200 OK":
            raise SystemExit(f"{status}: {b''.join(body)!r}")

    return ask


@contextmanager
def _no_garbage() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _measured(
    cases: list[Case], plain: Callable[[], None], rounds: int, requests: int, roots: list[psutil.Process]
) -> tuple[list[Line], list[str]]:
    """A line for each case, and a row with its time on the clock."""
    more: dict[str, list[tuple[float, float]]] = {case.what: [] for case in cases}
    before = read_clocks(roots)
    for number in range(-1, rounds):  # the first warms up
        with _no_garbage():
            floor = _timed(plain, requests)
            for case in cases:
                took = _timed(case.ask, requests)
                if number >= 0:
                    more[case.what].append((took[0] - floor[0], took[1] - floor[1]))
    others = share_of_others(before, read_clocks(roots), cores())
    lines, rows = [], []
    for case in cases:
        cpu, wall = zip(*more[case.what], strict=True)
        found = estimate(cpu)
        text = f"{found.median:.1f} ({found.interval.low:.1f} to {found.interval.high:.1f})"
        what = f"{case.what}, µs CPU"
        lines.append(Line(what, case.bound, text, "", others, judged(case.bound, found.interval, others)))
        rows.append(f"| {case.what} | {found.median:.1f} | {statistics.median(wall):.1f} |")
    return lines, rows


def _timed(ask: Callable[[], None], requests: int) -> tuple[float, float]:
    """Microseconds of CPU and on the clock for one of so many requests."""
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(requests):
        ask()
    return (time.process_time() - cpu) / requests * 1e6, (time.perf_counter() - wall) / requests * 1e6


if __name__ == "__main__":
    sys.exit(main())
