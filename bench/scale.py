"""Response times and memory at 10 thousand and at 10 million transfers (PostgreSQL).

``make bench ONLY=scale`` takes about a quarter of an hour and 20 GB in the temporary folder, most of it to
fill the larger database; ``ARGS="--levels 10000 1000000"`` needs less, ``ARGS=--quick`` is a smoke run.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson
import psutil

from app.db.database import Database
from app.db.engine import writing
from app.db.models import db
from app.feed.projection.latencies import follow_window
from bench.contenders import SHIPPED, Contender, Setting, command, settings_for
from bench.duels.bars import Bar
from bench.duels.ratios import Bound, Interval
from bench.duels.report import Line, duel_lines, print_bars, print_contestants, verdict_on
from bench.duels.rounds import Round, duel, measure, p50, p99
from bench.grow import grow
from bench.synthetic_transfers import SyntheticTransfers, digest_of, senders
from tests.applications import audited_of
from tests.load.requests import (
    OPERATOR,
    Request,
    latency_requests,
    status_requests,
    write_requests,
)
from tests.load.served import Served, send_request, serving, worker_bytes
from tests.load.wrk import require_wrk
from tests.postgres import gateway_on, postgres_server

LEVELS: Final = (10_000, 10_000_000)
DIFFERENT: Final = 200_000
"""Transfers in requests: many more than a server has in memory."""

PAGE: Final = 10
"""Transfers on a page of a history."""

MEMORY: Final = Bound(at_most=1.1)

FILLING: Final = {
    "fsync": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "16GB",
    "checkpoint_timeout": "1h",
}
"""None of it affects reads. With a minimal log nothing is written twice while the tables are filled."""


@dataclass(frozen=True, slots=True)
class Level:
    """One database, and the gateway that serves it."""

    transfers: int
    database: Database
    served: Served
    database_process: psutil.Process
    requests: dict[str, Path]

    def turn(self, what: str, options: argparse.Namespace) -> Callable[[], Round]:
        contender = Contender(f"{what}, {self.transfers:,} transfers", SHIPPED, "status")

        def round_of_it() -> Round:
            with writing(self.database.engine) as connection:
                follow_window(connection, self.database.clock())  # as the feed does all the time
            return measure(
                contender, self.served, self.database_process, self.requests[what],
                connections=options.connections, seconds=options.seconds,
            )  # fmt: skip

        return round_of_it


def main(arguments: list[str] | None = None) -> int:
    """Measure both levels in turns and print the report; 1 when a bar is missed on a quiet machine."""
    options = _options(arguments)
    require_wrk()
    with ExitStack() as stack:
        small, large = (stack.enter_context(_level(transfers)) for transfers in sorted(options.levels))
        lines, rounds = _fight(small, large, options)
    print(f"{large.transfers:,} transfers against {small.transfers:,}\n")
    held = print_bars(lines)
    print_contestants(rounds)
    return int(not held and not options.quick)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run: do all parts work?")
    parser.add_argument("--levels", type=int, nargs=2, default=LEVELS)
    parser.add_argument("--pairs", type=int, default=15, help="of neighbours, for each ratio")
    parser.add_argument("--seconds", type=float, default=1, help="of each request in each round")
    parser.add_argument("--connections", type=int, default=2, help="few: the bars are on times")
    options = parser.parse_args(arguments)
    if options.quick:
        options.levels, options.pairs, options.seconds = (500, 5_000), 1, 1
    return options


@contextmanager
def _level(transfers: int) -> Iterator[Level]:
    """A database with so many transfers, all released in the last seven days, served by gunicorn."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gateway-bench-scale-")))
        postgres = stack.enter_context(postgres_server(FILLING))
        with gateway_on(postgres.url) as app:
            started = time.monotonic()
            for engine in db.engines.values():
                engine.dispose()  # those of the migrations had the timeouts of answers
            database, audit_keys = audited_of(app)
            database.work_as_command()
            grow(database, audit_keys, SyntheticTransfers(transfers, database.clock()), actor=OPERATOR)
        seconds = time.monotonic() - started
        sys.stderr.write(f"grew {transfers:,} in {seconds:.0f} s, {transfers / seconds:,.0f} a second\n")
        setting = Setting(sqlite_url="", postgres_url=postgres.url)
        served = stack.enter_context(
            serving(command(SHIPPED, setting), settings_for(SHIPPED, setting), folder / "log")
        )
        yield Level(transfers, database, served, postgres.process, _requests(transfers, folder, served))


def _fight(small: Level, large: Level, options: argparse.Namespace) -> tuple[list[Line], list[Round]]:
    """The larger against the smaller, and a page of a history against a status in the larger."""
    lines: list[Line] = []
    rounds: list[Round] = []
    for bar, ours, against, theirs in (
        (Bar("status p50", p50, Bound(at_most=1.1)), "status", small, "status"),
        (Bar("latency p99", p99, Bound(at_most=1.2)), "latency", small, "latency"),
        (Bar(f"history of {PAGE} p99 / status p99", p99, Bound(at_most=1.5)), "history", large, "status"),
    ):
        fought = duel(large.turn(ours, options), against.turn(theirs, options), options.pairs)
        lines += duel_lines([bar], fought)
        rounds += fought.rounds
        sys.stderr.write(f"{bar.what} done\n")
    mine, other = (statistics.mean(worker_bytes(level.served.process)) for level in (large, small))
    ratio = mine / other
    verdict = verdict_on(MEMORY, Interval(ratio, ratio), 0)
    found = f"{ratio:.2f} ({other / 1e6:.1f} to {mine / 1e6:.1f} MB)"
    lines.append(Line("memory of a worker", MEMORY, found, "", 0, verdict))
    return lines, rounds


def _requests(transfers: int, folder: Path, served: Served) -> dict[str, Path]:
    """Requests by kind; the first of them are answered without an error."""
    draw = random.Random(3)
    numbers = draw.sample(range(transfers), min(DIFFERENT, transfers))
    kinds = {
        "status": status_requests([f"0x{digest_of(number)}" for number in numbers]),
        "latency": latency_requests()[:1],  # a fifth of all transfers are of the first pair of chains
        "history": list(_histories(draw)),
    }
    for requests in kinds.values():
        for request in requests[:20]:
            answer = orjson.loads(send_request(served.port, request.method, request.path, request.body))
            if answer["err"] is not None:
                raise SystemExit(f"{request.path} {request.body}: {answer['err']}")
    return {kind: write_requests(requests, folder / kind) for kind, requests in kinds.items()}


def _histories(draw: random.Random) -> Iterator[Request]:
    """Pages from anywhere in the histories of all users, who all have the same number of transfers."""
    now = round(time.time() * 1000)
    users = senders()
    for _ in range(20_000):
        before = now - draw.randrange(7 * 86_400_000)
        address = draw.choice(users)
        yield Request(f"/v2/transferHistory?acct_addr[]={address}&page_size={PAGE}&next_page_token={before}")


if __name__ == "__main__":
    sys.exit(main())
