"""Upstreams that note their requests, and break at a chosen moment."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Upstream:
    """One upstream, and the requests that it had."""

    port: int = 0
    requests: list[tuple[str, str]] = field(default_factory=list)
    dies: bool = False
    """Close every connection when the request is there, without an answer."""


@contextmanager
def standing_in() -> Iterator[Upstream]:
    """An upstream that answers with the headers that it was sent, ended with the block."""
    upstream = Upstream()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            upstream.requests.append((self.command, self.path))
            if upstream.dies:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            body = json.dumps({name.lower(): value for name, value in self.headers.items()}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_DELETE = answer  # noqa: N815  the base class calls them so

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    upstream.port = server.server_port
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield upstream
    finally:
        server.shutdown()
        server.server_close()
