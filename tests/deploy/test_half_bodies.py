"""Thousands of requests whose bodies do not end, behind the shipped nginx: they do not reach the gateway."""

from __future__ import annotations

import resource
import socket
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from tests.deploy.nginx import PUBLIC, install_busy, running
from tests.serving.crowd import Listener, slowest_answer
from tests.serving.migrated import sqlite_url
from tests.serving.server import serving

HALF_BODIES = 2_100
BEGUN = (
    b"POST /v2/getTransferStatus HTTP/1.1\r\nHost: x\r\n"
    b"Content-Type: application/json\r\nContent-Length: 200\r\n\r\n{"
)


class Port:
    """A port of this machine."""

    host = "127.0.0.1"

    def __init__(self, port: int) -> None:
        self.port = port


@pytest.mark.slow
@pytest.mark.system
def test_half_bodies_hold_up_nobody_behind_nginx(tmp_path: Path, sqlite_template: Path) -> None:
    soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, HALF_BODIES + 500), most))
    (tmp_path / "nginx").mkdir()
    with (
        serving(
            "wsgi:app",
            tmp_path / "log",
            DATABASE_URL=sqlite_url(tmp_path, sqlite_template),
            TRUSTED_PROXIES="1",
        ) as gateway,
        ExitStack() as stack,
    ):
        nginx = install_busy(tmp_path / "nginx", [gateway.port])
        stack.enter_context(running(nginx))
        proxy: Listener = Port(nginx.ports[PUBLIC])
        slowest_answer(proxy, 0.2)
        for _ in range(HALF_BODIES):
            wire = stack.enter_context(socket.create_connection((proxy.host, proxy.port), timeout=20))
            wire.sendall(BEGUN)
        assert slowest_answer(proxy, 2.0) < 5, "without nginx others waited for 20 s"
        held = sum(
            each.status == psutil.CONN_ESTABLISHED
            for worker in psutil.Process(gateway.process.pid).children()
            for each in worker.net_connections()
        )
        assert held < 100, "none of the half bodies comes to the gateway"
