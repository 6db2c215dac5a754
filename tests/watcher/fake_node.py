"""A node of a :class:`FakeChain`: JSON-RPC on loopback or without a socket, with faults on demand."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

import httpx
import orjson
import rlp

from app.values.crypto import keccak256
from tests.watcher.fake_chain import FakeBlock, FakeChain, FakeLog

Reply = tuple[int, dict[str, str], bytes]
Fault = Callable[[bytes], Reply | None]
"""Answers a request in the node's place, or lets it pass with None."""


Call = dict[str, Any]
"""A call of a request: ``method``, ``params``, ``id``."""


@dataclass(frozen=True)
class Request:
    """One HTTP request, as a behaviour sees it.

    :param number: of the request, from 1 on.
    :param calls: the calls in it.
    :param batch: whether it is a list.
    """

    number: int
    calls: list[Call]
    batch: bool

    def has(self, method: str) -> bool:
        """Whether one of the calls is of this method."""
        return any(call["method"] == method for call in self.calls)

    def blocks(self) -> int:
        """The longest range of ``eth_getLogs`` in it, in blocks; 0 without one."""
        ranges = [call["params"][0] for call in self.calls if call["method"] == "eth_getLogs"]
        return max((int(each["toBlock"], 16) - int(each["fromBlock"], 16) + 1 for each in ranges), default=0)


@dataclass(frozen=True)
class Answer:
    """What is sent back.

    :param content: a JSON value, or the bytes of the body. ``DROPPED`` ends the connection without an answer;
        ``TOO_LATE`` is what the client makes of an answer that takes too long.
    """

    content: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


DROPPED: Any = object()
TOO_LATE: Any = object()
Behaviour = Callable[[Request, Answer], Answer]
"""What a node does: from a request and the right answer to it, to the answer that it gives."""


