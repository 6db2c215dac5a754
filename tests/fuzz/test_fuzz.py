"""A few hundred broken and odd requests to a real gunicorn; `make soak` sends a million."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.everyday import SEED, volume
from tests.fuzz.campaign import Client, Outcome, still_slow
from tests.fuzz.stage import Stage, inconsistencies, stage

INPUTS = volume(5_000, everyday=400)
PAGES = volume(80, everyday=12)
DOORS = {"json", "grpcweb", "raw", "smuggling", "ingest", "pages", "waiting", "stranger", "operator"}


@pytest.fixture(scope="module")
def running(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("fuzz")
    shutil.copy(sqlite_template, folder / "gateway.db")
    with stage(f"sqlite:///{folder / 'gateway.db'}", folder, PAGES) as made:
        yield made


@pytest.mark.slow
def test_some_inputs_to_every_door(running: Stage) -> None:
    workers = set(running.workers())
    client, outcome = Client(running.server.host, running.server.port, SEED, running.world), Outcome()
    for number in range(INPUTS):
        client.send(number, outcome)
    for finding in outcome.findings:
        print(f"input {finding.number} of seed {SEED}: {finding.what}\n{finding.question.raw!r}")
    assert not outcome.findings
    assert {door for door, _ in outcome.statuses} == DOORS
    assert sum(count for (_, status), count in outcome.statuses.items() if status == 200) > INPUTS // 5
    assert sum(outcome.unavailable.values()) <= INPUTS // 100, outcome.unavailable
    assert not still_slow(client, outcome.slow)
    assert set(running.workers()) == set(running.in_use()) == workers
    assert running.log_faults() == []
    client.close()
    assert inconsistencies(running.url) == []
