"""Response times, memory and room at 10 thousand, 1 million and 10 million transfers (PostgreSQL).

``python -m bench.scale`` takes about a quarter of an hour and 20 GB in the temporary folder, most of it for
the largest database; ``--levels 10000 1000000`` leaves that out, ``--quick`` is a smoke run.
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
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import psutil
from sqlalchemy import text

from app.domain.audit import Actor, Source
from app.models.engine import reading, writing
from app.runtime.gateway import Gateway, current_gateway
from app.services.feed.latencies import follow_window
from bench.contenders import GUNICORN, OURS, POSTGRES, Setting, command, settings_for
from bench.database import gateway_on, postgres_server
from bench.dataset import SENDS, Question, write_questions
from bench.grow import grow
from bench.load import Load, press, require_wrk
from bench.serving import Served, ask, serving
from bench.synthetic_transfers import SyntheticTransfers, digest_of, senders

LEVELS = (10_000, 1_000_000, 10_000_000)
ASKED = 200_000
"""Different transfers that are asked for: many more than a server keeps at hand."""

ASKS = ("status", "latency", "history")

PAGE = 10
"""Transfers on a page of a history."""

HISTORY_AT_MOST = 1.5
"""The p99 of a page of a history over that of a status, in the largest database."""

PAIR = SENDS[0]
"""The pair of chains that a fifth of the transfers is of."""

_SIZES = text(
    "SELECT c.relname AS name, c.reltuples::bigint AS rows, pg_table_size(c.oid) AS heap,"
    " pg_indexes_size(c.oid) AS indexes FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE n.nspname = 'public' AND c.relkind = 'r' AND pg_total_relation_size(c.oid) > 8000000"
    " ORDER BY pg_total_relation_size(c.oid) DESC"
)


@dataclass(slots=True)
class Level:
    """One database, the gateway that serves it, and what was measured on it."""

    transfers: int
    gateway: Gateway
    served: Served
    questions: dict[str, Path]
    sizes: list[tuple[str, int, int, int]]
    loads: dict[str, list[Load]] = field(default_factory=lambda: {asks: [] for asks in ASKS})
    worker_bytes: float = 0

    def median(self, asks: str, figure: Callable[[Load], int]) -> float:
        """The median of a figure over the rounds."""
        return statistics.median(figure(load) for load in self.loads[asks])


def _p50(load: Load) -> int:
    return load.p50_us


def _p99(load: Load) -> int:
    return load.p99_us


@dataclass(frozen=True, slots=True)
class Bar:
    """The largest level against the smallest."""

    what: str
    at_most: float
    figures: Callable[[Level], list[float]]
    """One a round; ratios are taken between what was measured in the same round."""

    def ratio(self, largest: Level, smallest: Level) -> float:
        """The median of the rounds' ratios."""
        pairs = zip(self.figures(largest), self.figures(smallest), strict=True)
        return statistics.median(large / small for large, small in pairs)


BARS = (
    Bar("status p50", 1.2, lambda level: [load.p50_us for load in level.loads["status"]]),
    Bar("latency p99", 1.5, lambda level: [load.p99_us for load in level.loads["latency"]]),
    Bar("memory of a worker", 1.1, lambda level: [level.worker_bytes]),
)


def main(arguments: list[str] | None = None) -> int:
    """Measure every level in alternating rounds and print the report; 1 when a bar is missed."""
    options = _options(arguments)
    require_wrk()
    with ExitStack() as stack:
        levels = [stack.enter_context(_level(transfers)) for transfers in options.levels]
        for number in range(-1, options.rounds):  # the first warms up and is not counted
            levels.reverse()  # so that none always has the quieter moment
            for level in levels:
                with writing(level.gateway.engine) as connection:
                    follow_window(connection, level.gateway.clock())  # as the feed does all the time
            for asks in ASKS:
                for level in levels:
                    load = press(
                        level.served.port,
                        level.questions[asks],
                        connections=options.connections,
                        seconds=options.seconds,
                    )
                    if load.failures:
                        raise SystemExit(f"{asks}: {load.failures} of {load.requests} requests failed")
                    if number >= 0:
                        level.loads[asks].append(load)
            sys.stderr.write(f"round {number + 1} of {options.rounds} done\n")
        levels.sort(key=lambda level: level.transfers)
        for level in levels:
            level.worker_bytes = _worker_bytes(level.served.process)
        return _report(levels)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run: do all parts work?")
    parser.add_argument("--levels", type=int, nargs="+", default=LEVELS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5, help="of each question in each round")
    parser.add_argument("--connections", type=int, default=2, help="few: how long is asked, not how many")
    options = parser.parse_args(arguments)
    if options.quick:
        options.levels, options.rounds, options.seconds = (500, 5_000), 1, 1
    return options


