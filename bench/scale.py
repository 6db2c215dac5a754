"""Response times, memory and room at 10 thousand and at 10 million transfers (PostgreSQL), and the console.

``python -m bench.scale`` takes about a quarter of an hour and 20 GB in the temporary folder, most of it to
fill the larger database; ``--keep DIR`` leaves both there for further runs of the same day,
``--levels 10000 1000000`` is content with less, ``--quick`` is a smoke run.
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
from datetime import timedelta
from pathlib import Path
from typing import Final

import orjson
import psutil
from sqlalchemy import select, text

from app.domain.audit import Actor, Source
from app.models.engine import reading, writing
from app.models.pruned import GrownDatabase
from app.runtime.gateway import Gateway, current_gateway
from app.services.feed.latency.counts import follow_window
from bench import console
from bench.contenders import GUNICORN, OURS, POSTGRES, Contender, Setting, command, settings_for
from bench.database import gateway_on, postgres_server
from bench.dataset import SENDS, Question, write_questions
from bench.duels.bars import Bar, Match
from bench.duels.ratios import Bound, Interval
from bench.duels.report import Line, contestant_line, duel_lines, judged, print_bars
from bench.duels.rounds import Duel, Round, duel, measure, p50, p99
from bench.grow import grow
from bench.load import require_wrk
from bench.serving import Served, ask, serving, worker_bytes
from bench.synthetic_transfers import SyntheticTransfers, digest_of, senders

LEVELS: Final = (10_000, 10_000_000)
ASKED: Final = 200_000
"""Different transfers that are asked for: many more than a server keeps at hand."""

PAGE: Final = 10
"""Transfers on a page of a history."""

PAIR: Final = SENDS[0]
"""The pair of chains that a fifth of the transfers is of."""

KEPT_FOR: Final = timedelta(days=1)
"""Of the seven days for which transfers count, so many may have gone by."""

OPERATOR: Final = Actor("cli:bench", Source.CLI)
KEY: Final = (GUNICORN, OURS, POSTGRES)
MEMORY: Final = Bound(at_most=1.1)

FILLING: Final = {
    "fsync": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "16GB",
    "checkpoint_timeout": "1h",
}
"""Nothing of it matters to reads. With a minimal log nothing is written twice while the tables are filled."""

_SIZES = text(
    "SELECT c.relname AS name, c.reltuples::bigint AS rows, pg_table_size(c.oid) AS heap,"
    " pg_indexes_size(c.oid) AS indexes FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE n.nspname = 'public' AND c.relkind = 'r' AND pg_total_relation_size(c.oid) > 8000000"
    " ORDER BY pg_total_relation_size(c.oid) DESC"
)


@dataclass(frozen=True, slots=True)
class Level:
    """One database, and the gateway that serves it."""

    transfers: int
    url: str
    gateway: Gateway
    served: Served
    database: psutil.Process
    questions: dict[str, Path]
    sizes: list[tuple[str, int, int, int]]

    def turn(self, asks: str, options: argparse.Namespace) -> Callable[[], Round]:
        """One round of a question, as a function."""
        contender = Contender(f"{asks}, {self.transfers:,} transfers", KEY, "status")

        def ask_for_a_while() -> Round:
            with writing(self.gateway.engine) as connection:
                follow_window(connection, self.gateway.clock())  # as the feed does all the time
            return measure(
                contender, self.served, self.database, self.questions[asks],
                connections=options.connections, seconds=options.seconds,
            )  # fmt: skip

        return ask_for_a_while


def main(arguments: list[str] | None = None) -> int:
    """Measure both levels in turns and print the report; 1 when a bar is missed on a quiet machine."""
    options = _options(arguments)
    require_wrk()
    with ExitStack() as stack:
        small, large = (stack.enter_context(_level(n, options.keep)) for n in sorted(options.levels))
        lines, rounds = _fight(small, large, options)
        print(f"{large.transfers:,} transfers against {small.transfers:,}\n")
        held = print_bars(lines)
        _print_times(rounds)
        _print_sizes(small, large)
        missed = 0 if options.without_console else _visit_console(large, options)
    return int((missed > 0 or not held) and not options.quick)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run: do all parts work?")
    parser.add_argument("--levels", type=int, nargs=2, default=LEVELS)
    parser.add_argument("--pairs", type=int, default=15, help="of neighbours, for each ratio")
    parser.add_argument("--seconds", type=float, default=1, help="of each question in each round")
    parser.add_argument("--connections", type=int, default=2, help="few: how long is asked, not how many")
    parser.add_argument("--keep", type=Path, help="a folder outside the repository for the filled databases")
    parser.add_argument("--without-console", action="store_true")
    parser.add_argument("--records", type=int, default=console.RECORDS, help="of the audit log")
    parser.add_argument("--visits", type=int, default=25, help="of each page of the console")
    options = parser.parse_args(arguments)
    if options.quick:
        options.levels, options.pairs, options.seconds = (500, 5_000), 1, 1
        options.records, options.visits = 100, 1
    return options


@contextmanager
def _level(transfers: int, keep: Path | None) -> Iterator[Level]:
    """A database with so many transfers, all released in the last seven days, served by gunicorn."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gateway-bench-scale-")))
        kept = keep / str(transfers) if keep else None
        database = stack.enter_context(postgres_server(kept, FILLING))
        with gateway_on(database.url):
            gateway = current_gateway()
            if not _is_filled(gateway, transfers):
                _fill(gateway, transfers)
            sizes = _sizes(gateway)
        setting = Setting(sqlite_url="", postgres_url=database.url, processes=2, threads=8)
        served = stack.enter_context(
            serving(command(KEY, setting), settings_for(KEY, setting), folder / "log")
        )
        questions = _questions(transfers, folder, served)
        yield Level(transfers, database.url, gateway, served, database.process, questions, sizes)


