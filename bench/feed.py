"""The cost of an event, with more and more of them already in, and in small posts (PostgreSQL).

Each measurement takes the same number of events about new transfers, in several rounds. The cost must not
grow with the log: the bar is 1.3 times the cost at the start, at a million events. Small posts are those of
eight reporters at once to the shipped server, compared with one reporter's posts of 1,000 lines, and with the
same posts to one worker in place of two, and to two gateways in place of one.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from typing import Final

import orjson
import psutil

from app.db.database import Database
from app.feed.services.ingest import Intake, ingest_lines
from app.http.application import part_of
from app.network.document import import_network
from app.sandbox.catalogue import network_document
from bench.contenders import SHIPPED, Setting, command, settings_for
from bench.duels.bars import SMALL_ANSWER, SMALL_TO_LARGE, TWO_GATEWAYS, TWO_WORKERS
from bench.duels.noise import cores, read_clocks, share_of_others
from bench.duels.ratios import Interval
from bench.duels.report import Line, duel_lines, print_bars, verdict_on
from bench.duels.rounds import Duel, Round, duel, p99, rate
from tests.applications import editing_of
from tests.load.events import events
from tests.load.requests import OPERATOR
from tests.load.served import Served, cpu_seconds, serving
from tests.load.wrk import Load
from tests.postgres import gateway_on, postgres_server

LEVELS = (0, 100_000, 1_000_000)
ROUNDS = 5
PER_ROUND = 4_000
BAR = 1.3

REPORTERS: Final = 8
SMALL: Final = 10
"""Lines of a small post."""
LARGE: Final = 1_000


def measure(database: Database, intake: Intake, first: int, now: datetime) -> list[float]:
    """Microseconds per event, a figure a round."""
    figures = []
    for number in range(ROUNDS):
        lines = list(events(first + number * PER_ROUND, PER_ROUND, now))
        start = time.perf_counter()
        verdict = ingest_lines(database, intake, lines, "bench")
        figures.append((time.perf_counter() - start) / PER_ROUND * 1e6)
        if verdict.accepted != PER_ROUND:
            raise SystemExit(f"the feed was not taken: {verdict.refused[:1]}")
    return figures


class Reporters:
    """Reporters of gateways, each with a token and a connection of its own."""

    def __init__(
        self, served: Sequence[Served], database: psutil.Process, seconds: float, firsts: Iterator[int]
    ) -> None:
        """
        :param served: gateways that share the reporters and a database.
        :param database: the parent process of all that serve PostgreSQL.
        :param seconds: of a round.
        :param firsts: the first events of each reporter in each round, which nobody reported before.
        """
        self._served, self._database, self._seconds = served, database, seconds
        self._firsts = firsts

    def round(self, reporters: int, lines: int) -> Round:
        """Post so many lines at a time, one post after the other. Rates and costs are those of an event."""
        now, most = datetime.now(UTC), int(self._seconds * 10_000 / reporters)
        feeds = [list(events(next(self._firsts), most, now)) for _ in range(reporters)]
        processes, before = [each.process for each in self._served], read_clocks([self._database])
        server, database = cpu_seconds(processes), cpu_seconds([self._database])
        began = time.monotonic()
        with ThreadPoolExecutor(reporters) as pool:
            answered = list(pool.map(self._report, range(reporters), feeds, [lines] * reporters))
        seconds = time.monotonic() - began
        times = sorted(each for of_reporter in answered for each in of_reporter)
        taken = len(times) * lines
        p50_us, p99_us = (int(times[int(len(times) * part)] * 1e6) for part in (0.5, 0.99))
        return Round(
            f"{reporters} × {lines:,} lines",
            Load(taken, seconds, 0, p50_us, p99_us, 0),
            server_us=(cpu_seconds(processes) - server) / taken * 1e6,
            database_us=(cpu_seconds([self._database]) - database) / taken * 1e6,
            others=share_of_others(before, read_clocks([self._database]), cores()),
        )

    def _report(self, number: int, feed: Sequence[bytes], lines: int) -> list[float]:
        """Post for the seconds of a round, or what there is. Returns how long each answer took."""
        port = self._served[number % len(self._served)].port
        connection = HTTPConnection("127.0.0.1", port, timeout=120)
        headers = {"Content-Type": "application/x-ndjson", "Authorization": f"Bearer {token(number)}"}
        times, until = [], time.monotonic() + self._seconds
        for start in range(0, len(feed) - lines + 1, lines):
            began = time.monotonic()
            connection.request("POST", "/ingest/v1/events", b"\n".join(feed[start : start + lines]), headers)
            answer = orjson.loads(connection.getresponse().read())
            times.append(time.monotonic() - began)
            if answer.get("accepted") != lines:
                raise SystemExit(f"the feed was not taken: {answer}")
            if time.monotonic() >= until:
                break
        connection.close()
        return times


def token(number: int) -> str:
    return f"only for measurements by reporter {number}"


@contextmanager
def gateways(url: str, workers: Sequence[int]) -> Iterator[list[Served]]:
    """Shipped gateways on one database, each with so many workers."""
    tokens = ",".join(map(token, range(REPORTERS)))
    with tempfile.TemporaryDirectory(prefix="gateway-bench-feed-") as folder, ExitStack() as running:
        served = []
        for number, processes in enumerate(workers):
            setting = Setting("", url, processes)
            settings = settings_for(SHIPPED, setting) | {"INGEST_TOKENS": tokens}
            log = Path(folder) / f"{number}.log"
            served.append(running.enter_context(serving(command(SHIPPED, setting), settings, log)))
        yield served


def small_posts(url: str, database: psutil.Process, *, pairs: int, seconds: float) -> list[Line]:
    """Small posts and large ones in turns, then small ones to more and to fewer processes."""
    with gateways(url, [2, 2, 1]) as (shipped, second, single):
        firsts = count(10_000_000, 100_000)
        one, both, worker = (
            Reporters(served, database, seconds, firsts)
            for served in ([shipped], [shipped, second], [single])
        )

        def small(reporters: Reporters) -> Round:
            return reporters.round(REPORTERS, SMALL)

        sizes = duel(lambda: small(one), lambda: one.round(1, LARGE), pairs)
        workers = duel(lambda: small(one), lambda: small(worker), pairs)
        servers = duel(lambda: small(both), lambda: small(one), pairs)
    return [
        *duel_lines([SMALL_TO_LARGE], sizes),
        _slowest_answers(sizes),
        *duel_lines([TWO_WORKERS], workers),
        *duel_lines([TWO_GATEWAYS], servers),
    ]


def _slowest_answers(sizes: Duel) -> Line:
    """The slowest answers to small posts. Prints both rates, too."""
    small = [ours for ours, _ in sizes.pairs]
    for rounds in (small, [theirs for _, theirs in sizes.pairs]):
        rates, slow = (statistics.median(map(figure, rounds)) for figure in (rate, p99))
        print(f"{rounds[0].name}: {rates:,.0f} events a second, p99 of an answer {slow / 1e3:.0f} ms")
    slow = statistics.median(map(p99, small)) / 1e3
    verdict = verdict_on(SMALL_ANSWER, Interval(slow, slow), sizes.others, held_anyway=True)
    what = f"posts of {SMALL} by {REPORTERS} reporters, p99 of an answer, ms"
    return Line(what, SMALL_ANSWER, f"{slow:.0f}", "", sizes.others, verdict)


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 1 when the bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run: do all parts work?")
    quick = parser.parse_args(arguments).quick
    now = datetime.now(UTC)
    costs: list[float] = []
    print("events already in | µs an event (median, min to max) | events a second | times the start")
    with postgres_server() as postgres, gateway_on(postgres.url) as app:
        database, intake = part_of(app, Database), part_of(app, Intake)
        import_network(*editing_of(app), orjson.dumps(network_document()), actor=OPERATOR)
        ingest_lines(database, intake, events(0, PER_ROUND, now), "bench")  # warms up and is not counted
        already = PER_ROUND
        for level in LEVELS[:1] if quick else LEVELS:
            if level > already:
                ingest_lines(database, intake, events(already, level - already, now), "bench")
                already = level
            figures = measure(database, intake, already, now)
            already += ROUNDS * PER_ROUND
            cost = statistics.median(figures)
            costs.append(cost)
            spread = f"{cost:.0f} ({min(figures):.0f} to {max(figures):.0f})"
            ratio = cost / costs[0]
            print(f"{level:>17,} | {spread:>33} | {1e6 / cost:>15,.0f} | {ratio:>15.2f}", flush=True)
        print(f"{costs[-1] / costs[0]:.2f} times the cost at the start; the bar is {BAR}\n", flush=True)
        pairs, seconds = (1, 1.0) if quick else (7, 4.0)
        held = print_bars(small_posts(postgres.url, postgres.process, pairs=pairs, seconds=seconds))
    return int(costs[-1] / costs[0] > BAR or not (held or quick))


if __name__ == "__main__":
    sys.exit(main())
