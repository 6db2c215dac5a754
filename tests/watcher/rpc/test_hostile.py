"""Whatever a node sends, the watcher stays small and in time: real bytes, and the peak of a real process."""

from __future__ import annotations

import gzip
import itertools
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

MOST_MEGABYTES = 200
MIB = 1 << 20
Pieces = Iterator[bytes]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

LOG = (
    b'{"address":"0x%b","topics":["0x%b"],"data":"0x","blockNumber":"0x5","blockHash":"0x%b",'
    b'"transactionHash":"0x%b","transactionIndex":"0x0","logIndex":"0x%x"},'
)


def endless(body: bytes, times: int) -> Pieces:
    """The body so many times over, without a length."""
    yield HEAD + b"Connection: close\r\n\r\n"
    for _ in range(times):
        yield body


def whole(body: bytes, headers: bytes = b"") -> Pieces:
    yield HEAD + headers + b"Content-Length: %d\r\n\r\n" % len(body)
    yield body


def filled(part: bytes, size: int) -> bytes:
    """An answer to two calls whose first result is full of one thing, in so many bytes."""
    end = b'0]},{"id":2,"result":null}]'
    start = b'[{"id":1,"result":['
    return start + part * ((size - len(start) - len(end)) // len(part)) + end


def many_logs(size: int) -> bytes:
    logs = b"".join(LOG % (b"11" * 20, b"22" * 32, b"33" * 32, b"44" * 32, n) for n in range(size // 400))
    return filled(logs, len(logs) + 60).replace(b",0]}", b"]}", 1)


def slowly(beginning: bytes, piece: bytes) -> Pieces:
    yield beginning
    while True:
        time.sleep(0.05)
        yield piece


@contextmanager
def node(pieces: Callable[[], Pieces]) -> Iterator[str]:
    """A server that reads requests and sends what it likes; its URL."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                wire, _ = listener.accept()
            except OSError:
                return
            with wire, suppress(OSError):
                wire.recv(65536)
                for piece in pieces():
                    wire.sendall(piece)
                wire.shutdown(socket.SHUT_WR)
                while wire.recv(65536):  # closed with something unread, the connection would be reset
                    pass

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    finally:
        listener.close()


REQUESTS = """
import re, sys, time
from pathlib import Path
from app.cli import watch  # all that a watcher has in memory
from app.values.identifiers import BlockNumber, ChainId
from app.watcher.rpc.client import Client
from app.watcher.rpc.faults import RpcFault
from app.watcher.rpc.node import Node, Wanted

what, seconds, *urls = sys.argv[1:]
for url in urls:
    node, began = Node("RPC_URL_TEST", ChainId(1), Client(url, seconds=float(seconds))), time.monotonic()
    try:
        if what == "logs":
            node.logs(Wanted((bytes(20),), (bytes(32),)), BlockNumber(1), BlockNumber(9))
        else:
            node.look(None, finalized=False)
        came = "no fault"
    except RpcFault as fault:
        came = f"{type(fault).__name__}: {fault}"
    print(f"{time.monotonic() - began:.1f}|{came}")
# Not ru_maxrss, which begins with what the parent had.
print(int(re.findall(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[0]) // 1024)
"""
"""Requests logs or a head of each URL; prints what came of it, and the most memory that all of it took."""


def requested(what: str, seconds: int, kinds: Iterable[Callable[[], Pieces]]) -> tuple[list[list[str]], int]:
    """Of each kind the seconds that it took and what came of it, and the peak of the process in MB."""
    with ExitStack() as stack:
        urls = [stack.enter_context(node(pieces)) for pieces in kinds]
        command = [sys.executable, "-c", REQUESTS, what, str(seconds), *urls]
        done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=True, timeout=300)
    *lines, peak = done.stdout.splitlines()
    return [line.split("|", 1) for line in lines], int(peak)


LARGE = 7 * MIB
WIDE = '"\N{GRINNING FACE}'.encode() + b"x" * 2 * MIB + b'",'


@cache
def bomb() -> bytes:
    """3.5 kB, of which 192 MB come out."""
    return gzip.compress(gzip.compress(b"[" + b"[]," * (64 * MIB)))


ANSWERS: dict[str, tuple[Callable[[], Pieces], str]] = {
    "compressed twice": (lambda: whole(bomb(), b"Content-Encoding: gzip, gzip\r\n"), "Garbled"),
    "compressed": (lambda: whole(gzip.compress(b"[]"), b"Content-Encoding: gzip\r\n"), "Garbled"),
    "compressed, unknown": (lambda: whole(b"x", b"Content-Encoding: secret\r\n"), "Garbled"),
    "arrays without end": (lambda: endless(b"[]," * 20_000, 1_100), "TooLarge"),
    "spaces without end": (lambda: endless(b" " * 65_536, 1_024), "TooLarge"),
    "an error without end": (
        lambda: itertools.chain([b"HTTP/1.1 500 No\r\n\r\n"], itertools.repeat(b"x" * 65_536, 2_000)),
        "Unreachable: HTTP 500",
    ),
    "headers without end": (
        lambda: itertools.repeat(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 9_999, 500),
        "Unr",
    ),
    "arrays": (lambda: whole(filled(b"[],", LARGE)), "TooLarge"),
    "objects": (lambda: whole(filled(b'{"a":1},', LARGE)), "TooLarge"),
    "texts": (lambda: whole(filled(b'"",', LARGE)), "TooLarge"),
    "numbers": (lambda: whole(filled(b"1e9,", LARGE)), "TooLarge"),
    "arrays in arrays": (lambda: whole(filled(b"[[[[[[]]]]]],", LARGE)), "TooLarge"),
    "one wide text": (lambda: whole(filled(WIDE, 5 * MIB // 2)), "Garbled"),
    "as many arrays as are read": (lambda: whole(filled(b"[],", 330_000)), "Garbled"),
    "as many objects as are read": (lambda: whole(filled(b'{"a":1},', 480_000)), "Garbled"),
    "as many logs as are read": (lambda: whole(many_logs(3_600_000)), "Incomplete"),
}


def test_watcher_stays_small_with_any_answer() -> None:
    found, peak = requested("logs", 30, [pieces for pieces, _ in ANSWERS.values()])
    came = {kind: came for kind, (_, came) in zip(ANSWERS, found, strict=True)}
    assert {
        kind: came[kind] for kind, (_, fault) in ANSWERS.items() if not came[kind].startswith(fault)
    } == {}
    assert peak < MOST_MEGABYTES


SLOW: dict[str, Callable[[], Pieces]] = {
    "headers": lambda: slowly(HEAD, b"X: y\r\n"),
    "first line": lambda: slowly(b"HTTP", b""),
    "in advance": lambda: slowly(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    "body": lambda: slowly(HEAD + b"\r\n", b" "),
    "sizes of chunks": lambda: slowly(HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;", b"x"),
}


def test_deadline_ends_any_slow_answer() -> None:
    found, _ = requested("head", 1, SLOW.values())
    assert [came for _, came in found if not came.startswith("Slow: no")] == []
    assert max(float(seconds) for seconds, _ in found) < 5


def test_list_of_logs_is_refused_as_a_head() -> None:
    [[_, came]], _ = requested("head", 30, [lambda: whole(b" " * 3 * MIB + filled(b"1,", 100))])
    assert "larger than 64 KiB" in came
