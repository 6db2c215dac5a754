"""The sandbox's network document, and the few facts of it that its events are made of."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import orjson

from app.domain.codes import SendKind
from app.domain.crypto import parse_evm_address

NETWORK_FILE: Final = Path(__file__).with_name("network.json")


@dataclass(frozen=True, slots=True)
class SandboxToken:
    """A token of the sandbox: its contract (20 bytes) and its number of decimals."""

    address: bytes
    decimals: int


def network_document() -> dict[str, Any]:
    """Return the network document (formats, network document), freshly read: the caller may change it."""
    document: dict[str, Any] = orjson.loads(NETWORK_FILE.read_bytes())
    return document


def sandbox_token(chain_id: int, symbol: str) -> SandboxToken:
    """Return a token by chain and symbol. Raises KeyError when the sandbox has none."""
    return _tokens()[chain_id, symbol]


def block_delay(chain_id: int) -> int:
    """Return how many blocks deep a send on the chain must be. Raises KeyError for an unknown chain."""
    delay: int = _chains()[chain_id]["block_delay"]
    return delay


def paying_contract(kind: SendKind, symbol: str, src_chain_id: int, dst_chain_id: int) -> bytes:
    """Return the contract on the source chain that takes a send of the kind, and pays its refund back.

    The pool bridge, the pair's vault or the pair's pegged bridge (wire, contracts), 20 bytes.
    Raises KeyError when the sandbox has no such chain or pair.
    """
    if kind is SendKind.POOL:
        return _address(_chains()[src_chain_id]["contract_addr"])
    for pair in network_document()["pegged_pairs"]:
        deposits = (pair["symbol"], pair["org_chain_id"], pair["pegged_chain_id"])
        if kind is SendKind.DEPOSIT and deposits == (symbol, src_chain_id, dst_chain_id):
            return _address(pair["pegged_deposit_contract_addr"])
        if kind is SendKind.BURN and (pair["symbol"], pair["pegged_chain_id"]) == (symbol, src_chain_id):
            return _address(pair["pegged_burn_contract_addr"])
    raise KeyError((kind, symbol, src_chain_id, dst_chain_id))


@lru_cache(maxsize=1)
def _chains() -> dict[int, dict[str, Any]]:
    return {chain["id"]: chain for chain in network_document()["chains"]}


@lru_cache(maxsize=1)
def _tokens() -> dict[tuple[int, str], SandboxToken]:
    return {
        (token["chain_id"], token["symbol"]): SandboxToken(_address(token["address"]), token["decimal"])
        for token in network_document()["tokens"]
    }


def _address(text: str) -> bytes:
    address = parse_evm_address(text)
    if address is None:
        raise ValueError(f"not an EVM address: {text!r}")
    return address
