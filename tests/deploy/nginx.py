"""nginx with the shipped configuration: ports, certificates and addresses are of the test."""

from __future__ import annotations

import json
import re
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from pathlib import Path
from shutil import copy, copytree
from typing import Any

from tests.deploy.files import DEPLOY, changed, free_port
from tests.programs import program

MAIN = """\
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/error.log info;
events {{ worker_connections 1024; }}
http {{
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include gateway.conf;
}}
"""
"""What is around the shipped configuration; it writes nowhere but to its folder."""

BUSY = MAIN.replace("master_process off;", "worker_rlimit_nofile 16384;").replace(" 1024;", " 8192;")
PUBLIC, OPERATORS, PLAIN = 443, 8443, 80
PLACES = {8001: "first", 8002: "second", 8003: "waiting", 8004: "operators"}
"""The addresses of the shipped upstreams."""

STATUS = "/v2/getTransferStatus"
READS = (
    ("GET", "/v2/getTransferConfigs"),
    ("POST", STATUS),
    ("POST", "/v1/getTransferStatuses"),
    ("POST", "/v2/estimateAmt"),
    ("POST", "/sgn.gateway.v1.Web/EstimateAmt"),
)
WRITES = (
    ("POST", "/v2/withdrawLiquidity"),
    ("POST", "/v2/webhooks"),
    ("POST", "/sgn.gateway.v1.Web/WithdrawLiquidity"),
)


@dataclass(frozen=True, slots=True)
class Nginx:
    """One that listens."""

    folder: Path
    ports: Mapping[int, int]

    def connect(self, port: int = PUBLIC, source: str = "127.0.0.1") -> HTTPConnection:
        """A new connection to what listens on this port as shipped."""
        if port == PLAIN:
            return HTTPConnection("127.0.0.1", self.ports[port], timeout=20)
        context = ssl.create_default_context(cafile=self.folder / "gateway-place/tls/fullchain.pem")
        return HTTPSConnection(
            "localhost", self.ports[port], timeout=20, context=context, source_address=(source, 0)
        )

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        port: int = PUBLIC,
    ) -> tuple[HTTPResponse, bytes]:
        """One request on a connection of its own, and the answer as a whole."""
        connection = self.connect(port)
        connection.request(method, path, body, dict(headers or {}))
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response, content

    def logged(self, request_id: str) -> list[dict[str, Any]]:
        """The lines of the access log about a request, which come after its answer."""
        deadline = time.monotonic() + 20
        while True:
            whole, _, _ = (self.folder / "gateway.log").read_text().rpartition("\n")
            lines = [json.loads(line) for line in whole.splitlines()]
            found = [line for line in lines if line["request_id"] == request_id]
            if found or time.monotonic() > deadline:
                return found
            time.sleep(0.02)


def install(folder: Path, upstreams: Mapping[str, int]) -> Nginx:
    """Write the shipped files as docs/operations.md has them installed, with addresses of this test.

    :param upstreams: ports on the loopback, by the names of ``PLACES``.
    """
    nginx = Nginx(folder, {port: free_port() for port in (PUBLIC, OPERATORS, PLAIN)})
    (folder / "nginx.conf").write_text(MAIN.format(folder=folder))
    for name in ("gateway", "gateway-place"):
        copytree(DEPLOY / "nginx" / name, folder / name)
    copy(DEPLOY / "nginx/gateway.conf", folder)
    change(folder / "gateway.conf", r"listen \[::\]:\d+[^;]*;", "", 3)
    for port, chosen in nginx.ports.items():
        change(folder / "gateway.conf", rf"listen {port}\b", f"listen 127.0.0.1:{chosen}", 1)
    for port, place in PLACES.items():
        change(folder / "gateway-place/upstreams.conf", rf":{port}\b", f":{upstreams[place]}", 1)
    change(folder / "gateway-place/log.conf", "/var/log/nginx/gateway.log", f"{folder}/gateway.log", 1)
    (folder / "gateway-place/tls").mkdir()
    subprocess.run(
        [
            program("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes",
            "-days", "1", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
            "-keyout", str(folder / "gateway-place/tls/privkey.pem"),
            "-out", str(folder / "gateway-place/tls/fullchain.pem"),
        ],
        check=True, capture_output=True,
    )  # fmt: skip
    return nginx


def install_busy(folder: Path, gateways: Sequence[int]) -> Nginx:
    """Write the shipped files for load from one address: plain HTTP, and each gateway has all interfaces.

    :param gateways: their ports.
    """
    nginx = Nginx(folder, {port: free_port() for port in (PUBLIC, OPERATORS)})
    (folder / "nginx.conf").write_text(BUSY.format(folder=folder))
    for name in ("gateway", "gateway-place"):
        copytree(DEPLOY / "nginx" / name, folder / name)
    copy(DEPLOY / "nginx/gateway.conf", folder)
    (folder / "gateway-place/tls.conf").write_text("")
    (folder / "gateway-place/log.conf").write_text("access_log off;\n")
    change(folder / "gateway.conf", r"listen \[::\]:\d+[^;]*;", "", 3)
    change(folder / "gateway.conf", rf"listen {PLAIN};", f"listen 127.0.0.1:{free_port()};", 1)
    for port, more in ((PUBLIC, " backlog=4096"), (OPERATORS, "")):
        listen = f"listen 127.0.0.1:{nginx.ports[port]}{more};"
        change(folder / "gateway.conf", rf"listen {port} ssl http2;", listen, 1)
    change(folder / "gateway.conf", r"limit_conn gateway_clients \d+;", "limit_conn gateway_clients 8000;", 1)
    upstreams = folder / "gateway-place/upstreams.conf"
    for name in ("public", "waiting", "operators"):
        change(
            upstreams, rf"(upstream gateway_{name} \{{\n(?:.*\n)*?)((?:    server .*\n)+)", _all(gateways), 1
        )
    return nginx


def _all(gateways: Sequence[int]) -> Callable[[re.Match[str]], str]:
    """The upstream with these servers, with the parameters of the first that is shipped."""

    def servers(found: re.Match[str]) -> str:
        how = re.search(r":\d+(.*;)", found[2])
        assert how is not None
        return found[1] + "".join(f"    server 127.0.0.1:{port}{how[1]}\n" for port in gateways)

    return servers


def change(file: Path, pattern: str, replacement: str | Callable[[re.Match[str]], str], times: int) -> None:
    """Replace what differs in a test, which must be there so often."""
    file.write_text(changed(file.read_text(), pattern, replacement, times))


def command(nginx: Nginx, *more: str) -> list[str]:
    """The command line."""
    return [program("nginx"), "-p", str(nginx.folder), "-c", str(nginx.folder / "nginx.conf"), *more]


@contextmanager
def proxying(folder: Path, upstreams: Mapping[str, int]) -> Iterator[Nginx]:
    """One that runs, ended with the block."""
    nginx = install(folder, upstreams)
    with running(nginx):
        yield nginx


@contextmanager
def running(nginx: Nginx) -> Iterator[None]:
    """One that was installed runs until the end of the block."""
    folder = nginx.folder
    with (folder / "stderr").open("w") as log:
        process = subprocess.Popen(command(nginx), stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 20
        # It opens one port after the other: that one listens proves nothing about the others.
        for port in nginx.ports.values():
            while not _listens(port):
                assert process.poll() is None and time.monotonic() < deadline, (folder / "stderr").read_text()
                time.sleep(0.02)
        yield
    finally:
        process.terminate()
        process.wait(timeout=20)


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 5):
        return True
    return False
