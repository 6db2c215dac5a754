"""What a fault costs under load: ``python -m tests.faults_rig`` makes one after the other and prints a table.

About ten minutes; ``--quick`` with a few seconds for each is a smoke run whose figures mean little.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path

from tests.faults_rig.faults import FAULTS, Fault
from tests.faults_rig.figures import figures
from tests.faults_rig.health import Prober
from tests.faults_rig.programs import missing
from tests.faults_rig.stage import Stage, stage
from tests.faults_rig.table import HEADER, Result, line, silent
from tests.load.events import Reporter
from tests.load.steady import Seen, steady_load

WARM_SECONDS = 2
"""Of the load, in which connections are opened: they are not counted."""


def main(arguments: list[str] | None = None) -> int:
    """Make the faults and print the table; 1 where an acknowledged event was lost."""
    options = _options(arguments)
    if lacking := missing():
        raise SystemExit(f"make faults needs {', '.join(lacking)}: apt-get install {' '.join(lacking)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # so that what was started is ended, too
    results = []
    with stage(options.transfers) as everything:
        reporter = Reporter(everything.nginx.operators, portion=20, pause=0.1, timeout=15)
        with reporter.at_work():
            print(HEADER, flush=True)
            for fault in _chosen(everything, options.only):
                results.append(_measure(everything, fault, reporter, options))
                print(line(results[-1]), flush=True)
        if options.logs:
            _copy_logs(everything, options.logs)
    lossy = [result.name for result in results if result.lost]
    unheard = [result.name for result in results if silent(result)]
    print(f"\nAcknowledged events lost: {', '.join(lossy) or 'none'}.")
    print(f"Health was not answered: {', '.join(unheard) or 'never'}.")
    return int(bool(lossy))


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run: do all parts work?")
    parser.add_argument("--rate", type=float, default=500, help="requests a second")
    parser.add_argument("--seconds", type=float, default=20, help="how long a fault lasts")
    parser.add_argument("--before", type=float, default=6, help="seconds of load before it")
    parser.add_argument("--after", type=float, default=14, help="seconds of load after it")
    parser.add_argument("--transfers", type=int, default=20_000)
    parser.add_argument("--only", nargs="*", help="faults whose name has one of these words")
    parser.add_argument("--logs", type=Path, help="a folder for what the programs wrote")
    options = parser.parse_args(arguments)
    if options.quick:
        options.rate, options.seconds, options.before, options.after = 100, 3, 2, 8
        options.transfers = 200
    return options


def _chosen(everything: Stage, words: list[str] | None) -> list[Fault]:
    chosen = [fault for fault in FAULTS if not words or any(word in fault.name for word in words)]
    for fault in chosen:
        if not fault.possible(everything):
            print(f"cannot be made here: {fault.name}", file=sys.stderr)
    return [fault for fault in chosen if fault.possible(everything)]


def _measure(everything: Stage, fault: Fault, reporter: Reporter, options: argparse.Namespace) -> Result:
    """Load, the fault, the time after it, and what the database has then."""
    fault.prepare(everything)
    named = dict(zip("ab", everything.gateways, strict=True))
    health = Prober({name: (gateway.health_port, "/healthz") for name, gateway in named.items()})
    ready = Prober({name: (gateway.port, "/readyz") for name, gateway in named.items()})
    failures, acknowledged = reporter.failures.total(), len(reporter.acknowledged)
    port, folder = everything.nginx.port, everything.folder
    with (
        health.at_work(),
        ready.at_work(),
        steady_load(port, options.rate, everything.requests, folder) as seen,
    ):
        time.sleep(WARM_SECONDS + options.before)
        began = ended = time.monotonic()
        fault.begin(everything)
        if fault.end:
            time.sleep(max(0.0, began + options.seconds - time.monotonic()))
            fault.end(everything)
            ended = time.monotonic()
        time.sleep(options.after)
    fault.restore(everything)
    known = list(reporter.acknowledged)
    return Result(
        name=fault.name,
        figures=figures(_warm(seen), began, ended),
        health=health.found,
        ready=ready.found,
        acknowledged=len(known) - acknowledged,
        lost=len(known) - everything.has(known),
        sent_again=reporter.failures.total() - failures,
    )


def _warm(seen: list[Seen]) -> list[Seen]:
    """What was seen once the connections were open."""
    first = min(one.due for one in seen) + WARM_SECONDS
    return [one for one in seen if one.due >= first]


def _copy_logs(everything: Stage, folder: Path) -> None:
    for file in sorted(everything.folder.glob("*/*")):
        if file.name in {"output", "log", "error.log"}:
            (folder / f"{file.parent.name}.{file.name}").write_bytes(file.read_bytes())


if __name__ == "__main__":
    sys.exit(main())
