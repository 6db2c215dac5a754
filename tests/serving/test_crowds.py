"""Thousands wait for a transfer on one worker: what each request takes, and how fast others are answered."""

from __future__ import annotations

import resource
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from app.waiting.register import NETWORKS
from tests.api.shapes import WAIT
from tests.metrics.counted import value
from tests.serving.crowd import slowest_answer
from tests.serving.migrated import sqlite_url
from tests.serving.reporting import TOKEN, answer, new_transfer, release
from tests.serving.server import Server
from tests.serving.watched import watched

WAITERS = 5_000
MOST_KIB = 25
SLOW_SECONDS = 5.0
"""Where those who wait held up others, these waited for 20 s and longer."""


@pytest.mark.slow
def test_waiting_requests_take_little_memory(tmp_path: Path, sqlite_template: Path) -> None:
    soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, WAITERS + 500), most))
    settings = {
        "DATABASE_URL": sqlite_url(tmp_path, sqlite_template),
        "DOORS": "api,ingest,wait",
        "INGEST_TOKENS": TOKEN,
        "TRUSTED_PROXIES": "1",
        "WAIT_LIMIT": str(WAITERS),
        "WEB_CONCURRENCY": "1",
    }
    with watched(tmp_path / "log", **settings) as running, ExitStack() as stack:
        warmed_up = new_transfer(running.server)
        first = [_waiting(running.server, stack, warmed_up, number) for number in range(100)]
        release(running.server, warmed_up)
        assert {answer(wire).status for wire in first} == {200}
        for wire in first:
            wire.close()
        running.until(lambda series: value(series, "gateway_waiters") == 0)
        transfer_id, (worker,) = new_transfer(running.server), running.workers
        before = worker.memory_info().rss
        wires = [_waiting(running.server, stack, transfer_id, number) for number in range(WAITERS)]
        running.until(lambda series: value(series, "gateway_waiters") == WAITERS)
        each = (worker.memory_info().rss - before) / WAITERS / 1024
        slowest = slowest_answer(running.server, 1.0)
        print(f"{each:.1f} KiB for each waiting request, slowest answer meanwhile {slowest:.3f} s")
        release(running.server, transfer_id)
        assert {answer(wire).status for wire in wires} == {200}
    assert each <= MOST_KIB
    assert slowest < SLOW_SECONDS


def _waiting(server: Server, stack: ExitStack, transfer_id: str, number: int) -> socket.socket:
    """A request that waits, from one of a few networks: each may have only so many places."""
    wire = stack.enter_context(socket.create_connection((server.host, server.port), timeout=30))
    request = f"GET {WAIT}?transfer_id={transfer_id}&after_status=1&timeout=30 HTTP/1.1\r\nHost: x\r\n"
    wire.sendall(f"{request}X-Forwarded-For: 198.51.100.{number % NETWORKS}\r\n\r\n".encode())
    return wire
