"""A proxy between the watcher and a node that does what bad nodes and networks do, when it is told to."""

from __future__ import annotations

import json
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx

OF_TRANSPORT = ("delay", "cut", "repeat", "truncate", "429", "500")
OF_CONTENT = ("omit", "old head", "chain id", "parent")
KINDS = OF_TRANSPORT + OF_CONTENT
DELAY_SECONDS = 0.5
"""Longer than the watcher of these tests waits."""

Json = Any


@dataclass(frozen=True, slots=True)
class Omitted:
    """A log that was kept back.

    :param topic: its first, which names the event.
    """

    block_hash: str
    tx_hash: str
    index: int
    topic: str
    address: str


@dataclass
class Proxy:
    """Passes everything on, and does a fault of one kind to as many requests as are armed.

    :param target: the node's URL.
    :param delivered: how often each kind was done.
    :param omitted: the logs that were kept back.
    """

    target: str
    chance: random.Random
    kind: str = ""
    armed: int = 0
    delivered: Counter[str] = field(default_factory=Counter)
    omitted: list[Omitted] = field(default_factory=list)
    url: str = ""
    _last: bytes = b""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _client: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=30, trust_env=False))

    def arm(self, kind: str) -> None:
        """Do this to the next request that it can be done to."""
        self.kind, self.armed = kind, 1

    def disarm(self) -> None:
        """Be honest."""
        self.armed = 0

    def answer(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        """Answer one request."""
        content = self._client.post(self.target, content=body, headers=_JSON).content
        with self._lock:
            last, self._last = self._last, content
            kind = self.kind if self.armed and self.kind in OF_TRANSPORT else ""
            if self.armed and not kind:
                content = self._changed(json.loads(body), content)
            if kind == "repeat" and not last:
                kind = ""
            if kind:
                self._done()
        self._send(handler, kind, content, last)

    def _done(self) -> None:
        self.armed -= 1
        self.delivered[self.kind] += 1

    def _send(self, handler: BaseHTTPRequestHandler, kind: str, content: bytes, last: bytes) -> None:
        if kind == "delay":
            time.sleep(DELAY_SECONDS)
        if kind == "cut":
            self._cut(handler, content)
            return
        status = int(kind) if kind in ("429", "500") else 200
        if kind == "truncate":
            content = content[: self.chance.randrange(len(content))]
        elif kind == "repeat":
            content = last
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(content)))
        if kind == "429" and self.chance.random() < 0.5:
            handler.send_header("Retry-After", "7")
        handler.end_headers()
        handler.wfile.write(content)

    def _cut(self, handler: BaseHTTPRequestHandler, content: bytes) -> None:
        """The connection breaks before the answer, or within it."""
        if self.chance.random() < 0.5:
            handler.send_response(200)
            handler.send_header("Content-Length", str(len(content)))
            handler.end_headers()
            handler.wfile.write(content[: len(content) // 2])
            handler.wfile.flush()
        handler.close_connection = True
        handler.connection.shutdown(socket.SHUT_RDWR)

    def _changed(self, asked: Json, content: bytes) -> bytes:
        """The answer, with something untrue in it where it has what this kind is about."""
        answered = json.loads(content)
        calls, answers = (asked, answered) if isinstance(asked, list) else ([asked], [answered])
        change = {
            "omit": self._omit,
            "old head": self._old_head,
            "chain id": self._chain_id,
            "parent": self._parent,
        }[self.kind]
        by_id = {answer["id"]: answer for answer in answers}
        for call in calls:
            answer = by_id[call["id"]]
            if answer.get("result") and change(call, answer):
                self._done()
                return json.dumps(answered).encode()
        return content

    def _omit(self, call: Json, answer: Json) -> bool:
        """Some of the logs of the newest block are not there yet."""
        if call["method"] != "eth_getLogs" or not answer["result"]:
            return False
        newest = hex(int(self._ask("eth_blockNumber"), 16))
        logs = answer["result"]
        at_head = [log for log in logs if log["blockNumber"] == newest]
        if not at_head:
            return False
        gone = self.chance.sample(at_head, self.chance.randint(1, len(at_head)))
        answer["result"] = [log for log in logs if log not in gone]
        for log in gone:
            place = log["blockHash"], log["transactionHash"], int(log["logIndex"], 16)
            self.omitted.append(Omitted(*place, log["topics"][0], log["address"]))
        return True

    def _old_head(self, call: Json, answer: Json) -> bool:
        if call["method"] != "eth_getBlockByNumber" or call["params"][0] != "latest":
            return False
        number = max(0, int(answer["result"]["number"], 16) - self.chance.randint(1, 4))
        answer["result"] = self._ask("eth_getBlockByNumber", hex(number), False)
        return True

    def _chain_id(self, call: Json, answer: Json) -> bool:
        if call["method"] != "eth_chainId":
            return False
        answer["result"] = hex(int(answer["result"], 16) + self.chance.choice((-1, 1, 56)))
        return True

    def _parent(self, call: Json, answer: Json) -> bool:
        if call["method"] != "eth_getBlockByNumber":
            return False
        answer["result"]["parentHash"] = f"0x{self.chance.randbytes(32).hex()}"
        return True

    def _ask(self, method: str, *params: Any) -> Json:
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self._client.post(self.target, json=call).json()["result"]


_JSON = {"Content-Type": "application/json"}


@contextmanager
def proxying(target: str, chance: random.Random) -> Iterator[Proxy]:
    """A proxy of a node, ended with the block."""
    proxy = Proxy(target, chance)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            try:
                proxy.answer(self, self.rfile.read(int(self.headers["Content-Length"])))
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # whoever asked has gone

        def log_message(self, *args: object) -> None:
            """Nothing is written about requests."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    proxy.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
