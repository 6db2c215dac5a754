"""Every operation against floors of the same run: who is asked in turns with whom, and what must hold.

``python -m bench.http`` takes about seven minutes; ``--quick`` is a smoke run whose figures mean nothing.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson
import psutil

from app.api.answers import PUBLIC_HEADERS
from app.http.progress import AS_OF, NEXT_ACTOR, TERMINAL
from app.runtime.gateway import current_gateway
from bench.contenders import CONTENDERS, Contender, Server, Setting, command, settings_for
from bench.database import gateway_on, postgres_server
from bench.dataset import (
    TRANSFERS,
    Question,
    estimate_questions,
    fill,
    latency_questions,
    status_questions,
    transfer_ids,
    write_questions,
)
from bench.duels.bars import MATCHES, Match
from bench.duels.report import Line, duel_lines, print_bars, print_contestants, steady_line
from bench.duels.rounds import Round, duel, measure
from bench.load import require_wrk
from bench.serving import Served, ask_whole, serving

PROBES = 50
"""Questions of each kind that are asked, and their answers looked at, before anything is measured."""

PROGRESS = frozenset(name.lower() for name in (TERMINAL, NEXT_ACTOR, AS_OF))
"""Headers that every contestant sends with a status, beside those that ours sends with all of them."""


@dataclass(frozen=True, slots=True)
class Arena:
    """All contestants, served, and what they are asked."""

    served: Mapping[Server, Served]
    database: psutil.Process
    questions: Mapping[str, tuple[Path, list[Question]]]
    connections: int
    seconds: float

    def turn_of(self, contender: Contender) -> Callable[[], Round]:
        """One round of it, as a function."""
        served, questions = self.served[contender.server], self.questions[contender.asks][0]
        return lambda: measure(
            contender, served, self.database, questions, connections=self.connections, seconds=self.seconds
        )


def main(arguments: list[str] | None = None) -> int:
    """Measure everything and print the report; 1 when a bar is missed on a quiet machine."""
    options = _options(arguments)
    require_wrk()
    chosen = {c.name: c for c in CONTENDERS if not options.only or any(w in c.name for w in options.only)}
    matches = [match for match in MATCHES if {match.ours, match.theirs} <= set(chosen)]
    with arena(list(chosen.values()), options) as all_of_them:
        turns = {name: all_of_them.turn_of(contender) for name, contender in chosen.items()}
        lines, rounds = _fight(matches, turns, options.pairs)
        rounds += _parade(
            {name: turns[name] for name in turns if name not in _names(matches)}, options.rounds
        )
    if steady := steady_line(rounds):
        lines.append(steady)
    print(
        f"{options.processes} processes with {options.threads} threads each, {options.connections} "
        f"connections, {options.pairs} pairs of rounds of {options.seconds:g} s, "
        f"{options.transfers:,} transfers.\n"
    )
    held = print_bars(lines)
    print_contestants(sorted(rounds, key=lambda measured: list(chosen).index(measured.name)))
    return int(not held and not options.quick)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run: do all parts work?")
    parser.add_argument("--pairs", type=int, default=15, help="of neighbours, for each ratio")
    parser.add_argument("--rounds", type=int, default=4, help="of contestants in no ratio")
    parser.add_argument("--seconds", type=float, default=1, help="of each contestant in each round")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--processes", type=int, default=2, help="of each contestant")
    parser.add_argument("--threads", type=int, default=8, help="in each process; asyncpg: connections")
    parser.add_argument("--transfers", type=int, default=TRANSFERS)
    parser.add_argument("--only", nargs="*", help="contestants whose name has one of these words")
    options = parser.parse_args(arguments)
    if options.quick:
        options.pairs, options.rounds, options.seconds, options.transfers = 1, 1, 1, 200
    return options


@contextmanager
def arena(chosen: Sequence[Contender], options: argparse.Namespace) -> Iterator[Arena]:
    """Filled databases and a server for each of the contestants, all of whom answer."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gateway-bench-http-")))
        database = stack.enter_context(postgres_server())
        setting = Setting(
            sqlite_url=f"sqlite:///{folder / 'gateway.db'}",
            postgres_url=database.url,
            processes=options.processes,
            threads=options.threads,
        )
        questions = prepare(setting, folder, options.transfers)
        served = {
            key: stack.enter_context(
                serving(command(key, setting), settings_for(key, setting), folder / f"{number}.log")
            )
            for number, key in enumerate(dict.fromkeys(c.server for c in chosen))
        }
        for contender in chosen:
            _probe(contender, served[contender.server], questions[contender.asks][1])
        yield Arena(served, database.process, questions, options.connections, options.seconds)


def _fight(
    matches: Sequence[Match], turns: Mapping[str, Callable[[], Round]], pairs: int
) -> tuple[list[Line], list[Round]]:
    lines: list[Line] = []
    rounds: list[Round] = []
    for number, match in enumerate(matches, start=1):
        fought = duel(turns[match.ours], turns[match.theirs], pairs)
        lines += duel_lines(match, fought)
        rounds += fought.rounds
        sys.stderr.write(f"{number} of {len(matches)} pairs of contestants done\n")
    return lines, rounds


def _names(matches: Sequence[Match]) -> set[str]:
    return {name for match in matches for name in (match.ours, match.theirs)}


def _parade(turns: Mapping[str, Callable[[], Round]], rounds: int) -> list[Round]:
    """Those who are in no ratio, one after the other, after a round that warms up."""
    made = [[turn() for turn in turns.values()] for _ in range(rounds + 1)]
    return [measured for each in made[1:] for measured in each]


def prepare(setting: Setting, folder: Path, transfers: int) -> dict[str, tuple[Path, list[Question]]]:
    """Fill both databases alike; the questions of each kind, as a file for wrk and as they are."""
    ids: list[str] = []
    for url in (setting.sqlite_url, setting.postgres_url):
        with gateway_on(url):
            fill(current_gateway(), transfers)
            ids = transfer_ids(current_gateway())
    kinds = {
        "nothing": [Question("/")],
        "key": [Question(f"/{key}") for key in ids],
        "status": status_questions(ids),
        "estimate": estimate_questions(),
        "latency": latency_questions(),
    }
    return {
        name: (write_questions(questions, folder / f"{name}.txt"), questions)
        for name, questions in kinds.items()
    }


def _probe(contender: Contender, served: Served, questions: list[Question]) -> None:
    """An error is quick to give: see that these are answered in full, with the same headers by all."""
    for question in questions[:: max(1, len(questions) // PROBES)]:
        body, headers = ask_whole(served.port, question.method, question.path, question.body)
        answer = orjson.loads(body)
        if answer.get("err") is not None:
            raise SystemExit(f"{contender.name}: {question.path} {question.body}: {answer['err']}")
        if contender.asks == "status":
            lacking = [f"{name}: {value}" for name, value in PUBLIC_HEADERS if headers[name] != value]
            lacking += PROGRESS - {name.lower() for name in headers}
            if lacking:
                raise SystemExit(f"{contender.name}: a status lacks {', '.join(lacking)}")


if __name__ == "__main__":
    sys.exit(main())
