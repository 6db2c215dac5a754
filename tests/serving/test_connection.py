"""The deadlines of a connection, without waiting for them."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import gevent.socket
import pytest

from serving import connection as under_test
from serving.connection import (
    BODY_RATE,
    BODY_SECONDS,
    FIRST_BYTE_SECONDS,
    HEAD_SECONDS,
    SEND_SECONDS,
    Connection,
    TooSlow,
)


class Wire:
    """A socket whose client sends a piece each so many seconds, on a clock of its own."""

    def __init__(self, pieces: list[tuple[float, bytes]]) -> None:
        self.now = 1000.0
        self.refused: list[int] = []
        self._pieces = pieces
        self._timeout: float | None = None

    def wait(self, seconds: float) -> None:
        after, data = self._pieces[0]
        self.now += min(after, seconds)
        if after > seconds:
            raise TooSlow
        self._pieces[0] = (0, data)

    def fileno(self) -> int:
        return 0

    def settimeout(self, seconds: float | None) -> None:
        self._timeout = seconds

    def recv(self, _size: int) -> bytes:
        after, data = self._pieces.pop(0)
        assert self._timeout is not None
        self.now += min(after, self._timeout)
        if after > self._timeout:
            raise TimeoutError
        return data

    def sendall(self, data: bytes) -> None:
        assert self._timeout == SEND_SECONDS
        if not self._pieces:
            raise TimeoutError


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """Gives the connection of a client that sends these pieces."""

    def made(*pieces: tuple[float, bytes]) -> tuple[Connection, Wire]:
        wire = Wire(list(pieces))
        monkeypatch.setattr(under_test, "monotonic", lambda: wire.now)
        monkeypatch.setattr("gunicorn.util.write_error", lambda *refused: wire.refused.append(refused[1]))
        monkeypatch.setattr(under_test, "wait_read", lambda _file, seconds, _late: wire.wait(seconds))
        return Connection(wire), wire  # type: ignore[arg-type]

    yield made


def read_until_cut_off(connection: Connection) -> int:
    """The bytes that came before the client was too slow."""
    received = 0
    with pytest.raises(TooSlow):
        while True:
            received += len(connection.recv(8192))
    return received


def test_silent_client_is_cut_off(serve) -> None:
    connection, wire = serve((3600, b"x"))
    connection.await_request(FIRST_BYTE_SECONDS)
    assert read_until_cut_off(connection) == 0
    assert not connection.begun
    assert wire.now == 1000 + FIRST_BYTE_SECONDS
    assert wire.refused == []


def test_head_has_one_overall_deadline(serve) -> None:
    """A byte a second is a sign of life, and no reason to wait for ever."""
    connection, wire = serve(*[(1.0, b"x")] * 100)
    connection.await_request(FIRST_BYTE_SECONDS)
    assert read_until_cut_off(connection) == 1 + HEAD_SECONDS
    assert connection.begun
    assert wire.now == 1000 + 1 + HEAD_SECONDS
    assert wire.refused == [408]


def test_idle_connection_waits_longer(serve) -> None:
    connection, _ = serve((70.0, b"GET"), (HEAD_SECONDS + 1, b""))
    connection.await_request(75)
    assert connection.recv(8192) == b"GET"
    with pytest.raises(TooSlow):
        connection.recv(8192)


def test_body_has_a_least_rate(serve) -> None:
    connection, wire = serve(*[(1.0, b"x")] * 100)
    connection.await_body()
    assert read_until_cut_off(connection) == BODY_SECONDS
    assert wire.now < 1000 + BODY_SECONDS + 1


class Unwanted:
    """The rest of a body, of which the client sends a piece each so many seconds."""

    failed = False

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def read(self, size: int) -> bytes:
        return self._connection.recv(size)


@pytest.mark.parametrize("pieces", [[(0.5, b"x")] * 5, [(0.0, b"x" * 1024)] * 64], ids=["slow", "long"])
def test_little_of_an_unwanted_body_is_read(serve, pieces: list[tuple[float, bytes]]) -> None:
    connection, _ = serve(*pieces)
    connection.await_body()
    with pytest.raises((TooSlow, StopIteration)):
        connection.pass_over(Unwanted(connection))


def test_short_body_is_skipped_broken_one_closes(serve) -> None:
    connection, _ = serve((0.5, b"x" * 1024), (0.5, b"x"), (0.0, b""))
    connection.await_body()
    body = Unwanted(connection)
    connection.pass_over(body)
    body.failed = True
    with pytest.raises(StopIteration):
        connection.pass_over(body)


def test_connection_accepts_long_body_at_least_rate(serve) -> None:
    connection, _ = serve(*[(1.0, b"x" * BODY_RATE)] * 1000)
    connection.await_body()
    for _ in range(1000):
        assert len(connection.recv(8192)) == BODY_RATE


def test_application_time_is_not_the_clients(serve) -> None:
    connection, wire = serve((1.0, b"x"), (1.0, b"y"))
    connection.await_body()
    connection.recv(8192)
    wire.now += 10 * BODY_SECONDS
    assert connection.recv(8192) == b"y"


def test_interface_may_bound_each_wait(serve) -> None:
    """For callers that it knows, such as reporters: they may pause as often as they like."""
    connection, wire = serve(*[(1.5, b"x")] * 100, (5.0, b"x"))
    connection.await_body()
    connection.settimeout(2)
    assert connection.gettimeout() == 2
    assert read_until_cut_off(connection) == 100
    assert wire.now == 1152
    connection.await_request(75)
    assert connection.gettimeout() is None


def test_client_refusing_answer_is_cut_off(serve) -> None:
    connection, _ = serve()
    with pytest.raises(TooSlow):
        connection.sendall(b"answer")


def test_head_is_sent_with_first_piece() -> None:
    sent: list[bytes] = []
    sock: Any = SimpleNamespace(settimeout=lambda _: None, sendall=sent.append)
    connection = Connection(sock)
    for pieces in ((b"head", b"one", b"two"), (b"only a head",)):
        connection.begin_answer()
        for piece in pieces:
            connection.sendall(piece)
        connection.end_answer()
    connection.sendall(b"an error of the server")
    assert sent == [b"headone", b"two", b"only a head", b"an error of the server"]


def test_connection_gives_way_while_reading_body(serve, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, turns = [], []
    connection, wire = serve(*[(0, b"x")] * 60)
    receive = wire.recv

    def noting(size: int) -> bytes:
        sizes.append(size)
        return receive(size)

    monkeypatch.setattr(wire, "recv", noting)
    monkeypatch.setattr(under_test, "give_way", lambda: turns.append(wire.now))
    connection.await_body()
    for _ in range(30):
        connection.recv(1 << 20)
        wire.now += 0.014
    assert set(sizes) == {under_test.LARGEST_PIECE}
    assert len(turns) == 29
    for _ in range(30):
        connection.recv(8192)
        wire.now += 0.00001
    assert len(turns) <= 31


def test_waiting_request_notices_client_leaving() -> None:
    one, other = gevent.socket.socketpair()
    connection = Connection(one)
    assert not connection.has_left()
    other.sendall(b"GET")
    assert not connection.has_left()
    assert one.recv(8192) == b"GET", "what has come stays there"
    other.close()
    assert connection.has_left()
    one.close()
    assert connection.has_left()


def test_loop_waits_before_reading_next_request() -> None:
    """Also one that is there already: then others have their turn, and reading never comes too early."""
    one, other = socket.socketpair()
    turns: list[str] = []
    with closing(Connection(gevent.socket.socket(fileno=one.detach()))) as connection:
        other.sendall(b"GET")
        connection.await_request(FIRST_BYTE_SECONDS)
        assert connection.recv(8192) == b"GET"
        assert connection.waited
        other.sendall(b"GET")
        gevent.spawn(turns.append, "another")
        connection.await_request(FIRST_BYTE_SECONDS)
        assert connection.recv(8192) == b"GET"
        assert connection.waited
        assert turns == ["another"]
        connection.await_request(0.01)
        with pytest.raises(TooSlow):
            connection.recv(8192)
    other.close()


def test_busy_time_does_not_shorten_wait() -> None:
    """The loop's own time stands still meanwhile; a wait counted from there would be over at once."""
    one, other = socket.socketpair()
    with closing(Connection(gevent.socket.socket(fileno=one.detach()))) as connection:
        for _ in range(2):
            other.sendall(b"GET")
            connection.await_request(FIRST_BYTE_SECONDS)
            connection.recv(8192)
        other.sendall(b"GET")
        time.sleep(0.5)
        connection.await_request(0.4)
        assert connection.recv(8192) == b"GET"
    other.close()


def test_used_connection_has_a_deadline(serve) -> None:
    connection, wire = serve((0, b"GET"), (80.0, b"GET"))
    connection.await_request(FIRST_BYTE_SECONDS)
    connection.recv(8192)
    connection.await_request(75)
    assert read_until_cut_off(connection) == 0
    assert wire.now == 1000 + 75
