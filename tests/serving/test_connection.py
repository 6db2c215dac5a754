"""The deadlines of a connection, without waiting for them."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

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
        self.sent: list[bytes] = []
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

    def send(self, data: bytes) -> int:
        if self._timeout == SEND_SECONDS and not self._pieces:
            raise TimeoutError
        self.sent.append(bytes(data))
        return len(data)


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """Gives the connection of a client that sends these pieces."""

    def made(*pieces: tuple[float, bytes]) -> tuple[Connection, Wire]:
        wire = Wire(list(pieces))
        monkeypatch.setattr(under_test, "monotonic", lambda: wire.now)
        monkeypatch.setattr(under_test, "wait_until", lambda _watcher, seconds, _late: wire.wait(seconds))
        return Connection(wire), wire  # type: ignore[arg-type]

    yield made


def read_until_cut_off(connection: Connection) -> int:
    """The bytes that came before the client was too slow."""
    received = 0
    with pytest.raises(TooSlow):
        while True:
            received += len(connection.recv(8192))
    return received


def test_a_silent_client_is_cut_off(serve) -> None:
    connection, wire = serve((3600, b"x"))
    connection.await_request(FIRST_BYTE_SECONDS)
    assert read_until_cut_off(connection) == 0
    assert not connection.begun
    assert wire.now == 1000 + FIRST_BYTE_SECONDS


def test_a_head_has_a_deadline_for_the_whole(serve) -> None:
    """A byte a second is a sign of life, and no reason to wait for ever."""
    connection, wire = serve(*[(1.0, b"x")] * 100)
    connection.await_request(FIRST_BYTE_SECONDS)
    assert read_until_cut_off(connection) == 1 + HEAD_SECONDS
    assert connection.begun
    assert wire.now == 1000 + 1 + HEAD_SECONDS


def test_an_idle_connection_may_wait_longer_than_a_new_one(serve) -> None:
    connection, _ = serve((70.0, b"GET"), (HEAD_SECONDS + 1, b""))
    connection.await_request(75)
    assert connection.recv(8192) == b"GET"
    with pytest.raises(TooSlow):
        connection.recv(8192)


def test_a_body_has_a_least_rate(serve) -> None:
    connection, wire = serve(*[(1.0, b"x")] * 100)
    connection.await_body()
    assert read_until_cut_off(connection) == BODY_SECONDS
    assert wire.now < 1000 + BODY_SECONDS + 1


def test_a_long_body_may_take_its_time(serve) -> None:
    connection, _ = serve(*[(1.0, b"x" * BODY_RATE)] * 1000)
    connection.await_body()
    for _ in range(1000):
        assert len(connection.recv(8192)) == BODY_RATE


def test_what_the_application_does_between_two_reads_is_not_the_clients_time(serve) -> None:
    connection, wire = serve((1.0, b"x"), (1.0, b"y"))
    connection.await_body()
    connection.recv(8192)
    wire.now += 10 * BODY_SECONDS
    assert connection.recv(8192) == b"y"


def test_a_door_may_bound_each_wait(serve) -> None:
    """For callers that it knows, such as reporters: they may pause as often as they like."""
    connection, wire = serve(*[(1.5, b"x")] * 100, (5.0, b"x"))
    connection.await_body()
    connection.settimeout(2)
    assert connection.gettimeout() == 2
    assert read_until_cut_off(connection) == 100
    assert wire.now == 1152
    connection.await_request(75)
    assert connection.gettimeout() is None


def test_who_does_not_take_the_answer_is_cut_off(serve) -> None:
    connection, _ = serve()
    with pytest.raises(TooSlow):
        connection.sendall(b"answer")


def test_everything_else_is_the_sockets() -> None:
    one, other = socket.socketpair()
    connection = Connection(one)
    assert connection.fileno() == one.fileno()
    connection.sendall(b"all")
    assert other.recv(10) == b"all"
    one.close()
    other.close()


def test_what_takes_long_to_parse_is_read_in_small_pieces(serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """And others have their turn in between, though the data is there already."""
    asked, turns = [], []
    connection, wire = serve(*[(0, b"x")] * 60)
    receive = wire.recv
    monkeypatch.setattr(wire, "recv", lambda size: asked.append(size) or receive(size))
    monkeypatch.setattr(under_test, "give_way", lambda: turns.append(wire.now))
    connection.await_request(FIRST_BYTE_SECONDS)
    for _ in range(30):
        connection.recv(8192)
        wire.now += 0.014
    assert (asked[0], asked[-1]) == (8192, under_test.SMALLEST_PIECE)
    assert len(turns) == 29
    for _ in range(30):
        connection.recv(8192)
        wire.now += 0.0001
    assert asked[-1] == 8192
    assert len(turns) <= 32


def test_the_head_of_an_answer_goes_out_with_its_first_piece(serve) -> None:
    connection, wire = serve((0, b""))
    with connection.answering():
        connection.sendall(b"head;")
        assert wire.sent == []
        connection.sendall(b"one")
        assert wire.sent == [b"head;one"]
        connection.sendall(b"two")
        assert wire.sent == [b"head;one", b"two"]
    assert wire.sent == [b"head;one", b"two"]


def test_an_answer_without_a_body_goes_out_at_its_end(serve) -> None:
    connection, wire = serve((0, b""))
    with connection.answering():
        connection.sendall(b"head;")
    assert wire.sent == [b"head;"]


def test_what_follows_an_answer_that_broke_off_goes_out_at_once(serve) -> None:
    """Such as the error that the worker writes when nothing of the answer was there."""
    connection, wire = serve((0, b""))
    with pytest.raises(ValueError, match="broken"), connection.answering():
        raise ValueError("broken")
    connection.sendall(b"error")
    assert wire.sent == [b"error"]


def test_what_a_client_does_not_take_at_once_is_sent_in_turns() -> None:
    one, other = socket.socketpair()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    taken: list[bytes] = []

    def take() -> None:
        while data := other.recv(65536):
            taken.append(data)

    reader = threading.Thread(target=take)
    reader.start()
    Connection(one).sendall(bytes(range(256)) * 8192)
    one.close()
    reader.join()
    other.close()
    assert b"".join(taken) == bytes(range(256)) * 8192


def test_the_next_request_is_waited_for_by_the_loop_and_only_then_read() -> None:
    """Also one that is there already: then others have their turn, and reading never comes too early."""
    one, other = socket.socketpair()
    turns: list[str] = []
    with Connection(gevent.socket.socket(fileno=one.detach())) as connection:  # type: ignore[arg-type]
        other.sendall(b"GET")
        connection.await_request(FIRST_BYTE_SECONDS)
        assert connection.recv(8192) == b"GET"
        assert not connection.waited
        other.sendall(b"GET")
        gevent.spawn(turns.append, "another")
        connection.await_request(FIRST_BYTE_SECONDS)
        assert connection.recv(8192) == b"GET"
        assert connection.waited
        assert turns == ["another"]
        connection.await_request(0.01)
        with pytest.raises(TooSlow):
            connection.recv(8192)
    connection.shutdown(socket.SHUT_RDWR)
    other.close()


def test_what_worked_for_longer_than_a_wait_leaves_all_of_it() -> None:
    """The loop's own time stands still meanwhile; a wait counted from there would be over at once."""
    one, other = socket.socketpair()
    with Connection(gevent.socket.socket(fileno=one.detach())) as connection:  # type: ignore[arg-type]
        for _ in range(2):
            other.sendall(b"GET")
            connection.await_request(FIRST_BYTE_SECONDS)
            connection.recv(8192)
        other.sendall(b"GET")
        time.sleep(0.5)
        connection.await_request(0.4)
        assert connection.recv(8192) == b"GET"
    other.close()


def test_a_used_connection_has_a_deadline_for_its_next_request(serve) -> None:
    connection, wire = serve((0, b"GET"), (80.0, b"GET"))
    connection.await_request(FIRST_BYTE_SECONDS)
    connection.recv(8192)
    connection.await_request(75)
    assert read_until_cut_off(connection) == 0
    assert wire.now == 1000 + 75


def test_what_an_answer_took_does_not_count_as_parsing(serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a browser's head would come in several pieces after some answers."""
    asked: list[int] = []
    connection, wire = serve(*[(0, b"GET")] * 10)
    receive = wire.recv
    monkeypatch.setattr(wire, "recv", lambda size: asked.append(size) or receive(size))
    for _ in range(10):
        connection.await_request(FIRST_BYTE_SECONDS)
        connection.recv(8192)
        wire.now += 0.014
    assert set(asked) == {8192}
