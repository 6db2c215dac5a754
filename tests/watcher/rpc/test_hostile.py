"""Whatever a node sends, the watcher stays small and in time: real bytes, and the peak of a real process."""

from __future__ import annotations

import gzip
import itertools
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest

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


def cases(kinds: dict[str, Any], *everyday: str) -> list[Any]:
    """The kinds of a test, of which a few run everyday."""
    minutes = pytest.mark.slow
    return [kind if kind in everyday else pytest.param(kind, marks=minutes) for kind in kinds]


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


def asked(url: str, question: str, seconds: str = "30") -> tuple[float, int, str]:
    """How long it took, the peak in MB, and what came of it."""
    command = [sys.executable, "-m", "tests.watcher.rpc.asking", url, question, seconds]
    out = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=True, timeout=60).stdout
    took, peak, said = out.strip().split("|", 2)
    return float(took), int(peak), said


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
    "one wide text": (
        lambda: whole(filled(WIDE, 5 * MIB // 2)),
        "Garbled",
    ),
    "as many arrays as are read": (lambda: whole(filled(b"[],", 330_000)), "Garbled"),
    "as many objects as are read": (lambda: whole(filled(b'{"a":1},', 480_000)), "Garbled"),
    "as many logs as are read": (lambda: whole(many_logs(3_600_000)), "Incomplete"),
}


@pytest.mark.parametrize("kind", cases(ANSWERS, "objects"))
def test_the_watcher_stays_small(kind: str) -> None:
    pieces, outcome = ANSWERS[kind]
    with node(pieces) as url:
        _, peak, said = asked(url, "logs")
    assert said.startswith(outcome)
    assert peak < MOST_MEGABYTES


SLOW: dict[str, Callable[[], Pieces]] = {
    "headers": lambda: slowly(HEAD, b"X: y\r\n"),
    "first line": lambda: slowly(b"HTTP", b""),
    "in advance": lambda: slowly(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    "body": lambda: slowly(HEAD + b"\r\n", b" "),
    "sizes of chunks": lambda: slowly(HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;", b"x"),
}


@pytest.mark.parametrize("kind", cases(SLOW, "body"))
def test_a_deadline_is_kept_whatever_is_slow(kind: str) -> None:
    with node(SLOW[kind]) as url:
        took, _, said = asked(url, "head", "1")
    assert said.startswith("Slow: no")
    assert took < 3


@pytest.mark.slow
def test_a_head_is_no_list_of_logs() -> None:
    with node(lambda: whole(b" " * 3 * MIB + filled(b"1,", 100))) as url:
        _, _, said = asked(url, "head")
    assert "larger than 64 KiB" in said
