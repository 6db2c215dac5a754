"""A node as wallets have it: it says what a transaction of its accounts pays for gas.

Anvil is started without gas prices. It then refuses a transaction that names none, and proposes a tip that is
higher than its price.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx

from demo.rpc import INTERNAL_ERROR, Answer, answer, failure, success

_END_SECONDS = 0.05
"""How often a server looks whether it is to end."""


@contextmanager
def wallet(node: str) -> Iterator[str]:
    """The address of a node in front of another."""
    client = httpx.Client(timeout=30, trust_env=False)

    def call(request: dict[str, Any]) -> Answer:
        if request["method"] == "eth_maxPriorityFeePerGas":
            return success(request, "0x0")
        if request["method"] in ("eth_fillTransaction", "eth_sendTransaction"):
            match request.get("params"):
                case [dict() as transaction, *_]:
                    transaction["gasPrice"] = "0x0"
        try:
            answered: Answer = client.post(node, json={"id": None, **request}).json()
        except (httpx.HTTPError, ValueError):
            return failure(request.get("id"), INTERNAL_ERROR, "the node does not respond")
        return answered

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            size = self.headers.get("Content-Length", "")
            if not size.isdecimal():
                self.send_error(411)
                return
            answered = answer(self.rfile.read(int(size)), call)
            self.send_response(200 if answered else 204)
            if answered:
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answered)))
            self.end_headers()
            self.wfile.write(answered)

        def log_message(self, *args: object) -> None:
            pass

    with client, listening(Handler) as base:
        yield base


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """The base address of a server that a thread of this process runs."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(_END_SECONDS,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
