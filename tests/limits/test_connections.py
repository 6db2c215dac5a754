"""Connections to a Redis: an answer is always that to the question, and a broken one is asked once more."""

from __future__ import annotations

import signal
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import pytest
from redis.exceptions import ConnectionError as NotConnected
from redis.exceptions import ResponseError
from redis.exceptions import TimeoutError as NotAnswered

from app.runtime.limits.connections import Connections
from tests.limits.redis_server import RedisServer


@contextmanager
def frozen(server: RedisServer) -> Iterator[None]:
    """It gets what is sent, and answers when the block has ended."""
    server.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.signal(signal.SIGCONT)


class Hangup:
    """Answers so many questions of each connection, and closes it instead of answering the next."""

    def __init__(self, listening: socket.socket, answers: int) -> None:
        self.connections = Connections(f"unix://{listening.getsockname()}")
        self.asked = 0
        self._listening = listening
        self._answers = answers
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                with connection:
                    self._talk(connection)

    def _talk(self, connection: socket.socket) -> None:
        for number in range(self._answers + 1):
            if not connection.recv(4096):
                return
            self.asked += 1
            if number < self._answers:
                connection.sendall(b":%d\r\n" % self.asked)


@contextmanager
def hangup(answers: int) -> Iterator[Hangup]:
    # The path of a socket has to be short.
    with tempfile.TemporaryDirectory(prefix="gw-") as folder, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{folder}/s")
        listening.listen()
        yield Hangup(listening, answers)


def client_id(connections: Connections) -> object:
    return connections.ask("CLIENT", "ID")


def test_one_is_kept_and_used_again(redis_server: RedisServer) -> None:
    connections = Connections(redis_server.url)
    first = client_id(connections)
    with pytest.raises(ResponseError):
        connections.ask("INCR")
    assert client_id(connections) == first, "an error is an answer"
    connections.close()
    assert client_id(connections) != first


def test_an_answer_that_comes_late_is_nobodys(own_redis: RedisServer) -> None:
    connections = Connections(own_redis.url)
    assert connections.ask("ECHO", "first") == b"first"
    with frozen(own_redis), pytest.raises(NotAnswered):
        connections.ask("ECHO", "second")
    assert connections.ask("ECHO", "third") == b"third"


def test_who_is_interrupted_leaves_no_answer_behind(own_redis: RedisServer) -> None:
    class Interrupted(BaseException):
        """As a greenlet is that is ended."""

    def interrupt(*_: object) -> None:
        raise Interrupted

    connections = Connections(own_redis.url)
    connections.ask("ECHO", "first")
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with frozen(own_redis), pytest.raises(Interrupted):
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            connections.ask("ECHO", "second")
    finally:
        signal.signal(signal.SIGALRM, before)
    assert connections.ask("ECHO", "third") == b"third"


def test_a_kept_one_that_was_closed_is_opened_and_asked_again() -> None:
    with hangup(answers=1) as server:
        answers = [server.connections.ask("INCR", "a") for _ in range(3)]
    assert answers == [1, 3, 5], "the second and the third question were heard twice"


def test_a_new_one_that_is_closed_is_not_asked_again() -> None:
    with hangup(answers=0) as server:
        with pytest.raises(NotConnected):
            server.connections.ask("INCR", "a")
        assert server.asked == 1


def test_who_finds_none_free_waits_for_one_and_not_for_ever(own_redis: RedisServer) -> None:
    connections = Connections(f"{own_redis.url}?max_connections=2&timeout=0.3&socket_timeout=20")
    with ThreadPoolExecutor(2) as threads:
        held = [threads.submit(connections.ask, "BLPOP", "nothing", 20) for _ in range(2)]
        until = time.monotonic() + 10
        while b"cmd=blpop" not in _clients(own_redis) and time.monotonic() < until:
            time.sleep(0.01)
        with pytest.raises(NotConnected, match="free"):
            connections.ask("PING")
        own_redis.do("RPUSH", "nothing", "a", "b")
        assert [one.result()[1] for one in held] in ([b"a", b"b"], [b"b", b"a"])  # type: ignore[index]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda _: connections.ask("PING"), range(200))) == [b"PONG"] * 200
    assert _clients(own_redis).count(b"\n") <= 3, "two of ours, and that of this question"
    assert len({client_id(connections) for _ in range(4)}) == 1, "the others are left alone"


def _clients(server: RedisServer) -> bytes:
    told = server.do("CLIENT", "LIST", "TYPE", "normal")
    assert isinstance(told, bytes)
    return told
