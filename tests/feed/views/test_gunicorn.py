"""A real gunicorn with two workers takes the feed."""

from __future__ import annotations

import gzip
import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import create_engine, text

from app.db.database import Database
from app.db.engine import writing
from app.feed.services.ingest import BATCH
from app.http.application import part_of
from tests.applications import application
from tests.feed.services.world import sent
from tests.feed.views.kit import EVENTS, NDJSON, TOKEN, bearer, ndjson
from tests.serving.migrated import sqlite_url
from tests.serving.server import Server, serving


@dataclass(frozen=True, slots=True)
class Feed:
    """A server, its database and its log."""

    server: Server
    url: str
    log: Path

    def count(self, like: str) -> int:
        """Acceptances of ids like this."""
        engine = create_engine(self.url)
        with engine.connect() as connection:
            query = text("SELECT count(*) FROM events WHERE event_id LIKE :like")
            found = connection.scalar(query, {"like": like})
        engine.dispose()
        return int(found)


@pytest.fixture(scope="module")
def feed(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Feed]:
    folder = tmp_path_factory.mktemp("feed")
    url, log = sqlite_url(folder, sqlite_template), folder / "log"
    with serving("tests.feed.views.probe:app", log, DATABASE_URL=url, INGEST_TOKENS=TOKEN) as server:
        yield Feed(server, url, log)


def events(name: str, count: int) -> list[dict[str, Any]]:
    return [sent(n) | {"id": f"{name}-{n}"} for n in range(count)]


def post(connection: HTTPConnection, body: Any, token: str = TOKEN, **headers: str) -> tuple[int, Any]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    chunked = not isinstance(body, bytes)
    connection.request(
        "POST", EVENTS, body, {"Content-Type": NDJSON} | bearer(token) | named, encode_chunked=chunked
    )
    response = connection.getresponse()
    return response.status, json.load(response)


def test_chunked_and_compressed_are_accepted(feed: Feed) -> None:
    lines = ndjson(*events("chunked", 50)).splitlines(keepends=True)
    connection = feed.server.connect()
    assert post(connection, iter(lines))[1]["accepted"] == 50
    packed = gzip.compress(b"".join(lines))
    answer = post(connection, iter([packed[:100], packed[100:]]), Content_Encoding="gzip")[1]
    assert answer == {"accepted": 0, "repeated": 50, "refused": []}
    assert post(connection, packed, Content_Encoding="gzip")[1] == answer
    status, answer = post(connection, b"nonsense")
    assert (status, [refusal["line"] for refusal in answer["refused"]]) == (200, [1])
    connection.close()


HEAD = f"POST {EVENTS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: {NDJSON}\r\n"


def send_raw(feed: Feed, *, framing: str, body: bytes, close: bool) -> bytes:
    """Send a request that is broken on the wire; what comes back."""
    with socket.create_connection((feed.server.host, feed.server.port), timeout=20) as wire:
        wire.sendall((HEAD + framing + "\r\n\r\n").encode() + body)
        if close:
            wire.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := wire.recv(65536):
            answer += piece
            if answer.endswith(b"}"):
                break
        return answer


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def test_broken_uploads_leave_nothing_partial(feed: Feed) -> None:
    body = ndjson(*events("broken", 30))
    chunked, length = "Transfer-Encoding: chunked", f"Content-Length: {len(body)}"
    answers = [
        send_raw(feed, framing=length, body=body[:-5], close=True),
        send_raw(feed, framing=length, body=b"", close=True),
        send_raw(feed, framing=chunked, body=chunk(body)[:-100], close=True),
        send_raw(feed, framing=chunked, body=chunk(body), close=True),  # no last chunk
        send_raw(feed, framing=chunked, body=chunk(body) + b"zz\r\n", close=False),
        send_raw(feed, framing=chunked, body=chunk(body)[:-2] + b"XX0\r\n\r\n", close=False),
    ]
    for answer in answers:
        assert answer.startswith(b"HTTP/1.1 400 "), answer
        assert b"X-Gateway-Reason: bad_request" in answer
        assert b'{"err":{"code":500,"msg":"body: ended early' in answer
    assert feed.count("broken-%") == 0
    connection = feed.server.connect()
    assert post(connection, body)[1]["accepted"] == 30
    connection.close()
    assert "Traceback" not in feed.log.read_text()


def test_silent_upload_leaves_other_reporters_undelayed(feed: Feed) -> None:
    """Its socket stays open and silent; others report meanwhile."""
    reported = ndjson(*events("silent", BATCH + 100))
    with ThreadPoolExecutor(1) as pool:
        started = time.monotonic()
        framing = f"Content-Length: {len(reported) + 1}"
        silent = pool.submit(send_raw, feed, framing=framing, body=reported, close=False)
        time.sleep(0.2)
        connection = feed.server.connect()
        assert post(connection, ndjson(*events("meanwhile", 5)))[0] == 200
        connection.close()
        answer = silent.result()
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert time.monotonic() - started < 15
    assert feed.count("silent-%") == BATCH  # the whole batches that came


def test_operator_precedes_waiting_reporters(feed: Feed) -> None:
    """On SQLite, which lets anybody go next, this went well by chance once in five times."""
    connections = [feed.server.connect() for _ in range(4)]

    def count_first(app: Flask) -> int:
        with writing(part_of(app, Database).engine):
            return feed.count("later-%")

    with application(feed.url) as app, ThreadPoolExecutor(5) as pool:
        for turn in range(4):
            with writing(part_of(app, Database).feed):
                bodies = [ndjson(*events(f"later-{turn}-{n}", 1)) for n in range(4)]
                posts = [pool.submit(post, *each) for each in zip(connections, bodies, strict=True)]
                time.sleep(0.5)  # until all of them wait
                first = pool.submit(count_first, app)
                time.sleep(0.3)
            assert first.result() == 4 * turn, "a reporter wrote first"
            assert [each.result()[0] for each in posts] == [200] * 4
    for connection in connections:
        connection.close()
