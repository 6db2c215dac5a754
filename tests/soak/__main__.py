"""Half an hour of everything at once, at half of top speed: ``python -m tests.soak --minutes 30``.

Answers of all kinds, a reporter, callers who wait, streams, gRPC-Web, an API key, webhooks and the console.
Every ten seconds memory, files, connections, tables and times are sampled. A line through each shows whether
it grows. ``test_soak.py`` runs it as well.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson

from tests.load.requests import Request, estimate_requests, latency_requests, status_requests, write_requests
from tests.load.wrk import Load, press, require_wrk
from tests.soak.callers import Callers
from tests.soak.samples import Samples
from tests.soak.stage import Stage, stage
from tests.soak.trends import report

CONNECTIONS: Final = 32
SHARES: Final = {"status": 50, "estimate": 30, "history": 10, "latency": 5, "other": 5}
"""Of a hundred requests."""

FAILED: Final = 0.0001
"""The part of the answers that may fail: none on a machine of its own. There 503 means that the
database had no time."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How long it runs, and with how much.

    :param minutes: of the load.
    :param every: seconds between two samples.
    :param top_seconds: for the measurement of the top speed.
    :param transfers: that are there from the start.
    """

    minutes: float
    every: float
    top_seconds: float
    transfers: int


WHOLE: Final = Scale(minutes=30, every=10, top_seconds=60, transfers=10_000)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was found.

    :param done: answers by caller; those of wrk are ``load``, and ``webhooks`` came to the receiver.
    :param failed: failures by what went wrong.
    :param grown: names of the series that grew too much.
    :param faults: lines of errors in the logs.
    """

    done: Counter[str]
    failed: Counter[str]
    grown: list[str]
    faults: list[str]

    @property
    def failed_part(self) -> float:
        """The part of the answers that failed."""
        return self.failed.total() / (self.done.total() - self.done["webhooks"])


def main(arguments: list[str] | None = None) -> int:
    """Measure and print the report; 1 where something grows, fails or is written into a log."""
    options = _options(arguments)
    require_wrk()
    found = soak(
        Scale(options.minutes, options.every, options.top_seconds, options.transfers), options.samples
    )
    for line in found.faults[:20]:
        print("log:", line)
    return int(bool(found.grown or found.faults) or found.failed_part > FAILED)


def soak(scale: Scale, file: Path | None = None) -> Outcome:
    """Run everything at once, and print what was found.

    :param file: for all samples, as JSON.
    """
    with stage(scale.transfers, processes=2) as running:
        mix = _mix(running)
        with Callers(running) as callers:
            press(running.gateway.port, mix, connections=16, seconds=scale.top_seconds / 6)
            top = press(running.gateway.port, mix, connections=16, seconds=scale.top_seconds)
            print(f"Top speed: {top.per_second:,.0f} answers a second, p99 {top.p99_us / 1000:.1f} ms.")
            pause = round(1000 * CONNECTIONS / (top.per_second / 2))
            samples, failures, answers = Samples(running), 0, 0
            began = time.monotonic()
            while (past := time.monotonic() - began) < scale.minutes * 60:
                load = _press(running, mix, pause, scale.every)
                samples.take(time.monotonic() - began, load)
                pause = paced(pause, load.per_second, top.per_second / 2)
                failures, answers = failures + load.failures, answers + load.requests
                sys.stderr.write(f"\r{past / 60:.1f} minutes, {answers:,} answers, {failures} failures ")
        print(f"{answers:,} answers in {scale.minutes:g} minutes, {answers / (past or 1):,.0f} a second; ")
        print(f"{failures} failed. Load of the machine: {os.getloadavg()[2]:.1f}.")
        print(f"Next to them: {dict(callers.done)}; webhooks that came: {running.receiver.came:,}.")
        print(f"What went wrong: {dict(callers.failed) or 'nothing'}.\n")
        rows, grown = report(samples.times, samples.series, samples.bounds)
        print("\n".join(rows))
        if file:
            file.write_bytes(orjson.dumps({"seconds": samples.times, **samples.series}))
        faults = [line for log in running.folder.glob("*.log") for line in _faults(log)]
        done = callers.done + Counter(load=answers, webhooks=running.receiver.came)
    return Outcome(done, callers.failed + Counter(load=failures), grown, faults)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=WHOLE.minutes)
    parser.add_argument("--every", type=float, default=WHOLE.every, help="seconds between two samples")
    parser.add_argument("--top-seconds", type=float, default=WHOLE.top_seconds, help="for the top speed")
    parser.add_argument("--transfers", type=int, default=WHOLE.transfers)
    parser.add_argument("--samples", type=Path, help="a file for all samples, as JSON")
    return parser.parse_args(arguments)


def paced(pause_ms: int, found: float, wanted: float) -> int:
    """The pause with which the next slice comes nearer to the wanted speed, both in answers a second."""
    return max(1, round(pause_ms * min(1.25, max(0.8, found / wanted))))


def _press(running: Stage, mix: Path, pause_ms: int, seconds: float) -> Load:
    return press(running.gateway.port, mix, connections=CONNECTIONS, seconds=seconds, pause_ms=pause_ms)


def _mix(running: Stage) -> Path:
    """The requests, as a file for wrk: each as often as its share."""
    draw = random.Random(17)
    account = running.account
    kinds = {
        "status": status_requests(running.ids),
        "estimate": estimate_requests(),
        "latency": latency_requests(),
        "history": [
            Request(f"/v2/transferHistory?acct_addr={account}&page_size={size}") for size in (5, 20, 50)
        ],
        "other": [
            Request("/v2/getTransferConfigsForAll"),
            Request("/healthz"),
            *(Request(f"/v2/getTransfer?key={each}") for each in running.ids[:50]),
            *(Request(f"/transfer/{each}") for each in running.ids[:20]),
        ],
    }
    mixed = [draw.choice(kinds[kind]) for kind, share in SHARES.items() for _ in range(share * 20)]
    draw.shuffle(mixed)
    return write_requests(mixed, running.folder / "mix.txt")


def _faults(log: Path) -> list[str]:
    """Lines of errors. What was unavailable for a moment is a warning, and a failed request above."""
    fault = re.compile(r"(Traceback|\S+ (ERROR|CRITICAL) )")
    return [line for line in log.read_text().splitlines() if fault.match(line)]


if __name__ == "__main__":
    sys.exit(main())
