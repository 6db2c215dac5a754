"""The chains that are read here, and the configuration that names them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, Final

from app.domain.codes import SendKind
from app.domain.crypto import checksum_address
from app.domain.keys import ChainId
from app.sandbox.network import network_document, network_facts, paying_contract, token_address
from bench.watching.chain import Shape
from bench.watching.contracts import Bridges
from bench.watching.node import Setup

CHAIN: Final = 56
"""Of the sandbox's chains the one with all kinds of contracts."""

FIRST_BLOCK: Final = 40_000_000
ON_TOP: Final = 200
"""Blocks without logs at the end, so that every log is final."""

IDLE_CHAINS: Final = 20
FIRST_IDLE: Final = 900_001
LIVE_EVERY: Final = 5.0
"""Seconds between the blocks of the idle chains."""


def bridges() -> Bridges:
    """The contracts and tokens of the chain."""
    return Bridges(
        chain_id=CHAIN,
        pool=network_facts().pool_bridges[ChainId(CHAIN)],
        tokens=(
            (token_address(CHAIN, "USDT"), 1),
            (token_address(CHAIN, "USDT"), 137),
            (token_address(CHAIN, "USDC"), 43114),
            (token_address(CHAIN, "WETH"), 1),
        ),
        vault=paying_contract(SendKind.DEPOSIT, "AI", CHAIN, 42161),
        deposited=(token_address(CHAIN, "AI"), 42161),
        bridge=paying_contract(SendKind.BURN, "OOKI", CHAIN, 1),
        burned=(token_address(CHAIN, "OOKI"), 1),
    )


def recorded(blocks: int, logs: int) -> Setup:
    """The chain with the logs; its last block is of now."""
    starts_at = int(time.time()) - 3 * (blocks + ON_TOP)
    return Setup(Shape(CHAIN, FIRST_BLOCK, blocks, logs, starts_at), bridges(), extra=ON_TOP)


def live(seconds_a_block: int) -> Setup:
    """The chain with a send in each block from the head of now on."""
    starts_at = int(time.time()) - 100 * seconds_a_block
    shape = Shape(
        CHAIN,
        FIRST_BLOCK,
        100,
        0,
        starts_at,
        seconds_a_block=seconds_a_block,
        send_in_each_from=FIRST_BLOCK + 100,
    )
    only_sends = Bridges(chain_id=CHAIN, pool=bridges().pool, tokens=bridges().tokens)
    return Setup(shape, only_sends)


def idle() -> list[Setup]:
    """Chains whose blocks come and have nothing for us."""
    made = []
    for chain_id in range(FIRST_IDLE, FIRST_IDLE + IDLE_CHAINS):
        shape = Shape(chain_id, FIRST_BLOCK, 1_000, 0, int(time.time()) - 5_000, seconds_a_block=5)
        nothing = Bridges(chain_id=chain_id, pool=_pool_of(chain_id), tokens=())
        made.append(Setup(shape, nothing, ticks_every=LIVE_EVERY))
    return made


def watching(urls: Iterable[str], **also: Any) -> dict[str, Any]:
    """The sandbox's network with the one chain watched through these variables."""
    document = network_document()
    chain = next(each for each in document["chains"] if each["id"] == CHAIN)
    chain.update({"watch_from_block": FIRST_BLOCK, "rpc": list(urls), **also})
    return document


def watching_idle(urls: Iterable[str], **also: Any) -> dict[str, Any]:
    """The sandbox's network and the idle chains, these watched."""
    document = network_document()
    template = document["chains"][0]
    for chain_id, url in zip(range(FIRST_IDLE, FIRST_IDLE + IDLE_CHAINS), urls, strict=True):
        own = {
            "id": chain_id,
            "name": f"Idle {chain_id}",
            "contract_addr": checksum_address(_pool_of(chain_id)),
            "watch_from_block": FIRST_BLOCK,
            "rpc": [url],
        }
        document["chains"].append({**template, **own, **also})
    return document


def _pool_of(chain_id: int) -> bytes:
    return chain_id.to_bytes(20, "big")
