"""One client must not stop the process: slow, large and malformed requests against a real gunicorn."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from urllib.parse import urlencode

import psutil
import psycopg
import pytest
from sqlalchemy import create_engine, make_url

from tests.feed.views.kit import EVENTS, NDJSON, TOKEN
from tests.serving.crowd import connect, slow_clients, slowest_answer
from tests.serving.migrated import migrated
from tests.serving.server import Server, serving

WRITERS_KEY = 0x67617465
"""The writer's lock in PostgreSQL (docs/decisions/0002-one-writer.md)."""

SIGN_IN = "/admin/sign-in"
SIGN_INS = 10
"""That fail at once."""

SLOW_SECONDS = 5.0
"""Where clients held up others, these waited for 20 s and longer, otherwise for hundredths."""


@pytest.fixture(scope="module")
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An empty, migrated database: SQLite, unless a test names another."""
    backend = getattr(request, "param", "sqlite")
    with migrated(request, backend, tmp_path_factory.mktemp("attacked")) as found:
        yield found


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("log") / "log"


@pytest.fixture(scope="module")
def server(url: str, log: Path) -> Iterator[Server]:
    """Two workers."""
    with serving("wsgi:app", log, DATABASE_URL=url, INGEST_TOKENS=TOKEN) as running:
        slowest_answer(running, 0.2)  # both workers are up
        yield running


def exchange(server: Server, *pieces: bytes) -> bytes:
    """Send these bytes on a new connection; all that comes back until the server closes or is done."""
    with connect(server) as wire:
        try:
            for piece in pieces:
                wire.sendall(piece)
            wire.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it closed while we were still sending
        answer = b""
        try:
            while not _complete(answer) and (piece := wire.recv(65536)):
                answer += piece
        except OSError:
            pass
        return answer


def _complete(answer: bytes) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", head)
    return bool(end) and length is not None and len(body) >= int(length[1])


def test_connections_come_out_even(server: Server) -> None:
    """One worker took all of 16. A busy machine may wake one too late for some, so more may be needed."""
    workers = server.workers(2)
    connections, held = list[HTTPConnection](), [0]
    while len(connections) < 64 and (len(connections) < 16 or min(held) < len(connections) / 3):
        connections.append(server.connect())
        connections[-1].request("GET", "/healthz")
        assert connections[-1].getresponse().read() and connections[-1].sock, "it stays open"
        held = [sum(each.status == "ESTABLISHED" for each in one.net_connections()) for one in workers]
    for each in connections:
        each.close()
    assert min(held) >= len(connections) / 3, held


def test_slow_clients_hold_up_nobody(server: Server) -> None:
    """The gateway answered 2 of 16 probes while 20 such clients were there; here are 400."""
    with slow_clients(server, silent=200, dripping=200):
        assert slowest_answer(server, 2.0) < SLOW_SECONDS


FORM = "Content-Type: application/x-www-form-urlencoded\r\n"
INTERFACES = {
    "public": ("/v2/getTransferStatus", "Content-Type: application/json\r\n", b"400"),
    "grpcweb": (
        "/sgn.gateway.v1.Web/GetTransferStatus",
        "Content-Type: application/grpc-web+proto\r\n",
        b"200",
    ),
    "ingest": (EVENTS, f"Content-Type: {NDJSON}\r\nAuthorization: Bearer {TOKEN}\r\n", b"400"),
    "console": (SIGN_IN, FORM, b"400"),
}
MALFORMED = {
    "negative": b"-1\r\nx\r\n0\r\n\r\n",
    "prefixed": b"0x5\r\nhello\r\n0\r\n\r\n",
    "underscored": b"1_0\r\nhello\r\n0\r\n\r\n",
    "extended": b"5;" + b"x" * 70_000 + b"\r\nhello\r\n0\r\n\r\n",
    "unfinished": b"5\r\nhel",
}


@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize("chunks", MALFORMED)
def test_malformed_chunks_are_a_bad_request(server: Server, log: Path, interface: str, chunks: str) -> None:
    path, headers, status = INTERFACES[interface]
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\n{headers}Transfer-Encoding: chunked\r\n\r\n"
    logged = len(log.read_text())
    with connect(server) as wire:
        wire.sendall(head.encode() + MALFORMED[chunks])
        if chunks == "unfinished":
            wire.shutdown(1)
        answer = wire.recv(65536)
    assert answer.startswith(b"HTTP/1.1 " + status), answer
    if interface == "grpcweb":
        assert b"grpc-status: 3" in answer.lower(), answer
    assert "Traceback" not in log.read_text()[logged:]


def spent(workers: list[psutil.Process]) -> float:
    """The seconds of a processor that they have used."""
    return sum(sum(worker.cpu_times()[:2]) for worker in workers)


@contextmanager
def bodies_of_tiny_chunks(server: Server, count: int) -> Iterator[list[psutil.Process]]:
    """So many clients send bodies in chunks of one byte, as fast as they are read by the workers."""
    workers = psutil.Process(server.process.pid).children()
    before, until = spent(workers), time.monotonic() + 20
    command = [sys.executable, "-m", "tests.serving.tiny_chunks", server.host, str(server.port), str(count)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as clients:
        while spent(workers) - before < 0.5:
            assert time.monotonic() < until, "the clients are not read"
            time.sleep(0.05)
        yield workers
        clients.terminate()


def test_tiny_chunks_hold_up_nobody(server: Server) -> None:
    """They take longer to parse than to arrive, so their reader never waited: health took up to 4 s.

    What the workers do before they answer is counted, so that other processes change nothing. The median was
    0.3 to 0.5 s of time with the reader's turns and 2.4 to 3.4 s without, in which both workers were busy.
    """
    costs = []
    with bodies_of_tiny_chunks(server, 8) as workers:
        for _ in range(9):
            before = spent(workers)
            assert server.request("GET", "/healthz").status == 200
            costs.append(spent(workers) - before)
    assert median(costs) < 2.5, costs


def test_malformed_requests_do_not_fill_the_log(server: Server, log: Path) -> None:
    """Each of them left a line of up to 8 kB, whichever client sent it."""
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: exchange(server, b"\x01" * 4000 + b"\r\n\r\n"), range(300)))
    assert all(answer.startswith(b"HTTP/1.1 400 ") for answer in answers)
    logged = [line for line in log.read_text().splitlines() if "Invalid request from ip=" in line]
    assert 1 <= len(logged) <= 4, "one a minute of each worker"
    assert all(len(line) < 500 for line in logged)


def post(path: str, headers: str, length: int) -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {length}\r\n\r\n".encode()


@contextmanager
def little_memory(server: Server) -> Iterator[None]:
    """What is done here takes no worker more than 32 MB, and none of them a second of its processor."""
    workers = psutil.Process(server.process.pid).children()
    before = [(worker.memory_info().rss, spent([worker])) for worker in workers]
    yield
    for worker, (rss, seconds) in zip(workers, before, strict=True):
        assert worker.memory_info().rss - rss < 32 << 20
        assert spent([worker]) - seconds < 1


@pytest.mark.parametrize("path", [SIGN_IN, "/admin/anomalies/", "/admin/blocked/", "/admin/network/"])
def test_forms_of_strangers_are_small(server: Server, path: str) -> None:
    """20 MB of ``a&`` took a gigabyte and seven seconds before the sender's name was checked."""
    body = b"a&" * (10 << 20)
    with little_memory(server):
        answer = exchange(server, post(path, FORM, len(body)), body)
    assert not answer or answer.split()[1] in (b"302", b"400", b"404", b"405", b"413"), answer[:200]


