"""A node that answers from memory: ``python -m bench.watching.node FILE PORT``.

The file has a list of what :class:`Setup` holds. A chain is asked at ``/CHAIN_ID/NAME``, so that it can have
several URLs. ``PUT /CHAIN_ID/head/NUMBER`` moves its head, ``GET /`` answers what was asked, by name.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import uvloop

from bench.watching.chain import Chain, Shape
from bench.watching.contracts import Bridges

MOST_LOGS = 10_000
"""In one answer, as many providers have it."""


@dataclass(slots=True)
class Setup:
    """A chain as the command line tells it.

    :param ticks_every: seconds after which there is another block; 0 never.
    :param extra: blocks on top that nothing happened in, so that the others are final.
    """

    shape: Shape
    bridges: Bridges
    ticks_every: float = 0
    extra: int = 0

    def as_json(self) -> dict[str, Any]:
        """What :meth:`of` reads."""
        shape = {name: getattr(self.shape, name) for name in Shape.__slots__}
        bridges = {name: _hexed(getattr(self.bridges, name)) for name in Bridges.__slots__}
        return {"shape": shape, "bridges": bridges, "ticks_every": self.ticks_every, "extra": self.extra}

    @classmethod
    def of(cls, document: dict[str, Any]) -> Setup:
        """The opposite of :meth:`as_json`."""
        bridges = Bridges(**{name: _unhexed(value) for name, value in document["bridges"].items()})
        return cls(Shape(**document["shape"]), bridges, document["ticks_every"], document["extra"])


def _hexed(value: Any) -> Any:
    if isinstance(value, bytes):
        return "0x" + value.hex()
    return [_hexed(each) for each in value] if isinstance(value, tuple) else value


def _unhexed(value: Any) -> Any:
    if isinstance(value, str):
        return bytes.fromhex(value[2:])
    return tuple(_unhexed(each) for each in value) if isinstance(value, list) else value


@dataclass(slots=True)
class Served:
    """A chain and its head."""

    chain: Chain
    ticks_every: float
    moved_to: int
    began: float = field(default_factory=time.monotonic)

    @property
    def head(self) -> int:
        """The newest block of now."""
        if not self.ticks_every:
            return self.moved_to
        return self.moved_to + int((time.monotonic() - self.began) / self.ticks_every)


@dataclass(slots=True)
class Asked:
    """What came in at one URL, and when the first of it did: this machine's monotonic clock, in seconds."""

    first: float = field(default_factory=time.monotonic)
    methods: Counter[str] = field(default_factory=Counter)


class Refused(Exception):
    """What the node says instead of an answer."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def answer(served: Served, method: str, params: list[Any]) -> str:
    """The JSON of the result."""
    chain, head = served.chain, served.head
    chain.grow(head)
    match method:
        case "eth_getBlockByNumber":
            number = _number(params[0], head)
            return chain.block(number, bool(params[1])) if number <= head else "null"
        case "eth_getLogs":
            return _logs(served, params[0], head)
        case "eth_chainId":
            return f'"0x{chain.shape.chain_id:x}"'
        case "net_version":
            return f'"{chain.shape.chain_id}"'
        case "eth_blockNumber":
            return f'"0x{head:x}"'
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


def _logs(served: Served, asked: dict[str, Any], head: int) -> str:
    first, last = _number(asked["fromBlock"], head), _number(asked["toBlock"], head)
    address = asked.get("address") or []
    addresses = {each.lower() for each in ([address] if isinstance(address, str) else address)}
    first_topics = (asked.get("topics") or [None])[0] or []
    topics = {first_topics} if isinstance(first_topics, str) else set(first_topics)
    found = list(served.chain.logs_between(first, min(last, head), addresses, topics))
    if len(found) > MOST_LOGS:
        raise Refused(-32005, f"query returned more than {MOST_LOGS} results")
    return "[" + ",".join(found) + "]"


class Http(asyncio.Protocol):
    """Just enough of HTTP/1.1 for clients that send a length and keep the connection."""

    def __init__(self, chains: dict[int, Served], asked: dict[str, Asked]) -> None:
        self.chains = chains
        self.asked = asked
        self.received = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Answers go here."""
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        """Answer every request that has come in whole."""
        self.received += data
        while (end := self.received.find(b"\r\n\r\n")) >= 0:
            head = bytes(self.received[:end]).lower()
            at = head.find(b"\r\ncontent-length:")
            length = int(head[at + 17 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(self.received) < end + 4 + length:
                if b"\r\nexpect: 100" in head:
                    self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                return
            body = bytes(self.received[end + 4 : end + 4 + length])
            del self.received[: end + 4 + length]
            self._respond(*head.split(b" ", 2)[:2], body)

    def _respond(self, method: bytes, path: bytes, body: bytes) -> None:
        parts = path.decode().split("/")
        said: bytes
        if method == b"post":
            if (asked := self.asked.get(parts[2])) is None:
                asked = self.asked[parts[2]] = Asked()
            asked.methods["HTTP"] += 1
            said = _rpc(self.chains[int(parts[1])], asked.methods, orjson.loads(body))
        elif method == b"put":
            self.chains[int(parts[1])].moved_to = int(parts[3])
            said = b"{}"
        else:
            said = orjson.dumps(
                {name: {"first": each.first, **each.methods} for name, each in self.asked.items()}
            )
        self.transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(said)
            + said
        )


def _rpc(served: Served, asked: Counter[str], request: Any) -> bytes:
    if isinstance(request, list):
        return ("[" + ",".join(_one(served, asked, each) for each in request) + "]").encode()
    return _one(served, asked, request).encode()


def _one(served: Served, asked: Counter[str], request: dict[str, Any]) -> str:
    number = orjson.dumps(request.get("id")).decode()
    asked[request["method"]] += 1
    try:
        result = answer(served, request["method"], request.get("params") or [])
    except Refused as refused:
        error = orjson.dumps({"code": refused.code, "message": str(refused)}).decode()
        return f'{{"jsonrpc":"2.0","id":{number},"error":{error}}}'
    return f'{{"jsonrpc":"2.0","id":{number},"result":{result}}}'


async def serve(setups: list[Setup], port: int) -> None:
    """Answer until the process is ended."""
    chains = {
        setup.shape.chain_id: Served(
            Chain(setup.shape, setup.bridges), setup.ticks_every, setup.shape.last + setup.extra
        )
        for setup in setups
    }
    asked: dict[str, Asked] = {}
    server = await asyncio.get_running_loop().create_server(lambda: Http(chains, asked), "127.0.0.1", port)
    async with server:
        await server.serve_forever()


def main() -> None:
    """Serve what the first argument tells, a file, on the port that the second names."""
    setups = [Setup.of(each) for each in orjson.loads(Path(sys.argv[1]).read_bytes())]
    uvloop.run(serve(setups, int(sys.argv[2])))


if __name__ == "__main__":
    main()
