"""The chain that is read here, and the configuration that names it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from app.sandbox.catalogue import network_document, network_facts, paying_contract, token_address
from app.values.codes import SendKind
from app.values.identifiers import ChainId
from bench.watching.contracts import Bridges

CHAIN: Final = 56
"""The chain of the sandbox with all kinds of contracts."""

PROVIDERS: Final = ("127.0.0.1", "127.0.0.2")
"""Where the node answers: two addresses are two providers."""

FIRST_BLOCK: Final = 40_000_000
BLOCK_SECONDS: Final = 3
ON_TOP: Final = 200
"""Blocks without logs at the end, so that every log is final."""


def bridges() -> Bridges:
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


def watching(urls: Iterable[str]) -> dict[str, Any]:
    """The sandbox's network with the chain watched through these variables."""
    document = network_document()
    chain = next(each for each in document["chains"] if each["id"] == CHAIN)
    chain.update({"watch_from_block": FIRST_BLOCK, "rpc": list(urls)})
    return document
