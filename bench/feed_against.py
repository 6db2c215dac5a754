"""What an event costs beside another checkout: ``python -m bench.feed_against CHECKOUT [--sqlite]``.

The checkout (``git worktree add build/base 5deef59``) is measured by its own code, in a process of its own,
on the same server. Rounds alternate, so what else the machine does falls on both; the median of the ratios
of neighbours counts.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import create_engine, make_url, text

from bench.database import postgres

ROOT = Path(__file__).parent.parent
ROUNDS = 9
PER_ROUND = 4_000

WORKER = """
import os, sys, time
sys.path.insert(0, os.getcwd())
from datetime import datetime
answers, sys.stdout = sys.stdout, sys.stderr
import orjson
from bench import feed
from bench.database import gateway_on
now = datetime.fromisoformat(sys.argv[2])
with gateway_on(sys.argv[1]):
    gateway = feed.current_gateway()
    feed.import_network(gateway, orjson.dumps(feed.network_document()), actor=feed.OPERATOR)
    for line in sys.stdin:
        first, count = map(int, line.split())
        lines = list(feed.events(first, count, now))
        wall, cpu = time.perf_counter(), time.process_time()
        taken = feed.ingest_lines(gateway, lines, "bench")
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        assert taken.accepted == count, taken.refused[:1]
        print(wall / count * 1e6, cpu / count * 1e6, file=answers, flush=True)
"""
"""Runs within each checkout: it may import only what both have."""


class Cost(NamedTuple):
    """Microseconds an event: of time, and of the client's processor."""

    wall: float
    cpu: float


@contextmanager
def urls(folder: Path, *, sqlite: bool) -> Iterator[list[str]]:
    """Two empty databases, on one server where there is one."""
    if sqlite:
        yield [f"sqlite:///{folder}/{name}.db" for name in ("base", "ours")]
        return
    with postgres() as url:
        engine = create_engine(url, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            for name in ("base", "ours"):
                connection.execute(text(f"CREATE DATABASE {name}"))
        engine.dispose()
        made = (make_url(url).set(database=name) for name in ("base", "ours"))
        yield [each.render_as_string(hide_password=False) for each in made]


def worker(checkout: Path, url: str, now: str) -> subprocess.Popen[str]:
    """A process of a checkout that takes events into a database."""
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, url, now],
        cwd=checkout,
        env=os.environ | {"PYTHONPATH": ""},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def measure(process: subprocess.Popen[str], number: int) -> Cost:
    """One round."""
    assert process.stdin is not None and process.stdout is not None
    print(number * PER_ROUND, PER_ROUND, file=process.stdin, flush=True)
    answer = process.stdout.readline().split()
    if not answer:
        raise SystemExit("a checkout did not take the feed")
    return Cost(*map(float, answer))


def main() -> int:
    """Print the costs and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--sqlite", action="store_true")
    chosen = parser.parse_args()
    now = datetime.now(UTC).isoformat()
    with tempfile.TemporaryDirectory() as folder, urls(Path(folder), sqlite=chosen.sqlite) as both:
        base, ours = (worker(at, url, now) for at, url in zip((chosen.checkout, ROOT), both, strict=True))
        try:
            rounds: list[tuple[Cost, Cost]] = []
            for number in range(ROUNDS + 1):
                first, second = (base, ours) if number % 2 else (ours, base)
                costs = measure(first, number), measure(second, number)
                rounds.append(costs if first is base else costs[::-1])
        finally:
            for process in (base, ours):
                process.communicate()
    print("µs an event | that checkout | this one | ratio, median of neighbours (min to max)")
    for name in Cost._fields:
        pairs = [(getattr(b, name), getattr(o, name)) for b, o in rounds[1:]]  # the first warms up
        ratios = [b / o for b, o in pairs]
        middle = [statistics.median(column) for column in zip(*pairs, strict=True)]
        spread = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        print(f"{name:>11} | {middle[0]:>13.0f} | {middle[1]:>8.0f} | {spread}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
