"""What is sampled every few seconds while the installation is used, and how far each series may grow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import psutil
import psycopg

from tests.deploy.files import ROOT
from tests.load.wrk import Load
from tests.soak.stage import Stage
from tests.soak.trends import Flat

MEMORY: Final = Flat(share=0.05, amount=4.0)
"""MB of one process."""

COUNTED: Final = Flat(share=0.05, amount=8)
"""Files, threads, connections. Callers that come and go make them swing."""

ROWS: Final = Flat(share=0.0, amount=20)
SIZE: Final = Flat(share=0.0, amount=0.1)
"""MB of logs and files."""

MIDDLE: Final = Flat(share=0.25, amount=2.0)
TAIL: Final = Flat(share=0.5, amount=10.0)
"""Milliseconds. On a machine that others use a tail is noisy: its interval says how much."""

_CONNECTIONS: Final = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
_WAITING: Final = "SELECT count(*) FROM webhook_deliveries WHERE state = 'waiting'"

QUERIES: Final = (
    ("connections to the database", _CONNECTIONS, COUNTED),
    ("rows of api_key_uses", "SELECT count(*) FROM api_key_uses", ROWS),
    ("rows of estimate_counts", "SELECT count(*) FROM estimate_counts", None),
    ("rows of operator_sessions", "SELECT count(*) FROM operator_sessions", ROWS),
    ("rows of sign_in_failures", "SELECT count(*) FROM sign_in_failures", ROWS),
    ("webhook deliveries that wait", _WAITING, None),
    ("webhook deliveries stored", "SELECT count(*) FROM webhook_deliveries", None),
    ("events", "SELECT count(*) FROM events", None),
    ("database, MB", "SELECT pg_database_size(current_database()) / 1e6", None),
)
"""Queries of the database. Rows that are retained on purpose are shown: events for good, deliveries for 30
days, counted answers for as long as the dashboard shows them."""

OF_THE_MACHINE: Final = {"p50, ms", "p99, ms", "files in /dev/shm", "instance folder, MB"}
"""Series that other processes of the machine change as well."""


class Samples:
    """Series by name, one value a sample; and the bound of each."""

    def __init__(self, stage: Stage) -> None:
        self.times: list[float] = []
        self.series: dict[str, list[float]] = {}
        self.bounds: dict[str, Flat | None] = {}
        self._stage = stage
        self._url = stage.database.url.replace("postgresql+psycopg", "postgresql")
        self._processes = _processes(stage)

    def take(self, at: float, load: Load) -> None:
        """One value for each series.

        :raises SystemExit: a process of the installation is not there any more.
        """
        self.times.append(at)
        self._note("answers a second", load.per_second, None)
        self._note("p50, ms", load.p50_us / 1000, MIDDLE)
        self._note("p99, ms", load.p99_us / 1000, TAIL)
        if (now := _processes(self._stage)) != self._processes:
            raise SystemExit(f"processes ended or were replaced: {self._processes} are now {now}")
        for name, process in self._processes.items():
            self._note(f"{name}: RSS, MB", process.memory_info().rss / 1e6, MEMORY)
            self._note(f"{name}: open files", process.num_fds(), COUNTED)
            self._note(f"{name}: connections", len(process.net_connections("tcp")), COUNTED)
            self._note(f"{name}: threads", process.num_threads(), COUNTED)
        self._query_database()
        self._note("logs, MB", _megabytes(self._stage.folder.glob("*.log")), SIZE)
        self._note("instance folder, MB", _megabytes((ROOT / "instance").rglob("*")), SIZE)
        self._note("files in /dev/shm", sum(1 for _ in Path("/dev/shm").iterdir()), COUNTED)

    def _query_database(self) -> None:
        with psycopg.connect(self._url) as connection:
            for name, query, bound in QUERIES:
                row = connection.execute(query.encode()).fetchone()
                self._note(name, float(row[0]) if row else 0.0, bound)

    def _note(self, name: str, value: float, bound: Flat | None) -> None:
        self.series.setdefault(name, []).append(value)
        self.bounds[name] = bound


def _processes(stage: Stage) -> Mapping[str, psutil.Process]:
    """Those of the installation, without the database's."""
    found = {"master": stage.gateway.process, "sender": stage.sender}
    workers = sorted(stage.gateway.process.children(), key=lambda each: each.pid)
    found |= {f"worker {number}": worker for number, worker in enumerate(workers, start=1)}
    return found | {"waiting": stage.waiting.process.children()[0]}


def _megabytes(paths: Iterable[Path]) -> float:
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6
