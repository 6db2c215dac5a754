"""A primary that is stopped with SIGSTOP: its connections stay open and nothing is answered."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.replicas.cluster import Cluster
from tests.serving.server import Server, serving

REQUESTS_SECONDS = 5.0
READY_SECONDS = 2.0
SLACK_SECONDS = 1.0
"""What a busy machine adds to both. Without a deadline they wait until the primary goes on."""

UNKNOWN = "0x" + "ab" * 32
ESTIMATE = "/v2/estimateAmt?src_chain_id=1&dst_chain_id=56&token_symbol=USDT&amt={}&slippage_tolerance=3000"
LATENCY = "/v2/getLatest7DayTransferLatencyForQuery?src_chain_id=1&dst_chain_id=56"
EACH = 12
"""Requests of each kind at once: more than the worker has connections."""


@pytest.fixture(scope="module", params=["without", "with"])
def server(
    servers: Cluster, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    settings = {"DATABASE_URL": servers.primary.url, "HEALTH_PORT": "0", "WEB_CONCURRENCY": "1"}
    if request.param != "without":
        settings["DATABASE_REPLICA_URL"] = servers.replica.url
    with serving("wsgi:app", tmp_path_factory.mktemp("frozen") / "log", **settings) as running:
        yield running


def send(server: Server, method: str, path: str, body: str = "") -> tuple[int, dict[str, Any], float]:
    """Status, content and seconds of one answer on a connection of its own."""
    began = time.monotonic()
    response = server.request(method, path, body=body or None, seconds=60)
    return response.status, json.load(response), time.monotonic() - began


def ready(server: Server) -> tuple[int, dict[str, Any], float]:
    return send(server, "GET", "/readyz")


@pytest.mark.postgresql
def test_frozen_primary_delays_as_documented(
    servers: Cluster, server: Server, request: pytest.FixtureRequest
) -> None:
    for _ in range(5):
        assert ready(server)[0] == 200
        assert send(server, "GET", LATENCY)[0] == 200
    with servers.primary.hanging(), ThreadPoolExecutor(3 * EACH + 1) as pool:
        for _ in range(2):  # with the connections of before, and with those that are opened since
            sent = []
            for number in range(EACH):
                body = json.dumps({"transfer_id": UNKNOWN[:-2] + f"{number:02x}"})
                sent.append(pool.submit(send, server, "POST", "/v2/getTransferStatus", body))
                sent.append(pool.submit(send, server, "GET", ESTIMATE.format(10**9 + number)))
                sent.append(pool.submit(send, server, "GET", LATENCY))
            checks = [pool.submit(ready, server).result() for _ in range(3)]
            answers = [each.result() for each in sent]
            print(f"slowest answer {max(each[2] for each in answers):.1f} s, ", end="")
            print(f"slowest check {max(each[2] for each in checks):.1f} s")
            assert max(seconds for *_, seconds in answers) < REQUESTS_SECONDS + SLACK_SECONDS
            for status, content, _ in answers:
                assert status in (200, 503), content
                assert status == 200 or content["err"]["code"] == 500
            if request.node.callspec.params["server"] != "without":
                assert {status for status, *_ in answers} == {200}
            assert {check[0] for check in checks} == {503}
            assert max(check[2] for check in checks) < READY_SECONDS + SLACK_SECONDS
    end = time.monotonic() + 30
    while ready(server)[0] != 200:
        assert time.monotonic() < end, "it was never ready again"
    assert send(server, "GET", LATENCY)[0] == 200
