"""The sandbox's network document, and the facts in it that its transfers use."""

from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import orjson

from app.network.facts import NetworkFacts, PairFacts, Taken, TokenFacts
from app.network.validators import ValidatorSet
from app.values.codes import SendKind
from app.values.crypto import parse_evm_address
from app.values.identifiers import ChainId, PoolKey

NETWORK_FILE: Final = Path(__file__).with_name("network.json")


def network_document() -> dict[str, Any]:
    """Return a new copy of the network document (docs/interface.md#network-document)."""
    document: dict[str, Any] = orjson.loads(NETWORK_FILE.read_bytes())
    return document


@lru_cache(maxsize=1)
def network_facts() -> NetworkFacts:
    """Return what the document says about transfers; validators are the opening sets."""
    document = network_document()
    chain_ids = {member["chain_id"] for member in document["validators"]}
    return NetworkFacts(
        tokens={
            PoolKey(token["chain_id"], token["symbol"]): TokenFacts(
                _address(token["address"]), token["decimal"]
            )
            for token in document["tokens"]
        },
        pool_bridges={chain["id"]: _address(chain["contract_addr"]) for chain in document["chains"]},
        pairs=tuple(
            PairFacts(
                pair["symbol"],
                pair["org_chain_id"],
                pair["pegged_chain_id"],
                vaults=(_address(pair["pegged_deposit_contract_addr"]),),
                bridges=(_address(pair["pegged_burn_contract_addr"]),),
            )
            for pair in document["pegged_pairs"]
        ),
        validators={chain_id: _validators(document, chain_id) for chain_id in chain_ids},
    )


@lru_cache(maxsize=1)
def block_delays() -> dict[int, int]:
    """Return by chain how many blocks deep a send must be."""
    return {chain["id"]: chain["block_delay"] for chain in network_document()["chains"]}


def decimals_of(chain_id: int, symbol: str) -> int:
    """Return a token's number of decimals. Raises KeyError when the sandbox has no such token."""
    return network_facts().tokens[PoolKey(ChainId(chain_id), symbol)].decimals


def token_address(chain_id: int, symbol: str) -> bytes:
    """Return a token's contract, 20 bytes. Raises KeyError when the sandbox has no such token."""
    address = network_facts().tokens[PoolKey(ChainId(chain_id), symbol)].address
    if address is None:
        raise KeyError((chain_id, symbol))
    return address


def paying_contract(kind: SendKind, symbol: str, src_chain_id: int, dst_chain_id: int) -> bytes:
    """Return the source chain's contract that takes a send of the kind and pays its refund, 20 bytes.

    Raises KeyError when the sandbox has none.
    """
    taken = Taken(kind, symbol, None, ChainId(src_chain_id), ChainId(dst_chain_id))
    contract = network_facts().refund_contract(taken)
    if contract is None:
        raise KeyError((kind, symbol, src_chain_id, dst_chain_id))
    return contract


@lru_cache(maxsize=1)
def base_fees() -> dict[tuple[SendKind, str, int, int], int]:
    """Return the base fee of every route, in destination units: by kind, symbol, source, destination.

    Between two pegged chains it is the destination pair's fee for a deposit (docs/interface.md#burn-mint).
    """
    document = network_document()
    pairs = document["pegged_pairs"]
    fees = {
        (SendKind.POOL, route["symbol"], route["src_chain_id"], route["dst_chain_id"]): int(route["base_fee"])
        for route in document["routes"]
    }
    for pair in pairs:
        symbol, original, pegged = pair["symbol"], pair["org_chain_id"], pair["pegged_chain_id"]
        fees[SendKind.DEPOSIT, symbol, original, pegged] = int(pair["deposit_base_fee"])
        fees[SendKind.BURN, symbol, pegged, original] = int(pair["burn_base_fee"])
        for other in pairs:
            if (other["symbol"], other["org_chain_id"]) == (symbol, original) and other is not pair:
                fees[SendKind.BURN, symbol, other["pegged_chain_id"], pegged] = int(pair["deposit_base_fee"])
    return fees


def _validators(document: dict[str, Any], chain_id: ChainId) -> ValidatorSet:
    members = [member for member in document["validators"] if member["chain_id"] == chain_id]
    return ValidatorSet.of(chain_id, 1, ((_address(each["signer"]), int(each["power"])) for each in members))


def _address(text: str) -> bytes:
    address = parse_evm_address(text)
    if address is None:
        raise ValueError(f"not an EVM address: {text!r}")
    return address