class RpcError(Exception):
    """A call that is answered with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


Part = Literal["true", "false", "empty", "missing"]


@dataclass(frozen=True)
class FalseBlock:
    """What a node returns of a block instead of what it is; the hash is that of the block.

    :param logs: of the block, as ``eth_getLogs`` returns them.
    :param receipts: are true ones, those of these logs, an empty list, or none.
    :param lists: its list of transactions is that of these logs.
    :param forged: so are its filter and its root of receipts.
    :param blank: it lists no transaction, and its root is that of no receipts.
    """

    logs: tuple[FakeLog, ...]
    receipts: Part = "true"
    lists: bool = False
    forged: bool = False
    blank: bool = False

    def of(self, block: FakeBlock) -> FakeBlock:
        """The block with these logs."""
        return FakeBlock(block.number, block.parent, block.at, self.logs, block.salt)

    def header_json(self, block: FakeBlock) -> dict[str, Any]:
        """What is returned of its header."""
        false = self.of(block).header_json
        fields = ["transactions"] if self.lists else []
        fields += ["logsBloom", "receiptsRoot", "transactionsRoot"] if self.forged else []
        header = block.header_json | {name: false[name] for name in fields}
        none = {"transactions": [], "receiptsRoot": f"0x{keccak256(rlp.encode(b'')).hex()}"}
        return header | (none if self.blank else {})

    def receipts_json(self, block: FakeBlock) -> list[dict[str, Any]] | None:
        """What is returned of its receipts."""
        if self.receipts in ("empty", "missing"):
            return [] if self.receipts == "empty" else None
        if self.receipts == "true":
            return list(block.receipts_json)
        return [
            receipt | {"logs": [log | {"blockHash": block.hash} for log in receipt["logs"]]}
            for receipt in self.of(block).receipts_json
        ]


NATIVE_WRAP = "0x457bfa2f"
"""The call of ``nativeWrap()``."""


@dataclass
class FakeNode:
    """What it does wrong is in its fields.

    :param behind: blocks by which its head is older than the chain's.
    :param omit: logs that ``eth_getLogs`` leaves out.
    :param invent: logs that ``eth_getLogs`` adds to those of a block, by the block's number.
    :param false: what it returns of some blocks, by their numbers, instead of what they are.
    :param most_blocks: the longest range of ``eth_getLogs``.
    :param most_logs: the most logs that it answers at once.
    :param most_calls: in a batch; 0 takes none.
    :param receipts: it returns any; ``receipts_of_blocks``: also those of a whole block at once.
    :param wraps: what every contract wraps native coin as; None: none has ``nativeWrap()``.
    :param codeless: no contract has code.
    :param oldest: logs of older blocks are pruned.
    :param fault: answers before the node.
    :param change: changes each result before it is sent: method, result.
    :param behaviours: what it does with each right answer, one after another.
    """

    chain: FakeChain
    chain_id: int | None = None
    behind: int = 0
    omit: Callable[[dict[str, Any]], bool] = lambda _log: False
    invent: dict[int, Sequence[FakeLog]] = field(default_factory=dict)
    false: dict[int, FalseBlock] = field(default_factory=dict)
    most_blocks: int = 10_000
    most_logs: int = 10_000
    most_calls: int = 1000
    receipts: bool = True
    receipts_of_blocks: bool = True
    wraps: bytes | None = None
    codeless: bool = False
    oldest: int = 0
    finalized_depth: int = 8
    fault: Fault = lambda _body: None
    change: Callable[[str, Any], Any] = lambda _method, result: result
    behaviours: list[Behaviour] = field(default_factory=list)
    requests: int = 0
    calls: list[str] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def answer(self, body: bytes) -> Reply | None:
        """The answer to one HTTP request; None where the connection is dropped."""
        with self.lock:
            self.requests += 1
            if (reply := self.fault(body)) is not None:
                return reply
            sent = orjson.loads(body)
            batch = isinstance(sent, list)
            request = Request(self.requests, sent if batch else [sent], batch)
            answer = self._right(request)
            for behaviour in self.behaviours:
                answer = behaviour(request, answer)
            if answer.content is DROPPED:
                return None
            if answer.content is TOO_LATE:
                raise httpx.ReadTimeout("no answer in time")
            raw = answer.content if isinstance(answer.content, bytes) else orjson.dumps(answer.content)
            return answer.status, {"Content-Type": "application/json"} | answer.headers, raw

    def _right(self, request: Request) -> Answer:
        if not request.batch:
            return Answer(self._call(request.calls[0]))
        if len(request.calls) > self.most_calls:
            error = {"code": -32600, "message": "batch is too large"}
            return Answer({"jsonrpc": "2.0", "id": None, "error": error})
        return Answer([self._call(call) for call in reversed(request.calls)])

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
        if block is None:
            return None
        false = self.false.get(block.number)
        return dict(block.header_json) if false is None else false.header_json(block)

    def _eth_getLogs(self, wanted: dict[str, Any]) -> Any:  # noqa: N802
        first, last = int(wanted["fromBlock"], 16), int(wanted["toBlock"], 16)
        if first < self.oldest:
            raise RpcError(-32000, "missing trie node: history is pruned")
        if last - first + 1 > self.most_blocks:
            raise RpcError(-32005, f"exceed maximum block range: {self.most_blocks}")
        addresses = {address.lower() for address in wanted.get("address", ())}
        topics = {topic.lower() for topic in wanted["topics"][0]} if "topics" in wanted else set()
        found = [
            dict(log)
            for block in self.chain.blocks[first : min(last, self.head) + 1]
            for log in [*self._logs(block), *self._invented(block)]
            if not addresses or log["address"] in addresses
            if not topics or (log["topics"][:1] and log["topics"][0] in topics)
            if not self.omit(log)
        ]
        if len(found) > self.most_logs:
            raise RpcError(-32005, f"query returned more than {self.most_logs} results")
        return found

    def _logs(self, block: FakeBlock) -> list[dict[str, Any]]:
        false = self.false.get(block.number)
        logs = block.logs_json if false is None else false.of(block).logs_json
        return [log | {"blockHash": block.hash} for log in logs]

    def _receipts(self, block: FakeBlock) -> list[dict[str, Any]] | None:
        false = self.false.get(block.number)
        return list(block.receipts_json) if false is None else false.receipts_json(block)

    def _invented(self, block: FakeBlock) -> list[dict[str, Any]]:
        if block.number not in self.invent:
            return []
        logs = block.logs + tuple(self.invent[block.number])
        false = FakeBlock(block.number, block.parent, block.at, logs, block.salt)
        return [dict(log) | {"blockHash": block.hash} for log in false.logs_json[len(block.logs) :]]

    def _eth_getBlockReceipts(self, number: str) -> Any:  # noqa: N802
        if not (self.receipts and self.receipts_of_blocks):
            raise RpcError(-32601, "the method eth_getBlockReceipts does not exist/is not available")
        block = self._block(int(number, 16))
        return None if block is None else self._receipts(block)

    def _eth_getTransactionReceipt(self, tx: str) -> Any:  # noqa: N802
        if not self.receipts:
            raise RpcError(-32601, "the method eth_getTransactionReceipt does not exist/is not available")
        for block in self.chain.blocks[: self.head + 1]:
            for receipt in self._receipts(block) or ():
                if receipt["transactionHash"] == tx:
                    return receipt | {"blockHash": block.hash}
        return None

    def _eth_getCode(self, _address: str, _block: str) -> str:  # noqa: N802
        return "0x" if self.codeless else "0x6001"

    def _eth_call(self, call: dict[str, str], _block: str) -> str:
        if call["data"] != NATIVE_WRAP or self.wraps is None or self.codeless:
            raise RpcError(3, "execution reverted")
        return f"0x{self.wraps.rjust(32, bytes(1)).hex()}"

    def _block(self, number: int) -> FakeBlock | None:
        return self.chain.blocks[number] if number <= self.head else None

    def transport(self) -> httpx.MockTransport:
        """For a client in this process: no socket."""

        def handle(request: httpx.Request) -> httpx.Response:
            if (reply := self.answer(request.content)) is None:
                raise httpx.RemoteProtocolError("the server disconnected without an answer")
            status, headers, content = reply
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
            if (reply := node.answer(body)) is None:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            status, headers, content = reply
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
