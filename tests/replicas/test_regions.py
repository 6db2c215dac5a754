"""A gateway far from the primary: how old its answers are, and what writing costs from there.

This holds what docs/scaling.md#regions promises, with 75 ms each way. ``-s`` prints the figures.
"""

from __future__ import annotations

import base64
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from msgspec import Struct
from sqlalchemy import make_url

from app.values.codes import TransferHistoryStatus as Status
from tests.api.shapes import ASK, STATUS, WAIT
from tests.api.world import event
from tests.load.requests import estimate_requests, status_requests, write_requests
from tests.load.steady import GOOD, steady_load
from tests.refunds.requesting import withdraw_req
from tests.replicas.cluster import cluster
from tests.replicas.conftest import eventually, fill
from tests.replicas.distance import distance
from tests.serving.reporting import TOKEN, answer, follow, new_transfer, release, report_events
from tests.serving.server import Server, serving

pytestmark = [pytest.mark.slow, pytest.mark.postgresql]

AWAY = 0.075
"""Seconds from the primary to the far region, each way."""

FRESH = 0.25
"""Seconds after a commit on its replica from which a gateway answers by it
(docs/interface/progress.md#progress).
"""

SLACK = 1.0
"""What a busy machine adds."""

RATE = 10
"""Reads a second: few, so that none waits for another."""

LATE = "the gateway cannot reach its database: try again in a moment"
OFTEN = "too many refund requests: one for each transfer is enough"


class Regions(Struct, frozen=True):
    """A gateway next to the primary, and one for callers far away. Each has a replica next to it."""

    near: Server
    far: Server
    folder: Path


@pytest.fixture(scope="module")
def regions() -> Iterator[Regions]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gw-")))
        servers = stack.enter_context(cluster(folder, replicas=2))
        fill(servers)
        url = make_url(servers.primary.url)
        port = stack.enter_context(distance(f"{url.query['host']}/.s.PGSQL.5432", AWAY))
        near_replica, far_replica = servers.replicas
        far_replica.run(
            f"ALTER SYSTEM SET primary_conninfo = 'host=127.0.0.1 port={port} user=postgres'",
            "SELECT pg_reload_conf()",
        )
        eventually(lambda: far_replica.run("SELECT sender_port FROM pg_stat_wal_receiver") == port)
        far_url = url.set(host="127.0.0.1", port=port, query={}).render_as_string(hide_password=False)
        shared = {"WEB_CONCURRENCY": "1", "INGEST_TOKENS": TOKEN}
        near = stack.enter_context(
            serving("wsgi:app", folder / "near", DATABASE_URL=servers.primary.url,
                    DATABASE_REPLICA_URL=near_replica.url, DOORS="api,grpcweb,ingest,wait", **shared)
        )  # fmt: skip
        far = stack.enter_context(
            serving("wsgi:app", folder / "far", DATABASE_URL=far_url,
                    DATABASE_REPLICA_URL=far_replica.url, DOORS="api,grpcweb,wait", **shared)
        )  # fmt: skip
        running = Regions(near, far, folder)
        for server in (near, far):
            eventually(partial(is_fresh, running, server))
        yield running


def is_fresh(regions: Regions, server: Server) -> bool:
    """Whether the gateway has its configuration, and reads from its replica."""
    status(server, "0x" + "5".zfill(64))
    log = (regions.folder / ("near" if server is regions.near else "far")).read_text()
    return server.request("GET", "/readyz").status == 200 and "the replica is up to date" in log


def post(server: Server, path: str, body: Any) -> tuple[Any, Any]:
    """The document and the headers of an answer."""
    response = server.request("POST", path, body=json.dumps(body))
    return json.load(response), response.headers


def status(server: Server, transfer_id: str) -> int:
    return int(post(server, STATUS, {"transfer_id": transfer_id})[0]["status"])


def seconds_until(happens: Callable[[], bool]) -> float:
    """How long it takes until something is seen that is looked for all the time."""
    began = time.monotonic()
    eventually(happens, 0.01)
    return time.monotonic() - began


def written(times: Sequence[float]) -> str:
    """Median, 99th percentile and most, in milliseconds."""
    ordered = sorted(times)
    parts = (ordered[int(part * (len(ordered) - 1))] for part in (0.5, 0.99, 1))
    return " / ".join(f"{1000 * each:.0f}" for each in parts)


@contextmanager
def reported(server: Server) -> Iterator[list[float]]:
    """A reporter next to the primary posts a send ten times a second; how long each answer took."""
    ended, times = Event(), list[float]()

    def report() -> None:
        while not ended.wait(0.1):
            began = time.monotonic()
            new_transfer(server)
            times.append(time.monotonic() - began)

    with ThreadPoolExecutor(1) as thread:
        working = thread.submit(report)
        try:
            yield times
        finally:
            ended.set()
        working.result()


def test_distant_reads_stay_local(regions: Regions) -> None:
    ids = [new_transfer(regions.near) for _ in range(200)]
    file = write_requests(status_requests(ids) + estimate_requests(100), regions.folder / "requests")
    medians = []
    for name, server in (("near", regions.near), ("far", regions.far)):
        with reported(regions.near), steady_load(server.port, RATE, file, regions.folder) as seen:
            time.sleep(60)
        assert {each.outcome for each in seen} == {GOOD}
        times = [each.seconds for each in seen]
        waited = sum(each > 2 * AWAY for each in times) / len(times)
        print(f"reads {name}: {written(times)} ms, {waited:.1%} took over {2 * AWAY} s")
        medians.append(statistics.median(times))
    near, far = medians
    assert far < near + AWAY, "a round trip takes twice as long"


