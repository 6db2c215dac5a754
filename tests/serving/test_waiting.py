"""Waiting requests on a real gunicorn: woken, closed by the client, and answered when the server ends."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path

import pytest

from app.values.codes import TransferHistoryStatus as Status
from app.waiting.register import NETWORKS
from tests.api.shapes import WAIT
from tests.api.world import event
from tests.serving.crowd import connect
from tests.serving.migrated import sqlite_url
from tests.serving.reporting import TOKEN, answer, follow, new_transfer, release, report_events
from tests.serving.server import Server, serving

LIMIT = 30
"""Of one address. That clients are gone is noticed a moment later, so many of them have their own address."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Server]:
    with serving_on(tmp_path_factory.mktemp("waiting"), sqlite_template) as running:
        yield running


def serving_on(folder: Path, template: Path) -> AbstractContextManager[Server]:
    return serving(
        "wsgi:app",
        folder / "log",
        DATABASE_URL=sqlite_url(folder, template),
        DOORS="api,ingest,wait",
        INGEST_TOKENS=TOKEN,
        WAIT_LIMIT=str(NETWORKS * LIMIT),
        WEB_CONCURRENCY="1",
    )


def waiting(server: Server, transfer_id: str, more: str = "", source: str = "127.0.0.1") -> socket.socket:
    wire = connect(server, source)
    request = f"GET {WAIT}?transfer_id={transfer_id}&after_status=1{more} HTTP/1.1\r\nHost: x\r\n\r\n"
    wire.sendall(request.encode())
    return wire


def silent(wire: socket.socket, seconds: float = 0.3) -> bool:
    """Whether nothing comes for so long."""
    wire.settimeout(seconds)
    try:
        wire.recv(1, socket.MSG_PEEK)
    except TimeoutError:
        return True
    finally:
        wire.settimeout(20)
    return False


def test_waiting_requests_are_woken(server: Server) -> None:
    """Their connections stay open."""
    transfer_id = new_transfer(server)
    wires = [waiting(server, transfer_id, source="127.0.0.8") for _ in range(LIMIT)]
    assert silent(wires[0])
    began = time.monotonic()
    release(server, transfer_id)
    for wire in wires:
        response = answer(wire)
        assert (response.status, json.load(response)["status"]) == (200, Status.TRANSFER_COMPLETED)
        assert not response.will_close
        assert response.headers["Content-Type"] == "application/json"
        assert response.headers["Access-Control-Allow-Origin"] == "*"
        assert response.headers["Cache-Control"] == "no-store"
    assert time.monotonic() - began < 2, "long before their timeouts"
    for wire in wires:
        wire.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert json.load(answer(wire)) == {"err": None}
        wire.close()


def test_pipelined_request_follows_the_wait(server: Server) -> None:
    transfer_id = new_transfer(server)
    wire = waiting(server, transfer_id)
    wire.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert silent(wire)
    release(server, transfer_id)
    both = b"".join(iter(lambda: wire.recv(65536), b""))
    waited, _, healthy = both.partition(b"}HTTP/1.1 200 OK\r\n")
    assert waited.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b'"status":5' in waited
    assert healthy.endswith(b'\r\n\r\n{"err":null}')
    wire.close()


def test_connection_closes_at_clients_request(server: Server) -> None:
    transfer_id = new_transfer(server)
    wire = waiting(server, transfer_id, "&timeout=1")
    other = socket.create_connection((server.host, server.port), timeout=20)
    request = f"GET {WAIT}?transfer_id={transfer_id}&after_status=1&timeout=1 HTTP/1.0\r\n\r\n"
    other.sendall(request.encode())
    assert json.load(answer(wire))["status"] == Status.TRANSFER_SUBMITTING
    response = answer(other)
    assert json.load(response)["status"] == Status.TRANSFER_SUBMITTING
    assert response.will_close
    assert other.recv(1) == b""
    wire.close()


CROWDED = "127.0.0.9"


def test_closed_wait_releases_place_of_caller(server: Server) -> None:
    transfer_id = new_transfer(server)
    wires = [waiting(server, transfer_id, source=CROWDED) for _ in range(LIMIT)]
    assert silent(wires[-1])
    refused = answer(waiting(server, transfer_id, source=CROWDED))
    assert (refused.status, refused.headers["X-Gateway-Reason"]) == (429, "rate_limited")
    assert int(refused.headers["Retry-After"]) > 0
    for wire in wires:
        wire.close()
    end = time.monotonic() + 10
    while not silent(wire := waiting(server, transfer_id, source=CROWDED), 0.2):
        wire.close()
        assert time.monotonic() < end
    wire.close()


def events(wire: socket.socket) -> Iterator[dict[str, str]]:
    """The events of a stream, as a browser reads them."""
    response = answer(wire)
    assert response.headers["Content-Type"] == "text/event-stream; charset=utf-8"
    fields: dict[str, str] = {}
    while line := response.readline():
        name, _, value = line.decode().rstrip("\n").partition(": ")
        if name:
            fields[name] = value
        elif "data" in fields:
            yield fields
            fields = {}


def test_stream_reports_and_resumes(server: Server) -> None:
    transfer_id = new_transfer(server)
    wire = follow(server, f"transfer_id={transfer_id}")
    stream = events(wire)
    first = next(stream)
    assert first["event"] == "transfer.status"
    document = json.loads(first["data"])
    assert document["type"] == "transfer.status"
    assert document["data"] == {
        "transfer_id": transfer_id, "status": 1, "previous_status": 0, "refund_reason": 0,
        "seq": int(first["id"]),
    }  # fmt: skip
    report_events(server, event("transfer.confirmed", transfer_id=transfer_id))
    second = next(stream)
    assert json.loads(second["data"])["data"]["status"] == Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION
    wire.close()
    release(server, transfer_id)
    third = next(events(follow(server, f"transfer_id={transfer_id}", second["id"])))
    data = json.loads(third["data"])["data"]
    assert (data["previous_status"], data["status"]) == (
        Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION,
        Status.TRANSFER_COMPLETED,
    )


def test_ending_server_answers_waiting_requests(tmp_path: Path, sqlite_template: Path) -> None:
    with serving_on(tmp_path, sqlite_template) as running:
        transfer_id = new_transfer(running)
        wire, other = waiting(running, transfer_id), follow(running, f"transfer_id={transfer_id}")
        stream = events(other)
        next(stream)
        assert silent(wire)
        began = time.monotonic()
        assert running.stop() == 0
        assert time.monotonic() - began < 10
        response = answer(wire)
        assert (response.status, json.load(response)["status"], response.will_close) == (
            200,
            Status.TRANSFER_SUBMITTING,
            True,
        )
        with suppress(ConnectionResetError):
            assert list(stream) == []
