"""A real gunicorn behind the shipped nginx: answers are the same, those who wait are answered at once."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.values.codes import TransferHistoryStatus as Status
from tests.api.world import event
from tests.deploy.nginx import OPERATORS, PLACES, Nginx, proxying
from tests.serving.migrated import sqlite_url
from tests.serving.reporting import TOKEN, new_transfer, release, report_events
from tests.serving.server import Server, serving

STATUS = "/v2/getTransferStatus"
pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("gateway")
    with serving(
        "wsgi:app",
        folder / "log",
        DATABASE_URL=sqlite_url(folder, sqlite_template),
        DOORS="api,ingest,wait",
        INGEST_TOKENS=TOKEN,
        TRUSTED_PROXIES="1",
        WEB_CONCURRENCY="1",
    ) as running:
        yield running


@pytest.fixture(scope="module")
def nginx(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nginx]:
    with proxying(tmp_path_factory.mktemp("nginx"), dict.fromkeys(PLACES.values(), server.port)) as running:
        yield running


def test_answer_is_that_of_the_gateway(server: Server, nginx: Nginx) -> None:
    body = json.dumps({"transfer_id": new_transfer(server)}).encode()
    headers = {"Content-Type": "application/json"}
    connection = server.connect()
    connection.request("POST", STATUS, body, headers)
    response, content = nginx.request("POST", STATUS, body, headers)
    assert (response.status, content) == (200, connection.getresponse().read())
    assert response.headers["Strict-Transport-Security"]  # so the gateway knows that it was https


def test_caller_cannot_name_the_path_below_which_it_is(nginx: Nginx) -> None:
    """The gateway would believe its proxy."""
    response, content = nginx.request("GET", "/openapi.json", headers={"X-Forwarded-Prefix": "/forged"})
    assert response.status == 200
    assert json.loads(content)["servers"][0]["url"] == "/"


def test_stream_comes_piece_by_piece(server: Server, nginx: Nginx) -> None:
    transfer_id = new_transfer(server)
    connection = nginx.connect()
    connection.request("GET", f"/v2/transferEvents?transfer_id={transfer_id}")
    stream = connection.getresponse()
    assert stream.headers["Content-Type"].startswith("text/event-stream")

    def status() -> int:
        while not (line := stream.readline()).startswith(b"data: "):
            assert line
        return int(json.loads(line[6:])["data"]["status"])

    assert status() == Status.TRANSFER_SUBMITTING
    for happens, then in (("transfer.confirmed", 3), ("", 5)):
        report_events(server, event(happens, transfer_id=transfer_id)) if happens else release(
            server, transfer_id
        )
        began = time.monotonic()
        assert status() == then
        assert time.monotonic() - began < 3, "nginx holds nothing back"
    connection.close()


def test_waiting_request_is_answered_on_change(server: Server, nginx: Nginx) -> None:
    transfer_id = new_transfer(server)
    connection = nginx.connect()
    connection.request("GET", f"/v2/waitTransferStatus?transfer_id={transfer_id}&after_status=1")
    release(server, transfer_id)
    assert json.load(connection.getresponse())["status"] == Status.TRANSFER_COMPLETED


def test_large_upload_goes_through(nginx: Nginx) -> None:
    """Beyond what the public may send, and beyond nginx's own default; each line is judged."""
    lines = (json.dumps({"no event": "x" * 40}).encode() + b"\n") * 20_000
    assert len(lines) > 1024 * 1024
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/x-ndjson"}
    response, content = nginx.request("POST", "/ingest/v1/events", lines, headers, port=OPERATORS)
    assert response.status == 200, content[:300]
    assert json.loads(content)["accepted"] == 0