def test_form_has_few_fields(server: Server) -> None:
    body = b"a&" * 30_000  # within the bytes that a stranger may send
    answer = exchange(server, post(SIGN_IN, FORM, len(body)), body)
    assert answer.startswith(b"HTTP/1.1 413 "), answer[:200]


@pytest.mark.parametrize("interface", INTERFACES)
def test_endless_body_is_cut_off(server: Server, interface: str) -> None:
    path, headers, _ = INTERFACES[interface]
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\n{headers}Transfer-Encoding: chunked\r\n\r\n".encode()
    chunk = b"10000\r\n" + b"a" * 65_536 + b"\r\n"
    with little_memory(server):
        answer = exchange(server, head, *[chunk] * 160)
    assert not answer or answer.split()[1] in (b"200", b"400", b"413"), answer[:200]
    assert slowest_answer(server, 0.1) < SLOW_SECONDS


def test_form_route_does_not_parse_json(server: Server) -> None:
    deep = b'{"email":' * 5_000 + b"1" + b"}" * 5_000
    for body in (deep, b'{"email":{},"password":{}}', b"[]"):
        answer = exchange(server, post(SIGN_IN, "Content-Type: application/json\r\n", len(body)), body)
        assert answer.split()[1] in (b"415", b"429"), answer[:200]


@contextmanager
def writer_elsewhere(url: str) -> Iterator[None]:
    """Another process holds the writer's lock."""
    if url.startswith("sqlite"):
        engine = create_engine(url)
        with engine.connect() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield
        engine.dispose()
    else:
        with psycopg.connect(make_url(url).set(drivername="postgresql").render_as_string(False)) as holder:
            holder.execute("SELECT pg_advisory_xact_lock(%s)", [WRITERS_KEY])
            yield
            holder.rollback()


def test_failed_sign_ins_do_not_await_feed(server: Server, url: str) -> None:
    """20 of them kept health from answering for 27 seconds while another session held the writer's lock."""
    fail_to_sign_in(server, url)


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_failed_sign_ins_do_not_await_feed_on_postgresql(server: Server, url: str) -> None:
    fail_to_sign_in(server, url)


def fail_to_sign_in(server: Server, url: str) -> None:
    """Many do at once, while another process holds the writer's lock."""

    def sign_in(number: int) -> tuple[int, str | None, float]:
        connection = server.connect()
        connection.request("GET", SIGN_IN)
        page = connection.getresponse()
        cookie, text = page.headers["Set-Cookie"].split(";")[0], page.read().decode()
        token = text.split('name="csrf_token"')[1].split('value="')[1].split('"')[0]
        fields = {"email": f"nobody{number}@example.org", "password": "wrong", "csrf_token": token}
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": cookie}
        began = time.monotonic()
        connection.request("POST", SIGN_IN, urlencode(fields), headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status, answer.headers["Retry-After"], time.monotonic() - began

    with writer_elsewhere(url), ThreadPoolExecutor(SIGN_INS) as pool:
        answers = [pool.submit(sign_in, number) for number in range(SIGN_INS)]
        assert slowest_answer(server, 1.0) < SLOW_SECONDS
        signed_in = [answer.result() for answer in answers]
    for status, retry, seconds in signed_in:
        assert (status, retry) in ((503, "1"), (200, None)), signed_in
        assert seconds < 12
    assert any(status == 503 for status, _, _ in signed_in)
