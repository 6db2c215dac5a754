"""Logs of the contracts, encoded by eth-abi and not by the code that is tested, and a small network."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from eth_abi import encode
from eth_utils import keccak
from msgspec.structs import replace

from app.network.rules.validation_facts import NetworkFacts, PairFacts, TokenFacts
from app.network.rules.watch_terms import WatchedNetwork, WatchTerms
from app.values.identifiers import BlockNumber, ChainId, PoolKey, TransferId
from app.watcher.rules.blocks import Header, Log

START = datetime(2026, 5, 1, tzinfo=UTC)
HERE, THERE, THIRD = ChainId(1), ChainId(56), ChainId(137)

POOL, VAULT, BRIDGE = b"\x0a" * 20, b"\x0b" * 20, b"\x0c" * 20
TOKEN, PEGGED = b"\x71" * 20, b"\x72" * 20
ALICE, BOB = b"\xa1" * 20, b"\xb0" * 20
OTHER_ID = TransferId(bytes.fromhex("cd" * 32))
PAYOUT = bytes.fromhex("ef" * 32)
NO_ID = bytes(32)

SIGNATURES = {
    "Send": "bytes32,address,address,address,uint256,uint64,uint64,uint32",
    "Relay": "bytes32,address,address,address,uint256,uint64,bytes32",
    "LiquidityAdded": "uint64,address,address,uint256",
    "WithdrawDone": "bytes32,uint64,address,address,uint256,bytes32",
    "SignersUpdated": "address[],uint256[]",
    "DelayedTransferAdded": "bytes32",
    "DelayedTransferExecuted": "bytes32,address,address,uint256",
    "Deposited": "bytes32,address,address,uint256,uint64,address,uint64",
    "DepositedV1": "bytes32,address,address,uint256,uint64,address",
    "Withdrawn": "bytes32,address,address,uint256,uint64,bytes32,address",
    "Mint": "bytes32,address,address,uint256,uint64,bytes32,address",
    "Burn": "bytes32,address,address,uint256,uint64,address,uint64",
    "BurnV1": "bytes32,address,address,uint256,address",
}
"""Of docs and public contracts, written down a second time."""


def own_id(event: str, contract: bytes, *values: Any) -> TransferId:
    """The transfer id that the contract gives what a log says behind it, packed a second time."""
    sender, receiver, token, amount, dst, nonce = (
        (values[0], values[4], values[1], values[2], values[3], values[5]) if event == "Deposited" else
        (values[1], values[4], values[0], values[2], values[3], values[5]) if event == "Burn" else values[:6]
    )  # fmt: skip
    u64 = [number.to_bytes(8, "big") for number in (dst, nonce, HERE)]
    if event == "Send":
        packed = sender + receiver + token + amount.to_bytes(32, "big") + b"".join(u64)
    else:
        packed = sender + token + amount.to_bytes(32, "big") + u64[0] + receiver + u64[1] + u64[2] + contract
    return TransferId(keccak(packed))


def types_of(event: str) -> list[str]:
    return SIGNATURES[event].split(",")


def topic_of(event: str) -> bytes:
    return keccak(text=f"{event.removesuffix('V1')}({SIGNATURES[event]})")


@cache
def block_hash(number: int, branch: str = "a") -> str:
    return "0x" + keccak(text=f"block {number} {branch}").hex()


def tx_hash(name: str) -> str:
    return "0x" + keccak(text=f"transaction {name}").hex()


def log(
    event: str,
    *arguments: Any,
    contract: bytes = POOL,
    block: int = 100,
    index: int = 4,
    tx: str = "one",
    branch: str = "a",
) -> Log:
    types = types_of(event)
    if event in ("Send", "Deposited", "Burn") and arguments[0] == ID:
        arguments = (own_id(event, contract, *arguments[1:]), *arguments[1:])
    given = [
        "0x" + value.hex() if kind == "address" else value
        for kind, value in zip(types, arguments, strict=True)
    ]
    if event == "SignersUpdated":
        given[0] = ["0x" + signer.hex() for signer in arguments[0]]
    return Log(
        block=BlockNumber(block),
        block_hash=block_hash(block, branch),
        tx_hash=tx_hash(tx),
        index=index,
        address=contract,
        topics=(topic_of(event),),
        data=encode(types, given),
    )


def header(number: int, branch: str = "a", parent_branch: str | None = None, **changes: Any) -> Header:
    made = Header(
        number=BlockNumber(number),
        hash=block_hash(number, branch),
        parent_hash=block_hash(number - 1, parent_branch or branch),
        at=START + timedelta(seconds=12 * number),
    )
    return replace(made, **changes)


def headers_of(*logs: Log) -> dict[BlockNumber, Header]:
    return {each.block: replace(header(each.block), hash=each.block_hash) for each in logs}


TERMS = WatchTerms(
    chain_id=HERE,
    name="One",
    block_delay=12,
    from_block=BlockNumber(0),
    finality=24,
    poll_seconds=5,
    rpc=("RPC_URL_ONE",),
    pool_bridge=POOL,
    vaults=frozenset({VAULT}),
    bridges=frozenset({BRIDGE}),
)


def pair(
    symbol: str,
    org: ChainId,
    pegged: ChainId,
    vault: bytes,
    bridge: bytes,
    locked: bytes,
    minted: bytes | None,
) -> PairFacts:
    """A pair with tokens of its own."""
    return PairFacts(
        symbol,
        org,
        pegged,
        vaults=(vault,),
        bridges=(bridge,),
        org_token=TokenFacts(locked, 18),
        pegged_token=TokenFacts(minted, 18),
    )


def with_symbol(known: WatchedNetwork, chain_id: ChainId, token: bytes, symbol: str) -> WatchedNetwork:
    """The next version of a network, in which a chain lists one more token."""
    symbols = {**known.facts.symbols, (chain_id, token): (symbol,)}
    return replace(known, version="2", facts=replace(known.facts, symbols=symbols))


NETWORK = WatchedNetwork(
    version="1",
    facts=NetworkFacts(
        symbols={(HERE, TOKEN): ("USDT",)},
        pools=frozenset({PoolKey(HERE, "USDT"), PoolKey(THERE, "USDT")}),
        pool_bridges={HERE: POOL},
        pairs=(
            pair("ORG", HERE, THERE, VAULT, b"\x0d" * 20, TOKEN, PEGGED),
            pair("PEG", THIRD, HERE, b"\x0e" * 20, BRIDGE, TOKEN, PEGGED),
        ),
    ),
)


SENT = (ALICE, BOB, TOKEN, 2_000_000, THERE, 7, 5000)
ID = own_id("Send", POOL, *SENT)
"""Of the usual send. A log of another send that is given this id gets its own."""


def send(dst: int = THERE, token: bytes = TOKEN, **where: Any) -> Log:
    return log("Send", ID, ALICE, BOB, token, 2_000_000, dst, 7, 5000, **where)
