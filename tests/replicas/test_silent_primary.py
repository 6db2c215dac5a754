"""Reads while the primary is silent: with either server they are as fast from the replica as before."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.deploy.files import free_port
from tests.faults_rig.figures import p99
from tests.load.steady import Seen
from tests.replicas.cluster import Cluster
from tests.replicas.conftest import eventually
from tests.serving.server import ROOT, Server, environment, serving

SILENT_SECONDS = 6.0
"""Longer than a read may wait."""
PAUSE_SECONDS = 0.05
MILLISECONDS = 250
"""Fifty are promised where nothing else runs. Reads that wait for the primary take seconds."""

STATUS = json.dumps({"transfer_id": "0x" + "5".zfill(64)})
ESTIMATE = (
    "/v2/estimateAmt?src_chain_id=1&dst_chain_id=56&token_symbol=USDT&amt=1000000&slippage_tolerance=3000"
)
LATENCY = "/v2/getLatest7DayTransferLatencyForQuery?src_chain_id=1&dst_chain_id=56"
READS = (("POST", "/v2/getTransferStatus", STATUS), ("GET", ESTIMATE, ""), ("GET", LATENCY, ""))


@contextmanager
def by_flask(log: Path, **settings: str) -> Iterator[Server]:
    """Flask's own server, which has threads and no greenlets."""
    port = free_port()
    command = [sys.executable, "-m", "flask", "--app", "wsgi", "run", "--port", str(port)]
    with log.open("w") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment(**settings), stdout=output, stderr=output, text=True
        )
    try:
        yield Server(process, "127.0.0.1", port)
    finally:
        process.terminate()
        process.wait(40)


@pytest.fixture(params=["gunicorn", "flask run"])
def server(servers: Cluster, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    settings = {"DATABASE_URL": servers.primary.url, "DATABASE_REPLICA_URL": servers.replica.url}
    settings["WEB_CONCURRENCY"] = "1"
    log = tmp_path / "log"
    is_flask = request.param == "flask run"
    with by_flask(log, **settings) if is_flask else serving("wsgi:app", log, **settings) as running:
        yield running


def read(server: Server, number: int) -> Seen:
    """One of the reads, on a connection of its own."""
    method, path, body = READS[number % len(READS)]
    began, connection = time.monotonic(), server.connect()
    try:
        connection.request(method, path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        response.read()
        return Seen(began, time.monotonic() - began, str(response.status))
    except ConnectionRefusedError:
        return Seen(began, 0, "connection")
    finally:
        connection.close()


def reads(server: Server, seconds: float) -> list[Seen]:
    """What became of the reads of so many seconds, one after the other."""
    end, seen = time.monotonic() + seconds, list[Seen]()
    while time.monotonic() < end:
        seen.append(read(server, len(seen)))
        time.sleep(PAUSE_SECONDS)
    return seen


@pytest.mark.postgresql
def test_silent_primary_slows_no_read(servers: Cluster, server: Server) -> None:
    eventually(lambda: {one.outcome for one in reads(server, 1)} == {"200"})
    before = reads(server, 1)
    with servers.primary.hanging():
        seen = reads(server, SILENT_SECONDS)
    print(f"p99 {p99(before):.0f} ms before, {p99(seen):.0f} ms of {len(seen)} since")
    assert {one.outcome for one in seen} == {"200"}
    assert p99(seen) < MILLISECONDS
