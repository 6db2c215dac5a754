"""The logs of the bridge contracts as bytes, encoded independently of the code that reads them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from app.values.crypto import keccak256

SIGNATURES: Final = {
    "Send": "Send(bytes32,address,address,address,uint256,uint64,uint64,uint32)",
    "Relay": "Relay(bytes32,address,address,address,uint256,uint64,bytes32)",
    "LiquidityAdded": "LiquidityAdded(uint64,address,address,uint256)",
    "WithdrawDone": "WithdrawDone(bytes32,uint64,address,address,uint256,bytes32)",
    "Deposited": "Deposited(bytes32,address,address,uint256,uint64,address,uint64)",
    "Withdrawn": "Withdrawn(bytes32,address,address,uint256,uint64,bytes32,address)",
    "Mint": "Mint(bytes32,address,address,uint256,uint64,bytes32,address)",
    "Burn": "Burn(bytes32,address,address,uint256,uint64,address,uint64)",
}
TOPICS: Final = {name: keccak256(signature.encode()) for name, signature in SIGNATURES.items()}


@dataclass(frozen=True, slots=True)
class Bridges:
    """The contracts of one chain and the tokens that pass through them; each address 20 bytes.

    :param tokens: those of the pool, with a chain id to send each to.
    """

    chain_id: int
    pool: bytes
    tokens: tuple[tuple[bytes, int], ...]
    vault: bytes | None = None
    deposited: tuple[bytes, int] | None = None
    bridge: bytes | None = None
    burned: tuple[bytes, int] | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """A log before it has a block."""

    address: bytes
    topic: bytes
    data: bytes


MIX: Final = (
    *["Send"] * 40,
    *["Relay"] * 40,
    *["Deposited"] * 5,
    *["Burn"] * 5,
    *["Mint"] * 4,
    *["Withdrawn"] * 3,
    *["LiquidityAdded"] * 2,
    "WithdrawDone",
)
"""How many of a hundred logs are of which kind; without pegged tokens these are sends and relays."""


def make(bridges: Bridges, seed: str, number: int) -> Made:
    """The log of that number: always the same one."""
    digest = hashlib.sha256(f"{seed}/{number}".encode()).digest()
    name = MIX[digest[0] % len(MIX)]
    if name in ("Deposited", "Withdrawn") and bridges.vault is None:
        name = "Send"
    if name in ("Burn", "Mint") and bridges.bridge is None:
        name = "Relay"
    address, words = _WORDS[name](bridges, digest, number)
    return Made(address, TOPICS[name], b"".join(_word(word) for word in words))


_Word: TypeAlias = bytes | int
_Made: TypeAlias = tuple[bytes, tuple[_Word, ...]]
_T = TypeVar("_T")


def _word(value: _Word) -> bytes:
    return value.to_bytes(32, "big") if isinstance(value, int) else value.rjust(32, b"\0")


def _send(bridges: Bridges, digest: bytes, number: int) -> _Made:
    token, to = bridges.tokens[digest[1] % len(bridges.tokens)]
    user = digest[:20]
    amount = _amount(digest)
    own_id = _packed(user, user, token, (amount, 32), (to, 8), (number, 8), (bridges.chain_id, 8))
    return bridges.pool, (own_id, user, user, token, amount, to, number, 5_000)


def _relay(bridges: Bridges, digest: bytes, number: int) -> _Made:
    token, other = bridges.tokens[digest[1] % len(bridges.tokens)]
    user = digest[:20]
    paid = (_id(digest, b"relay"), user, user, token, _amount(digest), other, _id(digest))
    return bridges.pool, paid


def _liquidity(bridges: Bridges, digest: bytes, number: int) -> _Made:
    token, _ = bridges.tokens[digest[1] % len(bridges.tokens)]
    return bridges.pool, (number, digest[:20], token, _amount(digest))


def _withdraw_done(bridges: Bridges, digest: bytes, number: int) -> _Made:
    token, _ = bridges.tokens[digest[1] % len(bridges.tokens)]
    reference = _id(digest) if digest[2] % 2 else bytes(32)
    return bridges.pool, (_id(digest, b"wd"), number, digest[:20], token, _amount(digest), reference)


def _deposited(bridges: Bridges, digest: bytes, number: int) -> _Made:
    token, to = _there(bridges.deposited)
    user = digest[:20]
    vault, amount = _there(bridges.vault), _amount(digest)
    own_id = _packed(user, token, (amount, 32), (to, 8), user, (number, 8), (bridges.chain_id, 8), vault)
    return vault, (own_id, user, token, amount, to, user, number)


def _withdrawn(bridges: Bridges, digest: bytes, number: int) -> _Made:
    token, other = _there(bridges.deposited)
    user = digest[:20]
    paid = (_id(digest, b"paid"), user, token, _amount(digest), other, _id(digest), user)
    return _there(bridges.vault), paid


def _mint(bridges: Bridges, digest: bytes, number: int) -> _Made:
    token, other = _there(bridges.burned)
    user = digest[:20]
    paid = (_id(digest, b"minted"), token, user, _amount(digest), other, _id(digest), user)
    return _there(bridges.bridge), paid


def _burn(bridges: Bridges, digest: bytes, number: int) -> _Made:
    token, to = _there(bridges.burned)
    user = digest[:20]
    bridge, amount = _there(bridges.bridge), _amount(digest)
    own_id = _packed(user, token, (amount, 32), (to, 8), user, (number, 8), (bridges.chain_id, 8), bridge)
    return bridge, (own_id, token, user, amount, to, user, number)


_WORDS: Final[dict[str, Callable[[Bridges, bytes, int], _Made]]] = {
    "Send": _send,
    "Relay": _relay,
    "LiquidityAdded": _liquidity,
    "WithdrawDone": _withdraw_done,
    "Deposited": _deposited,
    "Withdrawn": _withdrawn,
    "Mint": _mint,
    "Burn": _burn,
}


def _packed(*values: bytes | tuple[int, int]) -> bytes:
    """The id that a contract makes of these: numbers with their length in bytes."""
    parts = (value if isinstance(value, bytes) else value[0].to_bytes(value[1], "big") for value in values)
    return keccak256(b"".join(parts))


def _id(digest: bytes, what: bytes = b"id") -> bytes:
    return hashlib.sha256(what + digest).digest()


def _amount(digest: bytes) -> int:
    return 10**18 + int.from_bytes(digest[20:28])


def _there(value: _T | None) -> _T:
    if value is None:
        raise ValueError("this chain has no such contract")
    return value
