"""What waiting costs: ``python -m bench.wait``.

5,000 callers wait on one process that serves nothing else: the memory of each, how long after a commit
they are answered, and what statuses asked of another process meanwhile lose. ``--quick`` is a smoke run whose
figures mean nothing.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import orjson
import psutil

from app.runtime.gateway import current_gateway
from app.runtime.waiting import NETWORKS
from app.services.feed.ingest import ingest_lines
from bench.contenders import GUNICORN, OURS, POSTGRES, Contender, Setting, command, settings_for
from bench.database import gateway_on, postgres_server
from bench.dataset import status_questions, write_questions
from bench.duels.bars import Bar, Match
from bench.duels.noise import cores, read_clocks, share_of_others
from bench.duels.ratios import Bound, Interval
from bench.duels.report import Line, duel_lines, judged, print_bars
from bench.duels.rounds import Round, duel, measure, p99
from bench.load import require_wrk
from bench.serving import ROOT, Served, serving

MEMORY: Final = Bound(at_most=20.0)
"""KiB for each who waits."""
WOKEN: Final = Bound(at_most=0.5)
"""Seconds from the commit to the answer, p99."""
BESIDE: Final = Bound(at_most=1.2)
"""The p99 of statuses beside those who wait, over the p99 alone."""

WARM: Final = 200
"""Waiters that come and go before anything is measured."""

SETTLE_SECONDS: Final = 2.0
ROUND_SECONDS: Final = 2.0
STATUS_CONNECTIONS: Final = 8


@dataclass(frozen=True, slots=True)
class Stage:
    """Where those who wait and those who ask go."""

    waiting: Served
    asking: Served
    database: psutil.Process
    folder: Path
    ids: Sequence[str]

    @property
    def worker(self) -> psutil.Process:
        """The process on which all wait."""
        (worker,) = self.waiting.process.children()
        return worker


class Crowd:
    """Those who wait, in a process of their own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def listen(self) -> None:
        """From now on each takes one answer and leaves."""
        assert self._process.stdin
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        self._expect("listening")

    def answered(self) -> list[float | None]:
        """When each was answered."""
        assert self._process.stdout
        answered: list[float | None] = json.loads(self._process.stdout.readline())
        return answered

    def _expect(self, word: str) -> None:
        assert self._process.stdout
        if (said := self._process.stdout.readline().strip()) != word:
            raise SystemExit(f"those who wait said {said!r} and not {word!r}")


