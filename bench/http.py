"""Every operation against floors of the same run: which contestants are measured in turns, and their bars.

``make bench ONLY=http`` takes about five minutes; ``ARGS=--quick`` is a smoke run whose figures mean nothing.
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

from app.db.database import READ_CONNECTIONS, Database
from app.http.application import part_of
from app.http.headers import AS_OF, NEXT_ACTOR, TERMINAL
from app.http.public import PUBLIC_HEADERS
from bench.contenders import Contender, Kind, Server, Setting, command, settings_for
from bench.duels.bars import MATCHES, Match
from bench.duels.report import Line, duel_lines, print_bars, print_contestants, steady_line
from bench.duels.rounds import Round, duel, measure
from tests.load.requests import (
    TRANSFERS,
    Request,
    estimate_requests,
    fill,
    latency_requests,
    status_requests,
    transfer_ids,
    write_requests,
)
from tests.load.served import Served, ask_whole, serving
from tests.load.wrk import require_wrk
from tests.postgres import gateway_on, postgres_server

ROOM = {"max_connections": "200"}
"""For the processes of all contestants, which are served at the same time."""

PROBES = 50
"""Requests of each kind whose answers are read before the measurements."""

PROGRESS = frozenset(name.lower() for name in (TERMINAL, NEXT_ACTOR, AS_OF))
"""Headers that every contestant sends with a status, in addition to those that ours sends with all answers.
"""

Requests = Mapping[Kind, tuple[Path, list[Request]]]
"""By kind: a file for wrk, and the requests."""


@dataclass(frozen=True, slots=True)
class Arena:
    """All contestants, served, and the requests for them."""

    served: Mapping[Server, Served]
    database: psutil.Process
    requests: Requests
    connections: int
    seconds: float

    def turn_of(self, contender: Contender) -> Callable[[], Round]:
        served, requests = self.served[contender.server], self.requests[contender.kind][0]
        return lambda: measure(
            contender, served, self.database, requests, connections=self.connections, seconds=self.seconds
        )


def main(arguments: list[str] | None = None) -> int:
    """Measure everything and print the report; 1 when a bar is missed on a quiet machine."""
    options = _options(arguments)
    require_wrk()
    words = options.only or [""]
    matches = [
        match
        for match in MATCHES
        if all(any(word in each.name for word in words) for each in (match.ours, match.theirs))
    ]
    with _arena(matches, options) as arena:
        lines, rounds = _fight(matches, arena, options.pairs)
    if steady := steady_line(rounds):
        lines.append(steady)
    print(
        f"{options.processes} processes with {options.threads} threads each, {options.connections} "
        f"connections, {options.pairs} pairs of rounds of {options.seconds:g} s, "
        f"{options.transfers:,} transfers.\n"
    )
    held = print_bars(lines)
    print_contestants(rounds)
    return int(not held and not options.quick)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run: do all parts work?")
    parser.add_argument("--pairs", type=int, default=15, help="of neighbours, for each ratio")
    parser.add_argument("--seconds", type=float, default=1, help="of each contestant in each round")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--processes", type=int, default=2, help="of each contestant")
    parser.add_argument("--threads", type=int, default=READ_CONNECTIONS, help="and connections, of each")
    parser.add_argument("--transfers", type=int, default=TRANSFERS)
    parser.add_argument("--only", nargs="*", help="contestants whose name has one of these words")
    options = parser.parse_args(arguments)
    if options.quick:
        options.pairs, options.seconds, options.transfers = 1, 1, 200
    return options


@contextmanager
def _arena(matches: Sequence[Match], options: argparse.Namespace) -> Iterator[Arena]:
    """Filled databases and a server for each of the contestants, all of whom answer."""
    chosen = dict.fromkeys(each for match in matches for each in (match.ours, match.theirs))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gateway-bench-http-")))
        database = stack.enter_context(postgres_server(ROOM))
        sqlite_url = f"sqlite:///{folder / 'gateway.db'}"
        setting = Setting(sqlite_url, database.url, options.processes, options.threads)
        requests = prepare(setting, folder, options.transfers)
        served = {
            server: stack.enter_context(
                serving(command(server, setting), settings_for(server, setting), folder / f"{number}.log")
            )
            for number, server in enumerate(dict.fromkeys(each.server for each in chosen))
        }
        for contender in chosen:
            _probe(contender, served[contender.server], requests[contender.kind][1])
        yield Arena(served, database.process, requests, options.connections, options.seconds)


def _fight(matches: Sequence[Match], arena: Arena, pairs: int) -> tuple[list[Line], list[Round]]:
    lines: list[Line] = []
    rounds: list[Round] = []
    for number, match in enumerate(matches, start=1):
        fought = duel(arena.turn_of(match.ours), arena.turn_of(match.theirs), pairs)
        lines += duel_lines(match.bars, fought)
        rounds += fought.rounds
        sys.stderr.write(f"{number} of {len(matches)} pairs of contestants done\n")
    return lines, rounds


def prepare(setting: Setting, folder: Path, transfers: int) -> Requests:
    """Fill both databases alike. Returns the requests of each kind."""
    ids: list[str] = []
    for url in (setting.sqlite_url, setting.postgres_url):
        with gateway_on(url) as app:
            fill(app, transfers)
            ids = transfer_ids(part_of(app, Database))
    kinds: dict[Kind, list[Request]] = {
        "nothing": [Request("/")],
        "key": [Request(f"/{key}") for key in ids],
        "status": status_requests(ids),
        "estimate": estimate_requests(),
        "latency": latency_requests(),
    }
    return {
        kind: (write_requests(requests, folder / f"{kind}.txt"), requests) for kind, requests in kinds.items()
    }


def _probe(contender: Contender, served: Served, requests: list[Request]) -> None:
    """Check that these are answered in full, with the same headers by all: errors would be quick."""
    for request in requests[:: max(1, len(requests) // PROBES)]:
        body, headers = ask_whole(served.port, request.method, request.path, request.body)
        answer = orjson.loads(body)
        if answer.get("err") is not None:
            raise SystemExit(f"{contender.name}: {request.path} {request.body}: {answer['err']}")
        if contender.kind == "status":
            lacking = [f"{name}: {value}" for name, value in PUBLIC_HEADERS if headers[name] != value]
            lacking += PROGRESS - {name.lower() for name in headers}
            if lacking:
                raise SystemExit(f"{contender.name}: a status lacks {', '.join(lacking)}")


if __name__ == "__main__":
    sys.exit(main())
