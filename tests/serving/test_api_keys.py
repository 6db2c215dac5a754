"""A real gunicorn with two workers: keys count at once, and end at once in all workers."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

from flask import Flask

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
from tests.serving.migrated import sqlite_url
from tests.serving.server import UNLIMITED, Server, serving

ESTIMATE = "/v2/estimateAmt?src_chain_id=1&dst_chain_id=56&token_symbol=USDT&amt=1&slippage_tolerance=3000"
MAX_AGE = 1.0
HEADERS = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")


@contextmanager
def console(url: str) -> Iterator[Flask]:
    """Another process, where administrators make and revoke keys."""
    app = create_app(make_settings(url))
    with app.app_context():
        yield app
        close_connections()


def get(server: Server, key: str) -> tuple[int, HTTPResponse, dict[str, Any]]:
    """A request on a connection of its own, so that either worker may take it."""
    response = server.request("GET", ESTIMATE, {"Authorization": f"Bearer {key}"})
    return response.status, response, json.loads(response.read())


def call(server: Server, key: str) -> HTTPResponse:
    """The same interface by gRPC-Web, the key in its metadata."""
    headers = {"Content-Type": "application/grpc-web+proto", "authorization": f"Bearer {key}"}
    response = server.request("POST", "/sgn.gateway.v1.Web/GetTransferConfigs", headers, bytes(5))
    response.read()
    return response


def test_workers_apply_and_count_keys(tmp_path: Path, sqlite_template: Path) -> None:
    """What they counted, of keys and estimates, is written when they end."""
    url = sqlite_url(tmp_path, sqlite_template)
    with (
        console(url) as app,
        serving(UNLIMITED, tmp_path / "log", DATABASE_URL=url, CONFIG_MAX_AGE_SECONDS=str(MAX_AGE)) as server,
    ):
        limited, free, wallet = (
            issue(*editing_of(app), new_key(name, ("read",), limit), actor=TESTER).text
            for name, limit in (("limited", "1000/hour"), ("free", ""), ("wallet", "10/hour"))
        )
        time.sleep(MAX_AGE)  # a worker may have read the keys just before
        began = day_of(system_clock())
        for _ in range(12):
            status, response, body = get(server, limited)
            assert (status, body["err"]["code"]) == (200, 500)
            assert response.headers["RateLimit-Limit"] == "1000"
            status, response, _ = get(server, free)
            assert status == 200
            assert not any(name in response.headers for name in HEADERS)
            assert call(server, limited).headers["RateLimit-Limit"] == "1000"
        with reading(part_of(app, Database).engine) as connection:
            ids = {row.name: row.id for row in valid_keys(connection)}
        revoke_key(*audited_of(app), "limited", actor=TESTER)
        time.sleep(MAX_AGE)
        for _ in range(12):
            status, response, body = get(server, limited)
            assert (status, response.headers["X-Gateway-Reason"]) == (401, "unauthorized")
            assert call(server, limited).headers["grpc-status"] == "16"
            assert get(server, free)[0] == 200
        passed = assert_limited_by_each_worker(server, wallet)
        assert (uses(url), estimates(url)) == ({}, []), "nothing is written for a request"
        assert server.stop() == 0
    log = (tmp_path / "log").read_text()
    assert estimates(url) == [(500, "chain_unknown", 3 * 12 + passed)], log
    if began == day_of(system_clock()):
        counted = {"limited": (24, 0), "free": (24, 0), "wallet": (30, 30 - passed)}
        assert uses(url) == {(ids[name], began): numbers for name, numbers in counted.items()}, log


def assert_limited_by_each_worker(server: Server, key: str) -> int:
    """Each worker counts for itself in memory: between them they pass the limit of ten once or twice.

    Returns how many of 30 requests were passed.
    """
    answers = [get(server, key) for _ in range(30)]
    passed = [status for status, _, _ in answers].count(200)
    assert passed in range(10, 21)
    for status, response, _ in answers:
        assert status in {200, 429}
        assert int(response.headers["RateLimit-Remaining"]) <= 9
        assert (response.headers["Retry-After"] is None) == (status == 200)
    return passed


def select(url: str, statement: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        return connection.execute(statement).fetchall()


def uses(url: str) -> dict[tuple[int, int], tuple[int, int]]:
    """Requests, and those that were limited, by key and day."""
    rows = select(url, "SELECT api_key_id, day, requests, limited FROM api_key_uses")
    return {(key, day): (int(requests), int(limited)) for key, day, requests, limited in rows}


def estimates(url: str) -> list[tuple[int, str, int]]:
    """Code, reason and number of the refused ones."""
    rows = select(url, "SELECT code, reason, sum(count) FROM estimate_counts GROUP BY code, reason")
    return [(code, reason, int(count)) for code, reason, count in rows]
