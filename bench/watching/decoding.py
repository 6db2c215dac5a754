"""What a log costs between a node's bytes and the events of the feed, step by step."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import eth_abi
import orjson
from web3 import Web3

from app.domain.keys import BlockNumber, ChainId
from app.domain.watching.blocks import Header, Log
from app.runtime.gateway import current_gateway
from app.services.network.document import import_network
from app.services.watching.terms import watch_terms, watched_network
from app.watcher.checks.digests import digest
from app.watcher.decode.events import decode
from app.watcher.rpc.parse import read_header, read_log
from app.watcher.translate import translate
from bench.database import gateway_on
from bench.feed import OPERATOR
from bench.watching.chain import Chain
from bench.watching.contracts import SIGNATURES, TOPICS
from bench.watching.databases import Cluster
from bench.watching.node import Setup
from bench.watching.setting import CHAIN, watching
from bench.watching.web3_loop import abi

ROUNDS: Final = 5
BAR_US: Final = 10.0
AT_ONCE: Final = 2_000
"""Logs of one step, as a window of the watcher has them."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Microseconds a log: the median of the rounds, the lowest and the highest."""

    what: str
    median: float
    lowest: float
    highest: float


def costs(setup: Setup, cluster: Cluster) -> list[Cost]:
    """What each step costs; decoding by offsets comes first."""
    chain = Chain(setup.shape, setup.bridges)
    text = b"[" + ",".join(log.text for log in chain.logs[:AT_ONCE]).encode() + b"]"
    raw: list[dict[str, Any]] = orjson.loads(text)
    logs = [read_log(each) for each in raw]
    headers = _headers(chain, logs)
    types = {TOPICS[name]: _types(signature) for name, signature in SIGNATURES.items()}
    contract = Web3().eth.contract(abi=abi())
    events = {topic: getattr(contract.events, name)() for name, topic in TOPICS.items()}
    received = [_as_web3_gives_it(each) for each in raw]
    with gateway_on(cluster.migrated()):
        gateway = current_gateway()
        import_network(gateway, orjson.dumps(watching(["RPC_URL_BENCH"])), actor=OPERATOR)
        network, terms = watched_network(gateway), watch_terms(gateway)[ChainId(CHAIN)]
    end = BlockNumber(setup.shape.last)
    return [
        _cost("decode, fixed offsets", len(logs), lambda: [decode(log) for log in logs]),
        _cost("orjson and the log's shape", len(logs), lambda: [read_log(log) for log in orjson.loads(text)]),
        _cost("digest", len(logs), lambda: digest(logs)),
        _cost(
            "decode and translate into events",
            len(logs),
            lambda: translate(network, terms, logs, headers, [], read_to=end),
        ),
        _cost(
            "for comparison: eth_abi.decode",
            len(logs),
            lambda: [eth_abi.decode(types[log.topics[0]], log.data) for log in logs],
        ),
        _cost(
            "for comparison: web3's process_log",
            len(received),
            lambda: [events[log["topics"][0]].process_log(log) for log in received],
        ),
    ]


def _cost(what: str, logs: int, work: Callable[[], object]) -> Cost:
    work()
    figures = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        figures.append((time.perf_counter() - began) / logs * 1e6)
    return Cost(what, statistics.median(figures), min(figures), max(figures))


def _headers(chain: Chain, logs: Sequence[Log]) -> dict[BlockNumber, Header]:
    return {log.block: read_header(orjson.loads(chain.block(log.block, whole=False))) for log in logs}


def _types(signature: str) -> list[str]:
    return signature[signature.index("(") + 1 : -1].split(",")


def _as_web3_gives_it(raw: dict[str, Any]) -> Any:
    """The log with the types of web3's answers, so that only its decoding is measured."""
    numbers = {name: int(raw[name], 16) for name in ("blockNumber", "transactionIndex", "logIndex")}
    texts = {name: bytes.fromhex(raw[name][2:]) for name in ("blockHash", "transactionHash", "data")}
    topics = [bytes.fromhex(topic[2:]) for topic in raw["topics"]]
    return {**raw, **numbers, **texts, "topics": topics, "address": Web3.to_checksum_address(raw["address"])}
