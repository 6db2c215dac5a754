"""A node as wallets have it: it says what a transaction of its accounts pays for gas.

Anvil is started without gas prices. It then refuses a transaction that names none, and proposes a tip that is
higher than its price.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx


@contextmanager
def wallet(node: str) -> Iterator[str]:
    """The address of a node in front of another."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if asked["method"] in ("eth_fillTransaction", "eth_sendTransaction"):
                asked["params"][0]["gasPrice"] = "0x0"
            answer = self._answer(asked)
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def _answer(self, asked: dict[str, Any]) -> bytes:
            if asked["method"] == "eth_maxPriorityFeePerGas":
                return json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": "0x0"}).encode()
            return httpx.post(node, json=asked, timeout=30, trust_env=False).content

        def log_message(self, *args: object) -> None:
            pass

    with listening(Handler) as base:
        yield base


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """The base address of a server that a thread of this process runs."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
