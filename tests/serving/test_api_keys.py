"""A real gunicorn with two workers, on both databases: keys count at once, and end at once everywhere."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import create_engine, text

from app import create_app
from app.credentials.queries import valid_keys
from app.credentials.services.issued import revoke_key
from app.credentials.services.issuing import issue, new_key
from app.db.database import Database
from app.db.engine import reading
from app.http.application import part_of
from app.values.times import day_of, system_clock
from tests.actors import TESTER
from tests.applications import audited_of, close_connections, editing_of, make_settings
from tests.databases import empty_tables
from tests.serving.server import UNLIMITED, Server, serving

LATENCY = "/v2/getLatest7DayTransferLatencyForQuery?src_chain_id=1&dst_chain_id=56"
MAX_AGE = 1.0
HEADERS = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path, backend: str) -> Iterator[str]:
    if backend == "sqlite":
        shutil.copy(request.getfixturevalue("sqlite_template"), tmp_path / "gateway.db")
        yield f"sqlite:///{tmp_path / 'gateway.db'}"
    else:
        url = request.getfixturevalue("postgres_url")
        yield url
        empty_tables(url)


@contextmanager
def console(url: str) -> Iterator[Flask]:
    """Another process, where administrators make and revoke keys."""
    app = create_app(make_settings(url))
    with app.app_context():
        yield app
        close_connections()


def ask(server: Server, key: str) -> tuple[int, HTTPResponse, dict[str, Any]]:
    """A request on a connection of its own, so that either worker may take it."""
    response = server.ask("GET", LATENCY, {"Authorization": f"Bearer {key}"})
    return response.status, response, json.loads(response.read())


def call(server: Server, key: str) -> HTTPResponse:
    """The same door for gRPC-Web, the key in its metadata."""
    connection = HTTPConnection(server.host, server.port, timeout=20)
    headers = {"Content-Type": "application/grpc-web+proto", "authorization": f"Bearer {key}"}
    connection.request("POST", "/sgn.gateway.v1.Web/GetTransferConfigs", bytes(5), headers)
    response = connection.getresponse()
    response.read()
    return response


def test_keys_in_every_worker(url: str, tmp_path: Path) -> None:
    settings = {"CONFIG_MAX_AGE_SECONDS": str(MAX_AGE)}
    with (
        console(url) as app,
        serving(UNLIMITED, tmp_path / "log", DATABASE_URL=url, **settings) as server,
    ):
        limited = issue(*editing_of(app), new_key("limited", ("read",), "1000/hour"), actor=TESTER).text
        free = issue(*editing_of(app), new_key("free", ("read",), ""), actor=TESTER).text
        time.sleep(MAX_AGE)  # a worker may have read the keys just before
        began = day_of(system_clock())
        for _ in range(12):
            status, response, body = ask(server, limited)
            assert (status, body["err"]["code"]) == (200, 500)
            assert response.headers["RateLimit-Limit"] == "1000"
            status, response, _ = ask(server, free)
            assert status == 200
            assert not any(name in response.headers for name in HEADERS)
            assert call(server, limited).headers["RateLimit-Limit"] == "1000"
        with reading(part_of(app, Database).engine) as connection:
            rows = {row.name: row.id for row in valid_keys(connection)}
        revoke_key(*audited_of(app), "limited", actor=TESTER)
        time.sleep(MAX_AGE)
        for _ in range(12):
            status, response, body = ask(server, limited)
            assert (status, response.headers["X-Gateway-Reason"]) == (401, "unauthorized")
            assert "unknown or revoked" in body["err"]["msg"]
            assert call(server, limited).headers["grpc-status"] == "16"
            assert ask(server, free)[0] == 200
        assert uses(url) == {}, "nothing is written for a request"
        assert server.stop() == 0
    if began == day_of(system_clock()):
        counted = {(rows[name], began): (24, 0) for name in ("limited", "free")}
        assert uses(url) == counted, (tmp_path / "log").read_text()


def test_a_limit_of_all_workers_together(url: str, tmp_path: Path) -> None:
    """Each worker counts for itself in memory: between them they let through the limit once or twice."""
    with console(url) as app:
        key = issue(*editing_of(app), new_key("wallet", ("read",), "10/hour"), actor=TESTER).text
    with serving("wsgi:app", tmp_path / "log", DATABASE_URL=url) as server:
        answers = [ask(server, key) for _ in range(30)]
    statuses = [status for status, _, _ in answers]
    assert statuses.count(200) in range(10, 21)
    assert set(statuses) == {200, 429}
    for status, response, _ in answers:
        assert int(response.headers["RateLimit-Remaining"]) <= 9
        assert (response.headers["Retry-After"] is None) == (status == 200)


def uses(url: str) -> dict[tuple[int, int], tuple[int, int]]:
    engine = create_engine(url)
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT api_key_id, day, requests, limited FROM api_key_uses"))
        found = {(row[0], row[1]): (int(row[2]), int(row[3])) for row in rows}
    engine.dispose()
    return found