@contextmanager
def crowd(stage: Stage, ids: Sequence[str], status: int) -> Iterator[Crowd]:
    """One who waits for each of the ids to leave a status; all of them wait when the block begins."""
    file = stage.folder / "waits.txt"
    file.write_text(
        "".join(f"/v2/waitTransferStatus?transfer_id={each}&after_status={status}\n" for each in ids)
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.waiters", str(stage.waiting.port), str(file)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        made = Crowd(process)
        made._expect("ready")
        time.sleep(SETTLE_SECONDS)
        yield made
    finally:
        process.kill()
        process.communicate()


def main(arguments: list[str] | None = None) -> int:
    """Measure and print the report; 1 when a bar is missed on a quiet machine."""
    options = _options(arguments)
    require_wrk()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gateway-bench-wait-")))
        database = stack.enter_context(postgres_server())
        ids = [f"0x{number:064x}" for number in range(1, options.waiters + WARM + 1)]
        stack.enter_context(gateway_on(database.url))
        _tell(_sends(ids))
        setting = Setting("", database.url, processes=1, threads=8)
        places = {"WAIT_LIMIT": str(NETWORKS * (options.waiters + WARM))}  # all come from one address
        served = [
            stack.enter_context(
                serving(
                    command((GUNICORN, OURS, POSTGRES), setting),
                    settings_for((GUNICORN, OURS, POSTGRES), setting) | {"DOORS": doors} | places,
                    folder / f"{doors}.log",
                )
            )
            for doors in ("wait", "api")
        ]
        stage = Stage(*served, database.process, folder, ids)
        lines = [*_woken(stage, options), *_beside(stage, options)]
    held = print_bars(lines)
    return int(not held and not options.quick)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run: do all parts work?")
    parser.add_argument("--waiters", type=int, default=5_000)
    parser.add_argument("--pairs", type=int, default=7, help="of rounds, alone and beside those who wait")
    options = parser.parse_args(arguments)
    if options.quick:
        options.waiters, options.pairs = 100, 1
    return options


def _event(type_: str, transfer_id: str, at: datetime, **fields: Any) -> bytes:
    event = {"id": f"{transfer_id}:{type_}", "type": type_, "at": at.isoformat(), "transfer_id": transfer_id}
    return orjson.dumps(event | fields)


def _sends(ids: Sequence[str]) -> list[bytes]:
    at = datetime.now(UTC) - timedelta(minutes=5)
    sender = "0x" + "11" * 20
    fields = {
        "kind": "pool", "src_chain_id": 1, "dst_chain_id": 56, "symbol": "USDT", "amount": "1000000",
        "sender": sender, "receiver": sender, "block": 100,
    }  # fmt: skip
    return [_event("transfer.sent", each, at, **fields, src_tx_hash=each) for each in ids]


def _changes(ids: Sequence[str], kind: str) -> list[bytes]:
    at = datetime.now(UTC)
    more = {"dst_tx_hash": "0x" + "22" * 32, "block": 200} if kind == "transfer.released" else {}
    return [_event(kind, each, at, **more) for each in ids]


def _tell(lines: Sequence[bytes]) -> list[tuple[int, float]]:
    """Take events; for each commit how many lines were taken up to it, and when it was."""
    commits: list[tuple[int, float]] = []

    def note(taken: int) -> None:
        commits.append((taken + (commits[-1][0] if commits else 0), time.monotonic()))

    result = ingest_lines(current_gateway(), lines, "bench", note)
    if result.accepted != len(lines):
        raise SystemExit(f"of {len(lines)} events {result.accepted} were taken: {result.refused[:3]}")
    return commits


def _woken(stage: Stage, options: argparse.Namespace) -> list[Line]:
    """What each costs, and when all are answered: of one transfer, and each of another."""
    warm, ids = stage.ids[:WARM], stage.ids[WARM:]
    with crowd(stage, warm, 1) as first:
        first.listen()
        _tell(_changes(warm, "transfer.confirmed"))
        first.answered()
    time.sleep(SETTLE_SECONDS)
    before = stage.worker.memory_info().rss
    with crowd(stage, ids, 1) as everybody:
        kib = (stage.worker.memory_info().rss - before) / 1024 / len(ids)
        each = _times(stage, everybody, _changes(ids, "transfer.confirmed"), range(len(ids)))
    one = [warm[0]] * len(ids)
    with crowd(stage, one, 3) as everybody:
        same = _times(stage, everybody, _changes(warm[:1], "transfer.released"), [0] * len(ids))
    figures = (
        (f"{len(ids):,} who wait, KiB each", MEMORY, kib, 0.0),
        (f"{len(ids):,} who wait, each for another transfer: woken, p99, s", WOKEN, *each),
        (f"{len(ids):,} who wait for one transfer: woken, p99, s", WOKEN, *same),
    )
    return [
        Line(
            what,
            bound,
            f"{found:.3f}",
            "",
            others,
            judged(bound, Interval(found, found), others, held_anyway=True),
        )
        for what, bound, found, others in figures
    ]


def _times(
    stage: Stage, everybody: Crowd, lines: Sequence[bytes], line_of: Sequence[int]
) -> tuple[float, float]:
    """The p99 of the times from the commit of a line to its waiter's answer, and what others used meanwhile.

    :param line_of: of each who waits the index of the line that ends the wait.
    """
    everybody.listen()
    clocks = read_clocks([stage.database, stage.waiting.process])
    commits = _tell(lines)
    answered = everybody.answered()
    others = share_of_others(clocks, read_clocks([stage.database, stage.waiting.process]), cores())
    times = []
    for line, moment in zip(line_of, answered, strict=True):
        if moment is None:
            raise SystemExit("somebody who waits was not answered")
        committed = next(at for taken, at in commits if line < taken)
        times.append(moment - committed)
    print(
        f"{len(times):,} woken by {len(commits)} commits: median {statistics.median(times):.3f} s, "
        f"last {max(times):.3f} s"
    )
    return sorted(times)[len(times) * 99 // 100], others


def _beside(stage: Stage, options: argparse.Namespace) -> list[Line]:
    """Statuses on the other process, alone and beside those who wait."""
    contender = Contender("status", (GUNICORN, OURS, POSTGRES), "status")
    questions = write_questions(status_questions(list(stage.ids[:WARM])), stage.folder / "status.txt")

    def alone() -> Round:
        return measure(
            contender, stage.asking, stage.database, questions,
            connections=STATUS_CONNECTIONS, seconds=ROUND_SECONDS,
        )  # fmt: skip

    def beside() -> Round:
        with crowd(stage, stage.ids[WARM:], 3):
            return alone()

    fought = duel(beside, alone, options.pairs)
    what = f"statuses on the other process beside {options.waiters:,} who wait / alone, p99"
    return duel_lines(Match("", "", (Bar(what, p99, BESIDE),)), fought)


if __name__ == "__main__":
    sys.exit(main())
