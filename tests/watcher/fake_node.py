"""A node of a :class:`FakeChain`: JSON-RPC on loopback or without a socket, with faults on demand."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import orjson

from tests.watcher.fake_chain import FakeBlock, FakeChain, FakeLog

Reply = tuple[int, dict[str, str], bytes]
Fault = Callable[[bytes], Reply | None]
"""Answers a request in the node's place, or lets it pass with None."""


class RpcError(Exception):
    """A call that is answered with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass
class FakeNode:
    """What it is asked to do wrong is in its fields.

    :param behind: blocks by which its head is older than the chain's.
    :param omit: logs that ``eth_getLogs`` leaves out.
    :param invent: logs that ``eth_getLogs`` adds to those of a block, by the block's number.
    :param most_blocks: the longest range of ``eth_getLogs``.
    :param most_logs: the most logs that it answers at once.
    :param most_calls: in a batch; 0 takes none.
    :param codeless: no contract has code.
    :param oldest: logs of older blocks are pruned.
    :param fault: stands before the node.
    :param change: changes each result before it is sent: method, result.
    """

    chain: FakeChain
    chain_id: int | None = None
    behind: int = 0
    omit: Callable[[dict[str, Any]], bool] = lambda _log: False
    invent: dict[int, Sequence[FakeLog]] = field(default_factory=dict)
    most_blocks: int = 10_000
    most_logs: int = 10_000
    most_calls: int = 1000
    receipts: bool = True
    codeless: bool = False
    oldest: int = 0
    finalized_depth: int = 8
    fault: Fault = lambda _body: None
    change: Callable[[str, Any], Any] = lambda _method, result: result
    requests: int = 0
    calls: list[str] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def answer(self, body: bytes) -> Reply:
        """The answer to one HTTP request."""
        with self.lock:
            self.requests += 1
            if (reply := self.fault(body)) is not None:
                return reply
            asked = orjson.loads(body)
            if isinstance(asked, list):
                if len(asked) > self.most_calls:
                    error = {"code": -32600, "message": "batch is too large"}
                    return self._json({"jsonrpc": "2.0", "id": None, "error": error})
                return self._json([self._call(call) for call in reversed(asked)])
            return self._json(self._call(asked))

    def _json(self, content: Any) -> Reply:
        return 200, {"Content-Type": "application/json"}, orjson.dumps(content)

    def _call(self, call: dict[str, Any]) -> dict[str, Any]:
        method = call["method"]
        self.calls.append(method)
        answer = {"jsonrpc": "2.0", "id": call["id"]}
        try:
            result = getattr(self, f"_{method}")(*call["params"])
            return answer | {"result": self.change(method, result)}
        except RpcError as error:
            return answer | {"error": {"code": error.code, "message": str(error)}}

    @property
    def head(self) -> int:
        """The number of the newest block that it knows."""
        return max(self.chain.head.number - self.behind, 0)

    def _eth_chainId(self) -> str:  # noqa: N802
        return hex(self.chain.chain_id if self.chain_id is None else self.chain_id)

    def _eth_getBlockByNumber(self, number: str, _full: bool) -> Any:  # noqa: N802
        if number == "latest":
            number = hex(self.head)
        if number == "finalized":
            number = hex(max(self.head - self.finalized_depth, 0))
        block = self._block(int(number, 16))
        return None if block is None else dict(block.header_json)

    def _eth_getLogs(self, wanted: dict[str, Any]) -> Any:  # noqa: N802
        first, last = int(wanted["fromBlock"], 16), int(wanted["toBlock"], 16)
        if first < self.oldest:
            raise RpcError(-32000, "missing trie node: history is pruned")
        if last - first + 1 > self.most_blocks:
            raise RpcError(-32005, f"exceed maximum block range: {self.most_blocks}")
        addresses = {address.lower() for address in wanted["address"]}
        topics = {topic.lower() for topic in wanted["topics"][0]}
        found = [
            dict(log)
            for block in self.chain.blocks[first : min(last, self.head) + 1]
            for log in [*block.logs_json, *self._invented(block)]
            if log["address"] in addresses and log["topics"][:1] and log["topics"][0] in topics
            if not self.omit(log)
        ]
        if len(found) > self.most_logs:
            raise RpcError(-32005, f"query returned more than {self.most_logs} results")
        return found

    def _invented(self, block: FakeBlock) -> list[dict[str, Any]]:
        logs = block.logs + tuple(self.invent.get(block.number, ()))
        false = FakeBlock(block.number, block.parent, block.at, logs, block.salt)
        return [dict(log) | {"blockHash": block.hash} for log in false.logs_json[len(block.logs) :]]

    def _eth_getBlockReceipts(self, number: str) -> Any:  # noqa: N802
        if not self.receipts:
            raise RpcError(-32601, "the method eth_getBlockReceipts does not exist/is not available")
        block = self._block(int(number, 16))
        return None if block is None else list(block.receipts_json)

    def _eth_getCode(self, _address: str, _block: str) -> str:  # noqa: N802
        return "0x" if self.codeless else "0x6001"

    def _block(self, number: int) -> FakeBlock | None:
        return self.chain.blocks[number] if number <= self.head else None

    def transport(self) -> httpx.MockTransport:
        """For a client in this process: no socket."""

        def handle(request: httpx.Request) -> httpx.Response:
            status, headers, content = self.answer(request.content)
            return httpx.Response(status, headers=headers, stream=httpx.ByteStream(content))

        return httpx.MockTransport(handle)


@contextmanager
def served(node: FakeNode) -> Iterator[str]:
    """The node on a free port of loopback: its URL, with a key in it."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, headers, content = node.answer(body)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v2/secret-key-of-the-url"
    finally:
        server.shutdown()
        server.server_close()
