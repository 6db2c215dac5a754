"""Streams that are far behind, on a real gunicorn: they wait for each other, and others do not wait."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from app.waiting.queries import MOST_OF_ACCOUNT
from tests.amounts import few_or_many
from tests.api.world import event, released, sent
from tests.applications import application
from tests.serving.migrated import sqlite_url
from tests.serving.reporting import answer, follow
from tests.serving.server import Server, serving

TRANSFER = "0x" + "5a" * 32
EVENTS = 2_500
BUSY = "0x" + "77" * 20
PROBE_SECONDS = 1.0
TRIES = 3
FEW, MANY = 16, 100
MOST_OPENED_AGAIN = {FEW: 0, MANY: 50}
"""By the number of streams."""


def story() -> list[dict[str, Any]]:
    """A transfer whose status a reporter changes without bounds."""
    statuses = (
        event("network.status", timedelta(seconds=-9000 + n), transfer_id=TRANSFER, xfer_status=1 + n % 4)
        for n in range(EVENTS)
    )
    return [sent(TRANSFER), *({**each, "id": f"status {n}"} for n, each in enumerate(statuses))]


def busy() -> list[dict[str, Any]]:
    """An account with as many transfers as one stream reports at once."""
    found = []
    for transfer_id in (f"0x{n:064x}" for n in range(1, MOST_OF_ACCOUNT // 4 + 1)):
        found += [
            sent(transfer_id, sender=BUSY, receiver=BUSY),
            event("transfer.confirmed", transfer_id=transfer_id),
            event("network.status", transfer_id=transfer_id, xfer_status=2),
            released(transfer_id, timedelta(seconds=5)),
        ]
    return found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("pasts")
    url = sqlite_url(folder, sqlite_template)
    events = [*story(), *busy()]
    lines = "".join(json.dumps(each) + "\n" for each in events)
    with application(url) as app:
        ingested = app.test_cli_runner().invoke(args=["events", "ingest", "-"], input=lines)
    assert json.loads(ingested.stdout)["accepted"] == len(events), ingested.output
    with serving(
        "wsgi:app", folder / "log", DATABASE_URL=url, DOORS="api,wait", WAIT_LIMIT="1000"
    ) as running:
        yield running


def probe(server: Server, slowest: list[float], over: threading.Event) -> None:
    while not over.is_set():
        began = time.monotonic()
        response = server.request("POST", f"/v2/getTransferStatus?transfer_id={TRANSFER}")
        response.read()
        slowest.append(time.monotonic() - began)
        time.sleep(0.05)


def first_change(
    server: Server, wire: socket.socket, query: str, behind: str
) -> tuple[socket.socket, Any, int]:
    """What the stream sends first, and how often it had to be opened again.

    One that waits over 3 s for a connection, because of all the others, is ended.
    """
    for again in range(TRIES):
        wire.settimeout(120)
        lines = iter(answer(wire).readline, b"")
        change = next((line for line in lines if line.startswith(b"data: ")), None)
        if change is not None:
            return wire, json.loads(change[6:]), again
        wire.close()
        time.sleep(2)  # as the stream says: retry
        wire = follow(server, query, behind)
    raise AssertionError("the stream sends nothing")


@pytest.mark.parametrize("streams", few_or_many(FEW, MANY))
@pytest.mark.parametrize(
    ("query", "behind"),
    [(f"transfer_id={TRANSFER}", "0"), (f"account={BUSY}", str(EVENTS + 2))],
    ids=["transfer", "account"],
)
def test_long_streams_delay_nobody(server: Server, query: str, behind: str, streams: int) -> None:
    over, took, opened_again = threading.Event(), list[float](), 0
    prober = threading.Thread(target=probe, args=(server, took, over))
    prober.start()
    try:
        wires = [follow(server, query, behind) for _ in range(streams)]
        for number, wire in enumerate(wires):
            wires[number], first, again = first_change(server, wire, query, behind)
            assert first["type"] == "transfer.status"
            opened_again += again
        while len(took) < 4:  # all of them may have come sooner
            time.sleep(0.05)
    finally:
        over.set()
        prober.join()
    for wire in wires:
        wire.close()
    assert max(took) < PROBE_SECONDS, sorted(took)[-5:]
    assert opened_again <= MOST_OPENED_AGAIN[streams]
