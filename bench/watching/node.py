"""A node that answers from memory: ``python -m bench.watching.node BLOCKS LOGS PORT``.

The path of a request is a name, so that a reader can have several URLs; ``GET /`` returns how often each
method was called, by name.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import orjson
import uvloop

from bench.watching.chain import Chain
from bench.watching.setting import CHAIN, PROVIDERS

MOST_LOGS = 10_000
"""In one answer, as with many providers."""


@dataclass(slots=True)
class Received:
    """The requests at one URL, and when the first came: this machine's monotonic clock, in seconds."""

    first: float = field(default_factory=time.monotonic)
    methods: Counter[str] = field(default_factory=Counter)


class Refused(Exception):
    """What the node returns instead of an answer."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def answer(chain: Chain, method: str, params: list[Any]) -> str:
    """The JSON of the result."""
    match method:
        case "eth_getBlockByNumber":
            number = _number(params[0], chain.head)
            return chain.block(number, bool(params[1])) if number <= chain.head else "null"
        case "eth_getBlockReceipts" | "eth_getTransactionReceipt":
            is_of_block = method == "eth_getBlockReceipts"
            return chain.receipts(_number(params[0], chain.head)) if is_of_block else chain.receipt(params[0])
        case "eth_getLogs":
            return _logs(chain, params[0])
        case "eth_chainId":
            return f'"0x{CHAIN:x}"'
        case "net_version":
            return f'"{CHAIN}"'
        case "eth_blockNumber":
            return f'"0x{chain.head:x}"'
        case "eth_getCode":
            return '"0x6001"'
        case "eth_syncing":
            return "false"
        case _:
            raise Refused(-32601, f"the method {method} does not exist/is not available")


def _number(block: str, head: int) -> int:
    if block == "earliest":
        return 0
    return head if block in ("latest", "pending", "safe", "finalized") else int(block, 16)


def _logs(chain: Chain, wanted: dict[str, Any]) -> str:
    first, last = _number(wanted["fromBlock"], chain.head), _number(wanted["toBlock"], chain.head)
    address = wanted.get("address") or []
    addresses = {each.lower() for each in ([address] if isinstance(address, str) else address)}
    first_topics = (wanted.get("topics") or [None])[0] or []
    topics = {first_topics} if isinstance(first_topics, str) else set(first_topics)
    found = list(chain.logs_between(first, last, addresses, topics))
    if len(found) > MOST_LOGS:
        raise Refused(-32005, f"query returned more than {MOST_LOGS} results")
    return "[" + ",".join(found) + "]"


class Http(asyncio.Protocol):
    """Just enough of HTTP/1.1 for clients that send a length and reuse the connection."""

    def __init__(self, chain: Chain, received: dict[str, Received]) -> None:
        self.chain = chain
        self.received = received
        self._buffer = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        """Answer every request that has come in whole."""
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._buffer[:end]).lower()
            at = head.find(b"\r\ncontent-length:")
            length = int(head[at + 17 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(self._buffer) < end + 4 + length:
                if b"\r\nexpect: 100" in head:
                    self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                return
            body = bytes(self._buffer[end + 4 : end + 4 + length])
            del self._buffer[: end + 4 + length]
            method, path, _ = head.split(b" ", 2)
            self._respond(method, path, body)

    def _respond(self, method: bytes, path: bytes, body: bytes) -> None:
        said: bytes
        if method == b"post":
            received = self.received.setdefault(path.decode().strip("/"), Received())
            received.methods["HTTP"] += 1
            said = _rpc(self.chain, received.methods, orjson.loads(body))
        else:
            said = orjson.dumps(
                {name: {"first": each.first, **each.methods} for name, each in self.received.items()}
            )
        self.transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(said)
            + said
        )


def _rpc(chain: Chain, received: Counter[str], request: Any) -> bytes:
    if isinstance(request, list):
        return ("[" + ",".join(_one(chain, received, each) for each in request) + "]").encode()
    return _one(chain, received, request).encode()


def _one(chain: Chain, received: Counter[str], request: dict[str, Any]) -> str:
    number = orjson.dumps(request.get("id")).decode()
    received[request["method"]] += 1
    try:
        result = answer(chain, request["method"], request.get("params") or [])
    except Refused as refused:
        error = orjson.dumps({"code": refused.code, "message": str(refused)}).decode()
        return f'{{"jsonrpc":"2.0","id":{number},"error":{error}}}'
    return f'{{"jsonrpc":"2.0","id":{number},"result":{result}}}'


async def serve(chain: Chain, port: int) -> None:
    """Answer until the process is ended."""
    received: dict[str, Received] = {}
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Http(chain, received), PROVIDERS, port)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    blocks, logs, its_port = map(int, sys.argv[1:])
    uvloop.run(serve(Chain(blocks, logs), its_port))