def _is_filled(gateway: Gateway, transfers: int) -> bool:
    """Whether an earlier run left these transfers.

    :raises SystemExit: it left others, or long ago.
    """
    with reading(gateway.engine) as connection:
        grown = connection.execute(select(GrownDatabase.transfers, GrownDatabase.grown_at)).first()
    if grown is None:
        return False
    if grown.transfers != transfers or gateway.clock() - grown.grown_at > KEPT_FOR:
        raise SystemExit(
            f"kept: {grown.transfers:,} transfers of {grown.grown_at}; remove them to measure anew"
        )
    return True


def _fill(gateway: Gateway, transfers: int) -> None:
    started = time.monotonic()
    grow(gateway, SyntheticTransfers(transfers, gateway.clock()), actor=OPERATOR)
    seconds = time.monotonic() - started
    sys.stderr.write(f"grew {transfers:,} in {seconds:.0f} s, {transfers / seconds:,.0f} a second\n")


def _fight(small: Level, large: Level, options: argparse.Namespace) -> tuple[list[Line], list[Round]]:
    """The larger against the smaller, and a page of a history against a status in the larger."""
    duels = {
        "status p50": (p50, Bound(at_most=1.1), "status", small, "status"),
        "latency p99": (p99, Bound(at_most=1.2), "latency", small, "latency"),
        f"history of {PAGE} p99 / status p99": (p99, Bound(at_most=1.5), "history", large, "status"),
    }
    lines: list[Line] = []
    rounds: list[Round] = []
    fought: Duel
    for what, (figure, bound, ours, against, theirs) in duels.items():
        fought = duel(large.turn(ours, options), against.turn(theirs, options), options.pairs)
        lines += duel_lines(Match("", "", (Bar(what, figure, bound),)), fought)
        rounds += fought.rounds
        sys.stderr.write(f"{what} done\n")
    mine, other = (statistics.mean(worker_bytes(level.served.process)) for level in (large, small))
    ratio = mine / other
    verdict = judged(MEMORY, Interval(ratio, ratio), 0)
    found = f"{ratio:.2f} ({other / 1e6:.1f} to {mine / 1e6:.1f} MB)"
    lines.append(Line("memory of a worker", MEMORY, found, "", 0, verdict))
    return lines, rounds


def _sizes(gateway: Gateway) -> list[tuple[str, int, int, int]]:
    with reading(gateway.engine) as connection:
        return [(row.name, row.rows, row.heap, row.indexes) for row in connection.execute(_SIZES)]


def _questions(transfers: int, folder: Path, served: Served) -> dict[str, Path]:
    draw = random.Random(3)
    numbers = draw.sample(range(transfers), min(ASKED, transfers))
    path = "/v2/getTransferStatus"
    status = [Question(path, f'{{"transfer_id":"0x{digest_of(n)}"}}') for n in numbers]
    path = "/v2/getLatest7DayTransferLatencyForQuery"
    latency = [Question(f"{path}?src_chain_id={PAIR.src_chain_id}&dst_chain_id={PAIR.dst_chain_id}")]
    histories = list(_histories(draw))
    for question in (*status[:20], *latency, *histories[:20]):
        answer = orjson.loads(ask(served.port, question.method, question.path, question.body))
        if answer["err"] is not None:
            raise SystemExit(f"{question.path} {question.body}: {answer['err']}")
    return {
        "status": write_questions(status, folder / "status.txt"),
        "latency": write_questions(latency, folder / "latency.txt"),
        "history": write_questions(histories, folder / "history.txt"),
    }


def _histories(draw: random.Random) -> Iterator[Question]:
    """Pages from anywhere in the histories of all users, of whom each has as many transfers."""
    now = round(time.time() * 1000)
    users = senders()
    for _ in range(20_000):
        before = now - draw.randrange(7 * 86_400_000)
        address = draw.choice(users)
        yield Question(f"/v2/transferHistory?acct_addr[]={address}&page_size={PAGE}&next_page_token={before}")


def _print_times(rounds: list[Round]) -> None:
    print("\n| question | requests a second (min to max) | p50 ms | p99 ms | bytes | server µs CPU "
          "| database µs CPU |\n|---|---:|---:|---:|---:|---:|---:|")  # fmt: skip
    for name in sorted({measured.name for measured in rounds}):
        print(contestant_line([measured for measured in rounds if measured.name == name]))


def _print_sizes(small: Level, large: Level) -> None:
    both = [sum(heap + indexes for _, _, heap, indexes in level.sizes) / 1e6 for level in (small, large)]
    print(f"\nDatabases: {both[0]:,.0f} and {both[1]:,.0f} MB.")
    print(f"\n| table at {large.transfers:,} | rows | MB | its indexes, MB |\n|---|---:|---:|---:|")
    for name, rows, heap, indexes in large.sizes:
        print(f"| {name} | {rows:,} | {heap / 1e6:,.0f} | {indexes / 1e6:,.0f} |")


def _visit_console(level: Level, options: argparse.Namespace) -> int:
    """How many pages of the console are too slow there."""
    with gateway_on(level.url) as app:
        console.fill(current_gateway(), level.transfers, options.records)
        visited = console.measure(app, options.visits, [level.database])
    return console.report("PostgreSQL", level.transfers, options.records, visited)


if __name__ == "__main__":
    sys.exit(main())
