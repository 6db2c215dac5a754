"""Connections to a Redis: a count is always that of its own command, and no command is sent twice."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from redis.exceptions import ConnectionError as NotConnected
from redis.exceptions import TimeoutError as NotAnswered

from app.http.limits import Limit, SharedCounts
from tests.limits.redis_server import RedisServer

LIMIT = [Limit(1000, 3600)]


@contextmanager
def frozen(server: RedisServer) -> Iterator[None]:
    """It gets what is sent, and answers when the block has ended."""
    server.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.signal(signal.SIGCONT)


def times(counts: SharedCounts, name: str) -> int:
    ((counted, _),) = counts.count(name, LIMIT)
    return counted


@pytest.mark.system
def test_late_answer_is_dropped(own_redis: RedisServer) -> None:
    counts = SharedCounts(own_redis.url)
    assert [times(counts, "a") for _ in range(3)] == [1, 2, 3]
    with frozen(own_redis), pytest.raises(NotAnswered):
        times(counts, "a")
    assert times(counts, "b") == 1


@pytest.mark.system
def test_interrupted_count_leaves_no_answer(own_redis: RedisServer) -> None:
    class Interrupted(BaseException):
        """As for a greenlet that is ended."""

    def interrupt(*_: object) -> None:
        raise Interrupted

    counts = SharedCounts(own_redis.url)
    assert [times(counts, "a") for _ in range(3)] == [1, 2, 3]
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with frozen(own_redis), pytest.raises(Interrupted):
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            times(counts, "a")
    finally:
        signal.signal(signal.SIGALRM, before)
    assert times(counts, "b") == 1


def test_unanswered_command_is_not_resent() -> None:
    heard: list[bytes] = []

    def answer_once(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection:
            heard.append(connection.recv(4096))
            connection.sendall(b"*2\r\n:1\r\n:60000\r\n")
            heard.append(connection.recv(4096))

    # The path of a socket has to be short.
    with tempfile.TemporaryDirectory(prefix="gw-") as folder, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{folder}/s")
        listening.listen()
        threading.Thread(target=answer_once, args=[listening], daemon=True).start()
        counts = SharedCounts(f"unix://{folder}/s")
        assert times(counts, "a") == 1
        with pytest.raises(NotConnected):
            times(counts, "a")
    assert len(heard) == 2


@pytest.mark.system
def test_exhausted_connections_wait_with_limit(own_redis: RedisServer) -> None:
    counts = SharedCounts(f"{own_redis.url}?max_connections=2&timeout=1&socket_timeout=3")
    times(counts, "a")
    with frozen(own_redis), ThreadPoolExecutor(3) as threads:
        held = [threads.submit(times, counts, "a") for _ in range(2)]
        while counts._pool.pool.qsize():  # until both have a connection
            time.sleep(0.01)
        with pytest.raises(NotConnected):
            times(counts, "a")
        assert not any(one.done() for one in held), "the timeout of a free connection, not that of an answer"
        assert all(isinstance(one.exception(), NotAnswered) for one in held)
    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(lambda _: times(counts, "b"), range(200)))) == 200
    clients = own_redis.do("CLIENT", "LIST", "TYPE", "normal")
    assert isinstance(clients, bytes)
    assert clients.count(b"\n") <= 3, "two of ours, and that of this command"


GREENLETS = """
from gevent import monkey
monkey.patch_all()
import sys, time, gevent
from app.http.limits import Limit
from app.http.limits import LimitStore

store, ticks = LimitStore(sys.argv[1]), 0

def tick():
    global ticks
    while True:
        gevent.sleep(0.01)
        ticks += 1

ticking = gevent.spawn(tick)
gevent.sleep(0.05)
began, ticks = time.monotonic(), 0
gevent.joinall([gevent.spawn(store.count, "me", [Limit(9, 60)]) for _ in range(100)], raise_error=True)
print(ticks, time.monotonic() - began)
"""


@pytest.mark.system
def test_greenlets_continue_while_silent(own_redis: RedisServer) -> None:
    """More greenlets than connections wait, and no other greenlet with them."""
    with frozen(own_redis):
        command = [sys.executable, "-c", GREENLETS, own_redis.url]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    ticks, seconds = map(float, ran.stdout.split())
    assert ticks > 3, "another greenlet goes on meanwhile"
    assert seconds < 10, "each waits once, and not one after the other"
