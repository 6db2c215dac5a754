"""The body as a stream: bounded in every direction, broken in every way, never held as a whole."""

from __future__ import annotations

import gzip
import json
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.db.database import Database
from app.db.engine import writing
from app.feed import views as limits
from app.feed.lines import MAX_LINE_BYTES
from app.feed.services import ingest
from tests.feed.services.world import event, sent
from tests.feed.views.kit import (
    EVENTS,
    NDJSON,
    TOKEN,
    bearer,
    logged,
    ndjson,
    post,
    post_gzip,
    refused,
    verdict,
)

GZIP = {"Content-Encoding": "gzip"}
MEGABYTE = 1 << 20


def sends(count: int) -> bytes:
    return ndjson(*(sent(n) for n in range(count)))


class Source:
    """What a server hands over as the body: pieces, and then the end or an error."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.pieces = pieces
        self.rest = b""

    def read(self, size: int) -> bytes:
        assert 0 < size <= MEGABYTE, "a bounded piece must be read"
        self.rest = self.rest or next(self.pieces, b"")
        piece, self.rest = self.rest[:size], self.rest[size:]
        return piece


def post_stream(
    client: FlaskClient,
    pieces: Iterator[bytes],
    headers: dict[str, str] | None = None,
    length: int | None = None,
    token: str = TOKEN,
) -> Any:
    """Post a body that comes piece by piece: chunked where its length is not declared."""
    declared = {} if length is None else {"CONTENT_LENGTH": str(length)}
    return client.post(
        EVENTS,
        content_type=NDJSON,
        headers=bearer(token) | (headers or {}),
        environ_overrides={"wsgi.input": Source(pieces), "wsgi.input_terminated": True} | declared,
    )


def in_pieces(body: bytes, size: int) -> Iterator[bytes]:
    return (body[start : start + size] for start in range(0, len(body), size))


def test_gzip_body_is_accepted(client: FlaskClient, app: Flask) -> None:
    assert verdict(post_gzip(client, sends(3)))["accepted"] == 3
    answer = verdict(post(client, gzip.compress(sends(4)), headers={"Content-Encoding": "X-GZIP"}))
    assert answer == {"accepted": 1, "repeated": 3, "refused": []}
    assert verdict(post(client, sends(5), headers={"Content-Encoding": "identity"}))["accepted"] == 1
    assert verdict(post_gzip(client, b""))["accepted"] == 0
    assert len(logged(app)) == 5


def test_body_is_never_held_whole(client: FlaskClient) -> None:
    """40 MiB of lines in a few MiB of memory."""
    line = b'{"id": "x", "padding": "' + b"x" * 60_000 + b'"}\n'
    count = 40 * MEGABYTE // len(line)
    packed = gzip.compress(line * count)
    for pieces, headers in ((iter([line] * count), {}), (in_pieces(packed, 4096), GZIP)):
        tracemalloc.start()
        answer = verdict(post_stream(client, pieces, headers))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(answer["refused"]) == count
        assert peak < 8 * MEGABYTE


def test_gzip_bomb_ends_at_the_limit(client: FlaskClient) -> None:
    packer = zlib.compressobj(9, wbits=31)
    of_lines = b"".join(packer.compress(b" " * 60_000 + b"\n") for _ in range(2_000)) + packer.flush()
    assert len(of_lines) < MEGABYTE  # for 114 MiB
    of_one_line = gzip.compress(b" " * 100 * MEGABYTE)
    for bomb in (of_lines, of_one_line):
        tracemalloc.start()
        response = post(client, bomb, headers=GZIP)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        refused(response, 413, "body_too_large")
        assert peak < 8 * MEGABYTE


@pytest.mark.parametrize("packed", [False, True])
def test_too_many_bytes_are_refused(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    body = sends(10)
    wire, headers = (gzip.compress(body), GZIP) if packed else (body, {})
    monkeypatch.setattr(limits, "MAX_BYTES", len(body))
    for response in (post(client, wire, headers=headers), post_stream(client, in_pieces(wire, 99), headers)):
        assert verdict(response)
    monkeypatch.setattr(limits, "MAX_BYTES", len(body) - 1)
    for response in (post(client, wire, headers=headers), post_stream(client, in_pieces(wire, 99), headers)):
        assert "send it in smaller batches" in refused(response, 413, "body_too_large")


def test_refused_body_is_not_read(client: FlaskClient) -> None:
    def never() -> Iterator[bytes]:
        raise AssertionError("the body was read")
        yield b""

    refused(post_stream(client, never(), length=limits.MAX_BYTES + 1), 413, "body_too_large")
    refused(post_stream(client, never(), length=1000, token="wrong"), 401, "unauthorized")
    refused(post_stream(client, never(), {"Content-Encoding": "br"}, 1000), 415, "unsupported_media_type")


def test_too_many_lines_are_refused(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_LINES", 5)
    monkeypatch.setattr(ingest, "BATCH", 2)
    assert verdict(post(client, sends(5)))["accepted"] == 5
    message = refused(post(client, sends(6)), 413, "body_too_large")
    assert message.startswith("the body has more than 5 lines")
    refused(post(client, b"\n" * 6), 413, "body_too_large")


def test_too_long_line_is_refused(client: FlaskClient) -> None:
    longest = event("chain.head", "long", chain_id=1, block=1, note="")
    padding = MAX_LINE_BYTES - len(json.dumps(longest))
    at_limit = json.dumps(longest | {"note": "x" * padding}).encode()
    assert len(at_limit) == MAX_LINE_BYTES
    for end in (b"\n", b"\r\n", b""):
        assert verdict(post(client, at_limit + end))["refused"] == []
        over = at_limit + b" " + end
        message = refused(post(client, sends(2) + over), 413, "line_too_long")
        assert message.startswith("line 3 is longer than 65536 bytes")
    refused(post(client, b"x" * 10 * MEGABYTE), 413, "line_too_long")


OTHER_TYPES = (
    None, "", "application/json", "application/ndjson", "text/plain", "application/x-www-form-urlencoded",
    "application/x-ndjsonx", "multipart/form-data; boundary=x", "x-ndjson",
)  # fmt: skip
OTHER_ENCODINGS = ("br", "deflate", "zstd", "gzip, gzip", "gzip,identity", "compress", "*")


def test_other_types_and_encodings_are_refused(client: FlaskClient, app: Flask) -> None:
    for content_type in OTHER_TYPES:
        message = refused(post(client, sends(1), content_type=content_type), 415, "unsupported_media_type")
        assert "application/x-ndjson" in message
    for encoding in OTHER_ENCODINGS:
        response = post(client, sends(1), headers={"Content-Encoding": encoding})
        assert "gzip" in refused(response, 415, "unsupported_media_type")
    assert logged(app) == []


PACKED = gzip.compress(b"".join(b'{"id": "%d"}\n' % n for n in range(5000)))
BROKEN = {
    "not gzip": sends(1),
    "nothing": b"",
    "half a header": PACKED[:5],
    "cut in the middle": PACKED[: len(PACKED) // 2],
    "cut before the sum": PACKED[:-8],
    "cut in the sum": PACKED[:-1],
    "another sum": PACKED[:-8] + bytes(8),
    "other bytes": PACKED[:2000] + b"\xff\xff\xff\xff" + PACKED[2004:],
    "rest behind it": PACKED + b"rest",
    "half a member behind it": PACKED + PACKED[:100],
    "zlib": zlib.compress(sends(1)),
}


def test_broken_gzip_is_refused(client: FlaskClient) -> None:
    for case, body in BROKEN.items():
        for response in (
            post(client, body, headers=GZIP),
            post_stream(client, in_pieces(body, 1000), GZIP),
        ):
            assert "gzip" in refused(response, 400, "bad_request"), case


class ServersOwn(Exception):
    """Gunicorn's errors for broken chunks are neither OSErrors nor the framework's."""


def test_body_that_breaks_off_is_refused(
    client: FlaskClient, app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "BATCH", 2)

    def breaks_off(error: Exception) -> Iterator[bytes]:
        yield from sends(5).splitlines(keepends=True)
        raise error

    for error in (OSError("reset"), TimeoutError(), ValueError("chunk"), ServersOwn("chunk")):
        message = refused(post_stream(client, breaks_off(error)), 400, "bad_request")
        assert "ended early" in message
        assert "may be sent again" in message
    assert len(logged(app)) == 4  # only whole batches
    assert verdict(post(client, sends(5))) == {"accepted": 1, "repeated": 4, "refused": []}


def test_body_shorter_than_declared_is_refused(client: FlaskClient, app: Flask) -> None:
    """Gunicorn ends it without an error, as if that were all."""
    body = sends(3)
    for given in (b"", body[:-1], body[: len(body) // 2]):
        response = post_stream(client, iter([given]), length=len(body))
        assert "ended early" in refused(response, 400, "bad_request")
    assert logged(app) == []


def test_writers_do_not_wait_for_an_upload(
    client: FlaskClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a line is waited for, others can write."""
    monkeypatch.setattr(ingest, "BATCH", 2)
    turns: list[int] = []

    def slow() -> Iterator[bytes]:
        for line in sends(7).splitlines(keepends=True):
            with writing(database.engine) as connection:  # waits in vain where the turn is not given back
                turns.append(connection.exec_driver_sql("SELECT count(*) FROM events").scalar_one())
            yield line

    assert verdict(post_stream(client, slow()))["accepted"] == 7
    assert turns == [0, 0, 2, 2, 4, 4, 6]


def test_other_methods_are_refused(client: FlaskClient) -> None:
    """A page of another origin that sends a preflight request is not let in."""
    headers = bearer(TOKEN) | {"Origin": "https://example.org", "Access-Control-Request-Method": "POST"}
    for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"):
        response = client.open(EVENTS, method=method, headers=headers)
        assert response.status_code == 405
        assert response.headers["Allow"] == "POST"
        assert not any(name.startswith("Access-Control") for name, _ in response.headers)


def test_interface_can_be_closed(open_interface: Callable[..., FlaskClient]) -> None:
    closed = open_interface(doors=("api", "grpcweb"))
    refused(post(closed, sends(1)), 404, "path_not_found")
    alone = open_interface(doors=("ingest",))
    assert verdict(post(alone, sends(1)))["accepted"] == 1
    assert alone.get("/docs").status_code == 404
    assert alone.get("/readyz").status_code == 200