def test_commit_is_visible_far_away_on_arrival(regions: Regions) -> None:
    for name, server, way in (("near", regions.near, 0.0), ("far", regions.far, AWAY)):
        times = []
        for _ in range(100):
            transfer_id = new_transfer(regions.near)
            times.append(seconds_until(lambda: status(server, transfer_id) == Status.TRANSFER_SUBMITTING))  # noqa: B023
        print(f"commit until seen {name}: {written(times)} ms")
        assert statistics.median(times) < way + FRESH + SLACK
    assert min(times) > AWAY / 2, "the distance is there"


def test_distant_answers_show_their_age(regions: Regions) -> None:
    transfer_id = new_transfer(regions.near)
    for name, server in (("near", regions.near), ("far", regions.far)):
        eventually(lambda: status(server, transfer_id) == Status.TRANSFER_SUBMITTING)  # noqa: B023
        ages = []
        with reported(regions.near):
            time.sleep(2)
            for _ in range(200):
                _, headers = post(server, STATUS, {"transfer_id": transfer_id})
                as_of = datetime.fromisoformat(headers["X-Transfer-As-Of"])
                ages.append((datetime.now(UTC) - as_of).total_seconds())
                time.sleep(0.07)
        print(f"age by X-Transfer-As-Of {name}: {written(ages)} ms")
        assert statistics.median(ages) < 1 + AWAY + SLACK, "a second in memory, the way, and a report"


def test_distant_waiter_is_answered_after_commit(regions: Regions) -> None:
    polls, streams = [], []
    for _ in range(30):
        transfer_id = new_transfer(regions.near)
        eventually(lambda: status(regions.far, transfer_id) == Status.TRANSFER_SUBMITTING)  # noqa: B023
        with ThreadPoolExecutor(2) as threads:
            wait = threads.submit(polled, regions.far, f"{WAIT}?transfer_id={transfer_id}&after_status=1")
            stream = threads.submit(streamed, regions.far, transfer_id)
            time.sleep(0.5)
            release(regions.near, transfer_id)
            committed = time.monotonic()
            polls.append(wait.result() - committed)
            streams.append(stream.result() - committed)
    print(f"commit until a long poll far: {written(polls)} ms, a stream: {written(streams)} ms")
    assert AWAY / 2 < statistics.median(polls) < AWAY + FRESH + SLACK
    assert AWAY / 2 < statistics.median(streams) < AWAY + FRESH + SLACK


def polled(server: Server, path: str) -> float:
    """When the status 5 was answered."""
    response = server.request("GET", path)
    assert json.load(response)["status"] == Status.TRANSFER_COMPLETED
    return time.monotonic()


def streamed(server: Server, transfer_id: str) -> float:
    """When a stream had the status 5."""
    wire = follow(server, f"transfer_id={transfer_id}")
    response = answer(wire)
    while b'"status":5' not in response.readline():
        pass
    wire.close()
    return time.monotonic()


def test_refund_can_be_requested_far_away(regions: Regions) -> None:
    """It crosses the distance some times, with the writer's turn for a part of it."""
    taken, seen, late = [], [], 0
    with reported(regions.near) as reports:
        time.sleep(2)
        before = list(reports)
        for _ in range(20):
            transfer_id = refundable(regions.near)
            request = base64.b64encode(withdraw_req(transfer_id)).decode()
            body = {"withdraw_req": request, "estimated_received_amt": "1", "method_type": 1}
            seconds, times_late = requested(regions.far, body)
            taken.append(seconds)
            late += times_late
            seen.append(
                seconds_until(lambda: status(regions.far, transfer_id) == Status.TRANSFER_REQUESTING_REFUND)  # noqa: B023
            )
    print(f"refund requested far: {written(taken)} ms, seen there after {written(seen)} ms more, {late} late")
    print(f"reports next to the primary: {written(before)} ms before, {written(reports)} ms meanwhile")
    assert late <= len(taken) / 2, "most are answered at once"
    assert 4 * AWAY < statistics.median(taken) < 5
    assert statistics.median(seen) < AWAY + FRESH + SLACK


def requested(server: Server, body: dict[str, Any]) -> tuple[float, int]:
    """How long the answer took that accepts a refund request, and how many before it were late.

    Where that takes over 5 s, or ten were sent in a minute, it is sent again when the refusal says so.
    """
    late = 0
    while True:
        began = time.monotonic()
        document, headers = post(server, ASK, body)
        taken = time.monotonic() - began
        if document["err"] is None:
            return taken, late
        assert document["err"]["msg"] in {LATE, OFTEN}
        late += document["err"]["msg"] == LATE
        time.sleep(int(headers["Retry-After"]))


def refundable(server: Server) -> str:
    """A transfer at status 6."""
    transfer_id = new_transfer(server)
    report_events(server, event("network.status", transfer_id=transfer_id, xfer_status=4))
    return transfer_id
