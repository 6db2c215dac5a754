"""The shipped server with many, slow, idle and busy clients: ``make bench ONLY=server``.

It takes about five minutes; ``--quick`` is a smoke run whose figures mean nothing.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from bench.contenders import GUNICORN, OURS, POSTGRES, SQLITE, Contender, Setting, command, settings_for
from bench.duels.bars import SHOWN, Bar
from bench.duels.noise import cores, read_clocks, share_of_others
from bench.duels.ratios import Bound, Interval
from bench.duels.report import CONTESTANTS, Line, contestant_line, duel_lines, print_bars, verdict_on
from bench.duels.rounds import Round, duel, measure, p99
from bench.http import prepare
from tests.load.events import TOKEN, Reporter
from tests.load.served import Served, serving, worker_bytes
from tests.load.wrk import require_wrk
from tests.postgres import postgres_server
from tests.serving.crowd import idle_clients, slow_clients, slowest_answer

BODY_EVENTS: Final = 5_000
UPLOAD_SECONDS: Final = 2
"""A round during an upload: about as long as one upload or more."""

DURING_UPLOAD_AT_MOST: Final = Bound(at_most=2.0)
PROBE_AT_MOST: Final = Bound(at_most=1.0)
"""Seconds."""

CALLERS: Final = ((8, 0, DURING_UPLOAD_AT_MOST), (16, 20, SHOWN))
"""Connections, the milliseconds that each waits before the next request, and the bar. The waiting ones leave
the server spare time, so that they see each turn of an upload."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A server under test, and its requests."""

    contender: Contender
    served: Served
    database: psutil.Process
    requests: Path

    def round(self, connections: int, seconds: float, pause_ms: int = 0) -> Round:
        return measure(
            self.contender, self.served, self.database, self.requests,
            connections=connections, seconds=seconds, pause_ms=pause_ms,
        )  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Measure and print the report; 1 when a bar is missed on a quiet machine."""
    options = _options(arguments)
    require_wrk()
    lines: list[Line] = []
    rows: list[str] = []
    idle: list[str] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gateway-bench-server-")))
        database = stack.enter_context(postgres_server())
        setting = Setting(f"sqlite:///{folder / 'gateway.db'}", database.url, processes=2)
        requests, _ = prepare(setting, folder, options.transfers)["status"]
        for name in (POSTGRES, SQLITE):
            contender = Contender(f"status, {name}", (GUNICORN, OURS, name), "status")
            environment = settings_for(contender.server, setting) | {"INGEST_TOKENS": TOKEN}
            with serving(command(contender.server, setting), environment, folder / f"{name}.log") as served:
                subject = Subject(contender, served, database.process, requests)
                rows += _by_connections(subject, options)
                lines.append(_slow(subject, options))
                lines += _fair(subject, options.pairs)
                idle.append(_idle(subject, options.idle))
            sys.stderr.write(f"{name} done\n")
    held = print_bars(lines)
    print(f"\n{CONTESTANTS}")
    print("\n".join(rows))
    print("", *idle, sep="\n")
    return int(not held and not options.quick)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run: do all parts work?")
    parser.add_argument("--connections", type=int, nargs="+", default=[16, 64, 512])
    parser.add_argument("--rounds", type=int, default=5, help="of a second with each number of connections")
    parser.add_argument("--pairs", type=int, default=7, help="of neighbours, alone and beside an upload")
    parser.add_argument("--slow", type=int, default=200, help="silent clients, and as many that drip")
    parser.add_argument("--slow-seconds", type=float, default=10)
    parser.add_argument("--idle", type=int, default=5_000, help="connections that are kept")
    parser.add_argument("--transfers", type=int, default=2_000)
    options = parser.parse_args(arguments)
    if options.quick:
        options.connections, options.rounds, options.pairs, options.transfers = [16, 64], 1, 1, 200
        options.slow, options.slow_seconds, options.idle = 20, 1, 100
    return options


def _by_connections(subject: Subject, options: argparse.Namespace) -> list[str]:
    """A row for each number of connections, which take turns; the first round warms up."""
    made = [[subject.round(n, 1) for n in options.connections] for _ in range(options.rounds + 1)][1:]
    rows = []
    for number, connections in enumerate(options.connections):
        row = contestant_line([turn[number] for turn in made])
        rows.append(row.replace(subject.contender.name, f"{subject.contender.name}, {connections}", 1))
    return rows


def _slow(subject: Subject, options: argparse.Namespace) -> Line:
    """The slowest probe while there are clients that send nothing or a byte a second."""
    roots = [subject.database]
    with slow_clients(subject.served, silent=options.slow, dripping=options.slow, pause=1.0):
        before = read_clocks(roots)
        slowest = slowest_answer(subject.served, options.slow_seconds)
        others = share_of_others(before, read_clocks(roots), cores())
    what = (
        f"{subject.contender.name}, {options.slow} silent and {options.slow} slow clients, slowest probe, s"
    )
    verdict = verdict_on(PROBE_AT_MOST, Interval(slowest, slowest), others, held_anyway=True)
    return Line(what, PROBE_AT_MOST, f"{slowest:.3f}", "", others, verdict)


def _fair(subject: Subject, pairs: int) -> list[Line]:
    """The p99 of statuses during an upload over the p99 without one."""
    reporter = Reporter(subject.served.port, portion=BODY_EVENTS)
    reporter.upload()  # warms up
    lines: list[Line] = []
    for connections, pause_ms, bound in CALLERS:

        def without(connections: int = connections, pause_ms: int = pause_ms) -> Round:
            return subject.round(connections, UPLOAD_SECONDS, pause_ms)

        def during(connections: int = connections, pause_ms: int = pause_ms) -> Round:
            with reporter.at_work():
                return subject.round(connections, UPLOAD_SECONDS, pause_ms)

        fought = duel(during, without, pairs)
        times = " / ".join(f"{_median_ms(side):.1f}" for side in zip(*fought.pairs, strict=True))
        waiting = f", each waiting {pause_ms} ms" if pause_ms else ""
        what = f"{subject.contender.name}, {connections} callers{waiting}, p99 beside an upload ({times} ms)"
        lines += duel_lines([Bar(what, p99, bound)], fought)
    if reporter.failures:
        raise SystemExit(f"uploads failed: {dict(reporter.failures)}")
    return lines


def _median_ms(rounds: Sequence[Round]) -> float:
    return statistics.median(p99(measured) for measured in rounds) / 1000


def _idle(subject: Subject, count: int) -> str:
    """The cost of idle connections, and their spread over the workers."""
    master = subject.served.process
    before = sum(worker_bytes(master))
    with idle_clients(subject.served, count):
        more = sum(worker_bytes(master)) - before
        held = [
            sum(each.status == psutil.CONN_ESTABLISHED for each in worker.net_connections())
            for worker in master.children()
        ]
    shares = " + ".join(f"{number:,}" for number in held)
    return (
        f"{subject.contender.name}: {count:,} idle connections ({shares}) take {more / 1e6:.0f} MB, "
        f"{more / count / 1024:.1f} KiB each."
    )


if __name__ == "__main__":
    sys.exit(main())