@contextmanager
def _level(transfers: int) -> Iterator[Level]:
    """A database with so many transfers, all released in the last seven days, served by gunicorn."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gateway-bench-scale-")))
        url = stack.enter_context(postgres_server()).url
        with gateway_on(url):
            started = time.monotonic()
            gateway = current_gateway()
            grow(
                gateway, SyntheticTransfers(transfers, gateway.clock()), actor=Actor("cli:bench", Source.CLI)
            )
            seconds = time.monotonic() - started
            sys.stderr.write(f"grew {transfers:,} in {seconds:.0f} s, {transfers / seconds:,.0f} a second\n")
            sizes = _sizes(gateway)
        setting = Setting(sqlite_url="", postgres_url=url, processes=2, threads=8)
        key = (GUNICORN, OURS, POSTGRES)
        served = stack.enter_context(
            serving(command(key, setting), settings_for(key, setting), folder / "log")
        )
        yield Level(transfers, gateway, served, _questions(transfers, folder, served), sizes)


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


def _worker_bytes(master: psutil.Process) -> float:
    """What a worker needs: its own memory and its part of what is shared."""
    return statistics.mean(worker.memory_full_info().pss for worker in master.children())


def _report(levels: list[Level]) -> int:
    print(
        "transfers | "
        + " | ".join(f"{asks} p50, p99 (µs)" for asks in ASKS)
        + " | worker (MB) | database (MB)"
    )
    for level in levels:
        columns = [f"{level.transfers:>11,}"]
        for asks in ASKS:
            p50, p99 = level.median(asks, _p50), level.median(asks, _p99)
            columns.append(f"{p50:>8,.0f} {p99:>8,.0f}")
        size = sum(heap + indexes for _, _, heap, indexes in level.sizes)
        print(" | ".join([*columns, f"{level.worker_bytes / 1e6:>6.1f}", f"{size / 1e6:>8,.0f}"]))
    print("\ntable | rows | MB | indexes, MB   (the largest database)")
    for name, rows, heap, indexes in levels[-1].sizes:
        print(f"{name:<20} | {rows:>12,} | {heap / 1e6:>8,.0f} | {indexes / 1e6:>8,.0f}")
    print(f"\n{levels[-1].transfers:,} transfers against {levels[0].transfers:,}")
    missed = 0
    for bar in BARS:
        ratio = bar.ratio(levels[-1], levels[0])
        missed += ratio > bar.at_most
        verdict = "" if ratio <= bar.at_most else "  MISSED"
        print(f"{bar.what}: {ratio:.2f} times, at most {bar.at_most}{verdict}")
    ratio = _history_ratio(levels[-1])
    missed += ratio > HISTORY_AT_MOST
    verdict = "" if ratio <= HISTORY_AT_MOST else "  MISSED"
    of_each = levels[-1].transfers // len(senders())
    print(
        f"history p99, {PAGE} of about {of_each:,} transfers of an account, over status p99: "
        f"{ratio:.2f} times, at most {HISTORY_AT_MOST}{verdict}"
    )
    return int(missed > 0)


def _history_ratio(level: Level) -> float:
    """The median of the rounds' ratios of both p99s."""
    pairs = zip(level.loads["history"], level.loads["status"], strict=True)
    return statistics.median(history.p99_us / status.p99_us for history, status in pairs)


if __name__ == "__main__":
    sys.exit(main())
