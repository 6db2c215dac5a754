"""What it costs to be watched: ``python -m bench.sight``.

The same answers with one kind of sight on and off, each served at the same time and asked in turns.
``--quick`` is a smoke run whose figures mean nothing.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.contenders import GUNICORN, OURS, POSTGRES, SQLITE, Contender, Setting, command, settings_for
from bench.database import postgres_server
from bench.dataset import first_question
from bench.duels.bars import Bar, Match
from bench.duels.ratios import Bound, bootstrap
from bench.duels.report import Line, duel_lines, judged, print_bars, print_contestants
from bench.duels.rounds import Duel, Round, duel, measure, rate
from bench.http import prepare
from bench.load import require_wrk
from bench.serving import serving
from bench.sight_in_process import Watched, costs_of_sights, require_entries

THROUGHPUT: Final = Bound(at_least=0.95)
COST: Final = Bound(at_most=15.0)
"""Microseconds of processor time a request."""

OFF: Final = "off"


@dataclass(frozen=True, slots=True)
class Sight:
    """Something that can be switched on by settings of the environment."""

    name: str
    settings: Mapping[str, str]


SIGHTS: Final = (
    Sight("metrics", {"METRICS_PORT": "0"}),
    Sight("logs", {"LOG_FORMAT": "json", "LOG_LEVEL": "INFO", "ACCESS_LOG": "all"}),
    Sight("tracing", {"TRACING": "0.01"}),
)
"""Each is compared with a server that has none of them."""

ASKED: Final = (
    Contender("status, PostgreSQL", (GUNICORN, OURS, POSTGRES), "status"),
    Contender("estimate, SQLite", (GUNICORN, OURS, SQLITE), "estimate"),
)
"""A usual answer, and a quick one, of which the same cost is a larger part."""


def main(arguments: list[str] | None = None) -> int:
    """Measure and print the report; 1 when a bar is missed on a quiet machine."""
    options = _options(arguments)
    require_wrk()
    lines: list[Line] = []
    rounds: list[Round] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gateway-bench-sight-")))
        database = stack.enter_context(postgres_server())
        setting = Setting(f"sqlite:///{folder / 'gateway.db'}", database.url, options.processes, threads=8)
        questions = prepare(setting, folder, options.transfers)

        def turn(asked: Contender, sight: Sight) -> Callable[[], Round]:
            """One round of a server with these settings, which is started once."""
            environment = {**settings_for(asked.server, setting), **sight.settings}
            log = folder / f"{asked.asks}-{sight.name}.log"
            served = stack.enter_context(serving(command(asked.server, setting), environment, log))
            contender = Contender(f"{asked.name}, {sight.name}", asked.server, asked.asks)
            file = questions[asked.asks][0]
            return lambda: measure(
                contender, served, database.process, file, connections=16, seconds=options.seconds
            )

        for asked in ASKED:
            if not options.in_process:
                without = turn(asked, Sight(OFF, {}))
                for sight in SIGHTS:
                    fought = duel(turn(asked, sight), without, options.pairs)
                    if "ACCESS_LOG" in sight.settings:
                        require_entries(folder / f"{asked.asks}-{sight.name}.log")
                    what = f"{asked.name}: {sight.name} on / off"
                    lines += duel_lines(Match("", "", (Bar(what, rate, THROUGHPUT),)), fought)
                    lines.append(_cost(f"{asked.name}: {sight.name}, µs CPU a request", fought))
                    rounds += fought.rounds
            what = f"{asked.asks} on SQLite in one process"
            question = first_question(questions[asked.asks][0])
            settings = {sight.name: sight.settings for sight in SIGHTS}
            watched = Watched(what, setting.sqlite_url, question, settings, COST)
            lines += costs_of_sights(watched, quick=options.quick)
    held = print_bars(lines)
    if rounds:
        print(f"\n{options.processes} processes, 16 connections, {options.pairs} pairs of rounds.")
        print_contestants(rounds)
    return int(not held and not options.quick)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run: do all parts work?")
    parser.add_argument("--in-process", action="store_true", help="only what it costs in one process")
    parser.add_argument("--pairs", type=int, default=15, help="of neighbours, for each figure")
    parser.add_argument("--seconds", type=float, default=2, help="of each round")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--transfers", type=int, default=1_000)
    options = parser.parse_args(arguments)
    if options.quick:
        options.pairs, options.seconds, options.transfers = 1, 1, 200
    return options


def _cost(what: str, fought: Duel) -> Line:
    """The processor time that the server takes more, a request: the middle of the pairs' differences."""
    more = [ours.server_us - theirs.server_us for ours, theirs in fought.pairs]
    found = bootstrap(more)
    text = f"{statistics.median(more):+.1f} ({found.low:.1f} to {found.high:.1f})"
    return Line(what, COST, text, "", fought.others, judged(COST, found, fought.others))


if __name__ == "__main__":
    sys.exit(main())
