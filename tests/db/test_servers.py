"""Which of several servers the connections of a process lead to."""

from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import Any

import pytest

from app.db.servers import OneServer

THREE = {"host": "a,b,c", "port": "1,2,3", "target_session_attrs": "read-write"}


class Connection:
    """As the driver's, to one of the three."""

    def __init__(self, host: str) -> None:
        self.info = SimpleNamespace(host=host, port="abc".index(host) + 1)
        self.ours, self.theirs = socket.socketpair()

    def fileno(self) -> int:
        return self.ours.fileno()

    @property
    def is_open(self) -> bool:
        self.ours.setblocking(False)
        try:
            return self.ours.recv(1) != b""
        except BlockingIOError:
            return True


@pytest.fixture
def server() -> OneServer:
    return OneServer()


def opened(server: OneServer, host: str, params: dict[str, Any] = THREE) -> Connection:
    connection = Connection(host)
    server.opened(connection, params)
    return connection


def hosts(server: OneServer) -> list[tuple[str, str]]:
    params = server.preferred(THREE)
    assert params["target_session_attrs"] == "read-write"
    return list(zip(params["host"].split(","), params["port"].split(","), strict=True))


def test_present_server_comes_first(server: OneServer) -> None:
    assert hosts(server) == [("a", "1"), ("b", "2"), ("c", "3")]
    connection = opened(server, "b")
    assert hosts(server) == [("b", "2"), ("a", "1"), ("c", "3")]
    assert connection.is_open


def test_single_port_applies_to_all_hosts(server: OneServer) -> None:
    params = server.preferred(THREE | {"port": "5432"})
    assert params["port"] == "5432,5432,5432"


def test_connections_to_former_server_are_closed(server: OneServer) -> None:
    former = [opened(server, "a"), opened(server, "a")]
    present = opened(server, "c")
    assert [each.is_open for each in (*former, present)] == [False, False, True]
    assert opened(server, "c").is_open
    assert present.is_open


def test_left_server_comes_last(server: OneServer) -> None:
    connection = opened(server, "a")
    server.leave()
    assert not connection.is_open
    assert hosts(server) == [("b", "2"), ("c", "3"), ("a", "1")]
    server.leave()
    assert hosts(server)[-1] == ("a", "1"), "there was none to leave"
    opened(server, "b")
    assert hosts(server) == [("b", "2"), ("c", "3"), ("a", "1")]


def test_closed_connection_is_no_hindrance(server: OneServer) -> None:
    closed = opened(server, "a")
    closed.ours.close()
    del closed.info
    assert opened(server, "b").is_open


def test_without_attribute_any_server_will_do(server: OneServer) -> None:
    params = {"host": "a,b,c", "port": "1,2,3"}
    connections = [opened(server, host, params) for host in "abc"]
    assert all(each.is_open for each in connections)
    assert server.preferred(params) == params
    server.leave()
    assert all(each.is_open for each in connections)
