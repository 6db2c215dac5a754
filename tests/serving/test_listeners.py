"""The small listeners answer whoever asks, however many others are slow, silent or wait for an answer."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPConnection

import pytest

from serving.side import listeners
from serving.side.listeners import Answer, Listener


class Door:
    """A listener with an answer that comes at once and one that waits until it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.begun = threading.Semaphore(0)
        answers = {"/now": lambda: Answer(200, b"now", {"X-Of": "us"}), "/later": self._later}
        self.listener = Listener(socket.create_server(("127.0.0.1", 0)), answers, most=4)
        self.listener.serve()

    def _later(self) -> Answer:
        self.begun.release()
        self.go.wait(20)
        return Answer(200, b"later")

    def connect(self) -> socket.socket:
        return socket.create_connection(self.listener.server_address, timeout=10)

    def get(self, path: str) -> tuple[int, bytes]:
        connection = HTTPConnection(*self.listener.server_address, timeout=20)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()


@pytest.fixture
def door() -> Iterator[Door]:
    found = Door()
    yield found
    found.go.set()
    found.listener.shutdown()
    found.listener.server_close()


def test_who_is_silent_has_to_leave_when_others_come_and_the_newest_may_go_on(door: Door) -> None:
    with ExitStack() as stack:
        silent = [stack.enter_context(door.connect()) for _ in range(7)]
        assert door.get("/now") == (200, b"now")
        assert silent[0].recv(10) == b""
        silent[-1].sendall(b"GET /now HTTP/1.0\r\n\r\n")
        assert b" 200 OK\r\nX-Of: us\r\n" in silent[-1].recv(1000)


def test_who_waits_for_an_answer_does_not_have_to_leave(door: Door) -> None:
    with ExitStack() as stack:
        waiting = []
        for _ in range(6):
            waiting.append(stack.enter_context(door.connect()))
            waiting[-1].sendall(b"GET /later HTTP/1.0\r\n\r\n")
            assert door.begun.acquire(timeout=10)
        assert door.get("/now") == (200, b"now")
        door.go.set()
        for each in waiting:
            assert each.makefile("rb").read().endswith(b"\r\n\r\nlater")


def test_more_than_can_be_answered_are_turned_away(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listeners, "MOST_ANSWERED", 2)
    with ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(door.connect()).sendall(b"GET /later HTTP/1.0\r\n\r\n")
            assert door.begun.acquire(timeout=10)
        assert door.get("/now")[0] == 503


def test_a_silent_client_is_left_alone_in_the_end(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listeners._Handler, "timeout", 0.1)
    with door.connect() as silent:
        assert silent.recv(10) == b""


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /nothing HTTP/1.1\r\n\r\n", b"404"),
        (b"BREW /now HTTP/1.1\r\n\r\n", b"501"),
        (b"GET /<script> HTTP/1.1\r\n\r\n", b"404"),
        (b"G\x00T / HTTP/1.1\r\n\r\n", b"501"),
        (b"GET / HTTP/7\r\n\r\n", b"400"),
        (b"GET /" + b"A" * 70_000 + b" HTTP/1.1\r\n\r\n", b"414"),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n", b"431"),
    ],
)
def test_what_cannot_be_answered_is_refused_without_repeating_it(
    door: Door, sent: bytes, status: bytes
) -> None:
    with door.connect() as client:
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        said = client.recv(4096)
    assert said.split()[1] == status
    for part in (b"script", b"BREW", b"AAAA", b"A: b"):
        assert part not in said
    assert door.get("/now") == (200, b"now")
