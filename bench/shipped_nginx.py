"""The nginx configuration of ``deploy/``, for benchmarks: without certificates, on ports of this run."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from shutil import copytree
from typing import Final

from bench.serving import ROOT, free_port

_SHIPPED: Final = ROOT / "deploy/nginx"

HTTP: Final = """\
http {{
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include gateway.conf;
}}
"""
"""The part that has the shipped configuration; it writes nowhere but to its folder."""

_MAIN: Final = (
    """\
worker_processes 1;
worker_rlimit_nofile 16384;
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log warn;
events {{ worker_connections 8192; }}
"""
    + HTTP
)

_UPSTREAM: Final = r"(upstream gateway_{name} \{{\n)((?:.*\n)*?)((?:    server .*\n)+)"


class ShippedNginx:
    """Where it is configured, and the addresses at which it listens: plain HTTP on the loopback."""

    def __init__(self, folder: Path, gateways: Sequence[int]) -> None:
        """Write the files.

        :param gateways: ports of the gateways; each has all doors.
        """
        self.public = free_port()
        self.operators = free_port()
        self.file = folder / "nginx.conf"
        self.file.write_text(_MAIN.format(folder=folder))
        for name in ("gateway", "gateway-place"):
            copytree(_SHIPPED / name, folder / name)
        place = folder / "gateway-place"
        (place / "tls.conf").write_text("")
        (place / "log.conf").write_text("access_log off;\n")
        text = (_SHIPPED / "gateway.conf").read_text()
        text = changed(text, r"listen \[::\]:\d+[^;]*;", "", 3)
        text = changed(text, r"listen 80;", f"listen 127.0.0.1:{free_port()};", 1)
        text = changed(text, r"listen 443 ssl http2;", f"listen 127.0.0.1:{self.public} backlog=4096;", 1)
        text = changed(text, r"listen 8443 ssl http2;", f"listen 127.0.0.1:{self.operators};", 1)
        # All clients of a benchmark come from one address.
        text = changed(text, r"limit_conn gateway_clients \d+;", "limit_conn gateway_clients 8000;", 1)
        (folder / "gateway.conf").write_text(text)
        upstreams = (place / "upstreams.conf").read_text()
        for name in ("public", "waiting", "operators"):
            upstreams = _with_servers(upstreams, name, gateways)
        (place / "upstreams.conf").write_text(upstreams)


def _with_servers(text: str, name: str, ports: Sequence[int]) -> str:
    """The upstream with these servers, with the parameters of the first that is shipped."""

    def servers(found: re.Match[str]) -> str:
        how = re.search(r":\d+(.*;)", found[3])
        assert how is not None
        return found[1] + found[2] + "".join(f"    server 127.0.0.1:{port}{how[1]}\n" for port in ports)

    return changed(text, _UPSTREAM.format(name=name), servers, 1)


def changed(text: str, pattern: str, replacement: str | Callable[[re.Match[str]], str], times: int) -> str:
    """The text with what matches replaced.

    :raises SystemExit: it is not there so often.
    """
    whole, number = re.subn(pattern, replacement, text)
    if number != times:
        raise SystemExit(f"deploy/nginx: {pattern} is there {number} times, not {times}")
    return whole
