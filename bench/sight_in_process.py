"""What it costs a request to be watched, in one process: over connections it is less than their noise."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from werkzeug.test import create_environ

from app import create_app
from app.logs.batch import MOST, SECONDS
from app.logs.processes import log_to_stderr
from app.metrics.files import begin
from bench.dataset import Question
from bench.duels.in_process import Ask, Case, Cost, asking, costs
from bench.duels.ratios import Bound
from bench.duels.report import Line
from config import Settings

PROCESSES: Final = 6
ROUNDS: Final = 15
"""In each process."""
REQUESTS: Final = 8 * MOST
"""Entries of the log are written ``MOST`` at a time."""


@dataclass(frozen=True, slots=True)
class Watched:
    """What is asked of a gateway, and how it is watched."""

    what: str
    url: str
    """Of a database that can answer the question."""
    question: Question
    sights: Mapping[str, Mapping[str, str]]
    """Settings of the environment by the names of what they switch on."""
    bound: Bound
    """Of the microseconds of the processor that each may take."""


def costs_of_sights(watched: Watched, *, quick: bool = False) -> list[Line]:
    """A line for each sight.

    In some processes one after another: where an application lies in memory costs it or spares it up to 7 µs
    a request for as long as its process lasts, more than some of the sights.
    """
    processes, rounds, requests = (1, 3, 20) if quick else (PROCESSES, ROUNDS, REQUESTS)
    found: list[Cost] = []
    for _ in range(processes):
        # Of its own also because a process chooses once where metrics and traces go.
        with ProcessPoolExecutor(1, get_context("spawn")) as process:
            costs_here = process.submit(_measure, watched, rounds, requests).result()
        found = [a.with_more(b) for a, b in zip(found, costs_here, strict=True)] if found else costs_here
    return [cost.line() for cost in found]


def _measure(watched: Watched, rounds: int, requests: int) -> list[Cost]:
    with tempfile.TemporaryDirectory(prefix="gateway-bench-sight-") as name:
        begin(Path(name)).count_here()
        sys.stderr = (Path(name) / "log").open("w")
        log_to_stderr("json", "INFO")
        plain = _asking(watched, {})
        cases = [
            Case(f"{watched.what}: {name}", watched.bound, _asking(watched, settings))
            for name, settings in watched.sights.items()
        ]
        found = costs(cases, plain, rounds, requests, settled=1.5 * SECONDS)
        require_entries(Path(name) / "log")
    return found


def require_entries(log: Path) -> None:
    """What is not written costs nothing.

    :raises SystemExit: no request was logged.
    """
    if b'"operation":' not in log.read_bytes():
        raise SystemExit(f"requests were not logged: {log.read_text()[-1000:]}")


def _asking(watched: Watched, settings: Mapping[str, str]) -> Ask:
    question = watched.question
    given = {"database_url": watched.url, "secret_key": "bench" * 8, "audit_key": "bench" * 8}
    lower = {name.lower(): value for name, value in settings.items()}
    environ = create_environ(
        question.path,
        method=question.method,
        data=question.body or None,
        content_type="application/json" if question.body else None,
    )
    return asking(create_app(Settings.model_validate(given | lower)), environ, question.body.encode())
