"""Broken and odd requests to every interface of a real gunicorn: it refuses them and stays well."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.databases import BACKENDS
from tests.fuzz.campaign import Client, send_all
from tests.fuzz.target import inconsistencies, running_target
from tests.serving.migrated import migrated

FEW, MANY = 250, 500_000
INTERFACES = {
    "json", "grpcweb", "raw", "smuggling", "ingest", "pages", "waiting", "stranger", "operator",
}  # fmt: skip
PROCESSES = 6
WARM_UP = 125_000
"""Inputs after which a worker's memory should no longer grow."""

PAGES = {FEW: 20, MANY: 80}
"""Pages of the console that inputs are made from, at most."""

GROWTH_BYTES = 16_000_000
REPEATED = 100
"""Slow inputs that are sent again."""


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty, migrated database."""
    with migrated(request, request.param, tmp_path) as found:
        yield found


CASES = [
    pytest.param("sqlite", FEW, id="few"),
    *(pytest.param(backend, MANY, id=f"many-{backend}", marks=pytest.mark.slow) for backend in BACKENDS),
]


@pytest.mark.parametrize(("url", "inputs"), CASES, indirect=["url"])
def test_gateway_survives_odd_requests(url: str, tmp_path: Path, inputs: int) -> None:
    with running_target(url, tmp_path, PAGES[inputs]) as target:
        host, port = target.server.host, target.server.port
        workers = target.workers()
        outcome = send_all(host, port, target.corpus, range(min(inputs, WARM_UP)), PROCESSES)
        warm = target.in_use()
        outcome.add(send_all(host, port, target.corpus, range(WARM_UP, inputs), PROCESSES))
        in_use = target.in_use()
        for finding in outcome.findings[:20]:
            print(f"input {finding.number}: {finding.fault}\n{finding.input.raw[:2000]!r}")
        assert not outcome.findings
        assert {interface for interface, _ in outcome.statuses} == INTERFACES
        assert sum(n for (_, status), n in outcome.statuses.items() if status == 200) > inputs // 5
        assert sum(outcome.unavailable.values()) <= inputs // 1000 + 4, outcome.unavailable
        client = Client(host, port, target.corpus)
        assert not client.still_slow(outcome.slow[:REPEATED])
        client.close()
        assert target.workers() == set(in_use) == workers
        assert {
            pid: in_use[pid] - warm[pid] for pid in workers if in_use[pid] - warm[pid] > GROWTH_BYTES
        } == {}
        assert target.log_faults() == []
    assert inconsistencies(url) == []
