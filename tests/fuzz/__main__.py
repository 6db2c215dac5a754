"""A million broken and odd requests: ``python -m tests.fuzz --inputs 1000000 --seed 1``.

Half go to a gunicorn on SQLite and half to one on PostgreSQL. ``--first N --inputs 1 --only postgresql``
sends one of them again and shows it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.databases import BACKENDS
from tests.everyday import SEED
from tests.fuzz.campaign import Client, Finding, Outcome, send_all, still_slow
from tests.fuzz.stage import Stage, inconsistencies, stage
from tests.postgres import postgres

WARM = 0.25
"""The part of the inputs after which memory is first looked at."""

GROWTH_BYTES = 16_000_000
"""How much more memory a worker may have in use at the end than after the warm-up."""

UNAVAILABLE = 0.001
"""The part of the inputs that may be answered 503: a busy SQLite, a full waiting room."""

ASKED_AGAIN = 100
SHOWN = 20
OF_A_KIND = 3


def main(arguments: list[str] | None = None) -> int:
    """Send, print what came of it; 1 where something is wrong."""
    options = _options(arguments)
    each = -(-options.inputs // len(options.only))
    wrong = 0
    for number, backend in enumerate(options.only):
        first = options.first + number * each
        numbers = range(first, min(first + each, options.first + options.inputs))
        with tempfile.TemporaryDirectory(prefix="gateway-fuzz-") as name, _database(backend, name) as url:
            wrong += _run(backend, url, Path(name), numbers, options)
    return int(wrong > 0)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--first", type=int, default=0, help="the number of the first input")
    parser.add_argument("--only", nargs="+", choices=BACKENDS, default=BACKENDS)
    parser.add_argument("--processes", type=int, default=6, help="that send")
    return parser.parse_args(arguments)


@contextmanager
def _database(backend: str, folder: str) -> Iterator[str]:
    if backend == "sqlite":
        yield f"sqlite:///{folder}/gateway.db"
    else:
        with postgres() as url:
            yield url


def _run(backend: str, url: str, folder: Path, numbers: range, options: argparse.Namespace) -> int:
    """All inputs for one database; how many things are wrong."""
    began = time.monotonic()
    with stage(url, folder) as running:
        server, before = running.server, running.workers()
        if len(numbers) == 1:
            return _show(running, options.seed, numbers.start)
        warm = numbers.start + int(len(numbers) * WARM)
        outcome = _send(running, range(numbers.start, warm), options)
        middle = running.in_use()
        outcome.add(_send(running, range(warm, numbers.stop), options))
        after, resident = running.in_use(), running.workers()
        client = Client(server.host, server.port, options.seed, running.world)
        slow = still_slow(client, outcome.slow[:ASKED_AGAIN])
        client.close()
        faults = _judge(outcome, slow, middle, after)
        if before.keys() != after.keys():
            faults.append(f"workers died: {sorted(before)} became {sorted(after)}")
        told = running.log_faults()
        faults += [f"log: {line}" for line in told[:SHOWN]]
    faults += inconsistencies(url)
    _print(backend, outcome, time.monotonic() - began, options.seed)
    memory = ", ".join(
        f"{middle.get(pid, 0) / 1e6:.1f} to {size / 1e6:.1f} MB (resident {resident[pid] / 1e6:.1f})"
        for pid, size in after.items()
    )
    print(f"memory in use by the workers after the warm-up and at the end: {memory}")
    for fault in faults:
        print(f"WRONG: {fault}")
    return len(faults)


def _send(running: Stage, numbers: range, options: argparse.Namespace) -> Outcome:
    began = time.monotonic()

    def progress(outcome: Outcome) -> None:
        done, seconds = outcome.inputs, time.monotonic() - began
        sys.stderr.write(f"\r{done:,} of {len(numbers):,}, {done / seconds:,.0f} a second, "
                         f"{len(outcome.findings)} findings ")  # fmt: skip

    server = running.server
    return send_all(
        server.host, server.port, options.seed, running.world, numbers, options.processes, progress
    )


def shown(outcome: Outcome) -> list[Finding]:
    """The first of the findings, a few of each kind."""
    kinds: Counter[tuple[str, str]] = Counter()
    few = []
    for each in outcome.findings:
        kind = each.question.door, each.what[:60]
        kinds[kind] += 1
        if kinds[kind] <= OF_A_KIND:
            few.append(each)
    return few[:SHOWN]


def _judge(
    outcome: Outcome, slow: list[tuple[int, float]], middle: dict[int, int], after: dict[int, int]
) -> list[str]:
    faults = [f"input {each.number}, {each.question.door}: {each.what}" for each in shown(outcome)]
    kinds = Counter((each.question.door, each.what[:60]) for each in outcome.findings)
    faults += [f"{count} times: {kind}" for kind, count in kinds.most_common(SHOWN)]
    faults += [f"input {number} took {seconds:.1f} s, alone" for number, seconds in slow]
    for pid, size in after.items():
        if pid in middle and size - middle[pid] > GROWTH_BYTES:
            faults.append(f"worker {pid} grew by {(size - middle[pid]) / 1e6:.1f} MB")
    if sum(outcome.unavailable.values()) > UNAVAILABLE * outcome.inputs + 1:
        faults.append(f"unavailable: {dict(outcome.unavailable)}")
    return faults


def _print(backend: str, outcome: Outcome, seconds: float, seed: int) -> None:
    speed = outcome.inputs / seconds
    print(f"\n{backend}: {outcome.inputs:,} inputs in {seconds:,.0f} s, {speed:,.0f} a second")
    doors = sorted({door for door, _ in outcome.statuses})
    for door in doors:
        counts = sorted((status, count) for (of, status), count in outcome.statuses.items() if of == door)
        told = ", ".join(f"{count:,} × {status or 'none'}" for status, count in counts)
        print(f"  {door}: {sum(count for _, count in counts):,}: {told}")
    print(f"  503: {dict(outcome.unavailable) or 'none'}; over 1 s: {len(outcome.slow)}")
    for finding in shown(outcome):
        print(f"\ninput {finding.number}: {finding.what}\n{finding.question.raw[:2000]!r}")
        print(f"  again: .venv/bin/python -m tests.fuzz --seed {seed} --first {finding.number} --inputs 1 "
              f"--only {backend}")  # fmt: skip


def _show(running: Stage, seed: int, number: int) -> int:
    """One input, and what comes of it."""
    client, outcome = Client(running.server.host, running.server.port, seed, running.world), Outcome()
    found = client.send(number, outcome)
    print(found)
    for finding in outcome.findings:
        print(f"{finding.what}\n{finding.question.raw!r}")
    client.close()
    print(running.log.read_text())
    return len(outcome.findings)


if __name__ == "__main__":
    sys.exit(main())
