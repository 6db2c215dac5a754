"""What gunicorn's settings do to our status answers on PostgreSQL: ``python -m bench.settings``.

Every setting is served at the same time and asked in turn, so that what slows the machine slows all alike.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from bench.contenders import GUNICORN, OURS, POSTGRES, Contender, Setting, command, settings_for
from bench.database import postgres_server
from bench.duels.rounds import Round, measure, p99, rate
from bench.http import prepare
from bench.load import require_wrk
from bench.serving import serving

ROUNDS = 9
SECONDS = 1
TRANSFERS = 1_000
CONNECTIONS = (16, 64)
STATUS = Contender("status", (GUNICORN, OURS, POSTGRES), "status")


@dataclass(frozen=True, slots=True)
class Served:
    """Settings to compare: processes, and connections to the database in each."""

    processes: int
    threads: int

    def __str__(self) -> str:
        return f"{self.processes} × {self.threads}"


COMPARED = (
    Served(1, 8),
    Served(2, 2),
    Served(2, 4),
    Served(2, 8),
    Served(2, 16),
    Served(4, 4),
)


def main() -> int:
    """Print a table for each number of connections."""
    require_wrk()
    found: dict[tuple[int, Served], list[Round]] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gateway-bench-settings-")))
        database = stack.enter_context(postgres_server())
        shared = Setting(f"sqlite:///{folder / 'gateway.db'}", database.url, processes=2, threads=8)
        questions, _ = prepare(shared, folder, TRANSFERS)["status"]
        servers = {}
        for number, served in enumerate(COMPARED):
            setting = replace(shared, processes=served.processes, threads=served.threads)
            environment = settings_for(STATUS.server, setting)
            started = serving(command(STATUS.server, setting), environment, folder / f"{number}.log")
            servers[served] = stack.enter_context(started)
        for number in range(-1, ROUNDS):  # the first warms up and is not counted
            for connections in CONNECTIONS:
                for served, server in servers.items():
                    measured = measure(
                        STATUS, server, database.process, questions, connections=connections, seconds=SECONDS
                    )
                    if number >= 0:
                        found.setdefault((connections, served), []).append(measured)
    for connections in CONNECTIONS:
        print(f"\n| {connections} connections | requests a second (min to max) | p99 ms | server µs CPU |")
        print("|---|---:|---:|---:|")
        for served in COMPARED:
            print(_line(served, found[connections, served]))
    return 0


def _line(served: Served, rounds: list[Round]) -> str:
    rates = [rate(r) for r in rounds]
    tail = statistics.median(p99(r) for r in rounds) / 1000
    cpu = statistics.median(r.server_us for r in rounds)
    spread = f"{statistics.median(rates):,.0f} ({min(rates):,.0f} to {max(rates):,.0f})"
    return f"| {served} | {spread} | {tail:.1f} | {cpu:.0f} |"


if __name__ == "__main__":
    sys.exit(main())
