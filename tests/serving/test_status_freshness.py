"""What another process commits is answered within 250 ms, though statuses come from memory meanwhile."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from app.network.document import import_network
from app.waiting.cached_rows import ENOUGH
from tests.actors import TESTER
from tests.applications import editing_of
from tests.builders import network as build
from tests.databases import empty_tables
from tests.everyday import volume
from tests.feed.services.world import about, feed, network, released, sent, transfer_id
from tests.postgres import gateway_on
from tests.serving.server import serving

COMMITS = volume(10_000, 100)
OLDEST = 0.25
"""Seconds after a commit from which nobody gets the answer of before."""

STATUS = "/v2/getTransferStatus"


class Client:
    """One connection, so one process, which is asked often enough to follow the journal."""

    def __init__(self, connection: HTTPConnection) -> None:
        self._connection = connection
        self.old = 0

    def status(self, n: int) -> int:
        body = json.dumps({"transfer_id": transfer_id(n)})
        self._connection.request("POST", STATUS, body, {"Content-Type": "application/json"})
        return int(json.load(self._connection.getresponse())["status"])

    def wait_for(self, n: int, status: int, committed: float) -> None:
        """Ask until the new status comes: in time, and from then on always."""
        while (asked := monotonic()) and self.status(n) != status:
            self.old += 1
            assert asked - committed <= OLDEST, f"old, {asked - committed:.3f} s after the commit"
        assert [self.status(n) for _ in range(3)] == [status] * 3


@pytest.mark.soak("a server, and hundreds of commits")
@pytest.mark.parametrize("kind", ["postgresql", "sqlite"])
def test_foreign_commit_is_answered_in_time(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    on_server = kind == "postgresql"
    url = str(request.getfixturevalue("postgres_url")) if on_server else f"sqlite:///{tmp_path}/gateway.db"
    with gateway_on(url) as app, serving("wsgi:app", tmp_path / "log", DATABASE_URL=url) as server:
        import_network(*editing_of(app), build.text(network()), actor=TESTER)
        client = Client(server.connect())
        for _ in range(2 * ENOUGH):
            client.status(1)
        for commit in range(COMMITS):
            n, step = divmod(commit, len(_STEPS))
            event, status = _STEPS[step]
            feed(app, event(n + 1))
            client.wait_for(n + 1, status, monotonic())
            sleep(0.001)
    if on_server:
        empty_tables(url)
    assert client.old, "no status came from memory, so nothing was tried"


def _confirmed(n: int) -> dict[str, Any]:
    return about(n, "transfer.confirmed")


_STEPS = ((sent, 1), (_confirmed, 3), (released, 5))
