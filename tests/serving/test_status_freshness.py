"""What another process commits is in each answer that is requested afterwards."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from app.network.document import import_network
from tests.actors import TESTER
from tests.amounts import few_or_many
from tests.applications import editing_of
from tests.builders import network as build
from tests.databases import empty_tables
from tests.feed.services.world import about, feed, network, released, sent, transfer_id
from tests.postgres import gateway_on
from tests.serving.migrated import sqlite_url
from tests.serving.server import serving


def status(connection: HTTPConnection, n: int) -> int:
    body = json.dumps({"transfer_id": transfer_id(n)})
    connection.request("POST", "/v2/getTransferStatus", body, {"Content-Type": "application/json"})
    return int(json.load(connection.getresponse())["status"])


@pytest.mark.parametrize("commits", few_or_many(30, 10_000))
@pytest.mark.parametrize("kind", ["postgresql", "sqlite"])
def test_foreign_commit_is_answered_at_once(
    kind: str, commits: int, request: pytest.FixtureRequest, tmp_path: Path, sqlite_template: Path
) -> None:
    on_server = kind == "postgresql"
    url = str(request.getfixturevalue("postgres_url")) if on_server else sqlite_url(tmp_path, sqlite_template)
    with (
        gateway_on(url) as app,
        serving("wsgi:app", tmp_path / "log", DATABASE_URL=url, WEB_CONCURRENCY="1") as server,
    ):
        import_network(*editing_of(app), build.text(network()), actor=TESTER)
        client = server.connect()
        for commit in range(commits):
            n, step = divmod(commit, len(_STEPS))
            event, expected = _STEPS[step]
            feed(app, event(n + 1))
            assert status(client, n + 1) == expected
    if on_server:
        empty_tables(url)


def _confirmed(n: int) -> dict[str, Any]:
    return about(n, "transfer.confirmed")


_STEPS = ((sent, 1), (_confirmed, 3), (released, 5))
