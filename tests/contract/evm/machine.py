"""A real EVM in process, with one bridge contract on a chain of the test's choice."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from eth.chains.base import MiningChain
from eth.constants import ZERO_ADDRESS, ZERO_HASH32
from eth.db.atomic import AtomicDB
from eth.vm.forks import CancunVM
from eth_abi import encode
from eth_typing import Address
from eth_utils import keccak
from eth_utils import to_checksum_address as checksummed

FOLDER = Path(__file__).parent
COMPILED: dict[str, Any] = json.loads((FOLDER / "bridges.json").read_text())
NAMES = {"pool": "PoolBridge", "deposit": "TokenVault", "burn": "PeggedBridge"}
FUNCTIONS = {"pool": "withdraw", "deposit": "withdraw", "burn": "mint"}
TYPES = ("bytes", "bytes[]", "address[]", "uint256[]")
ERRORS = ("WrongSet()", "NotAscending(uint256)", "NoQuorum(uint256,uint256)", "BadSignature(uint256)")

_SELECTORS = {keccak(text=error)[:4]: error.partition("(")[0] for error in ERRORS}
_GENESIS: dict[str, Any] = {
    "difficulty": 0,
    "gas_limit": 30_000_000,
    "timestamp": 1,
    "coinbase": ZERO_ADDRESS,
    "extra_data": b"",
    "nonce": bytes(8),
    "mix_hash": ZERO_HASH32,
}
_CALLER = cast("Address", b"\x01" * 20)


class Reverted(Exception):
    """The contract refused; the message is its error."""


class Contract:
    """A bridge contract that stands at an address of a chain and keeps a validator set."""

    def __init__(self, kind: str, chain_id: int, address: bytes, powers: Mapping[bytes, int]) -> None:
        self.kind = kind
        self.address = cast("Address", address)
        self.code = bytes.fromhex(COMPILED["contracts"][NAMES[kind]]["code"][2:])
        chain = MiningChain.configure(
            __name__=f"Chain{chain_id}", vm_configuration=((0, CancunVM),), chain_id=chain_id
        )
        self.vm = chain.from_genesis(AtomicDB(), _GENESIS, {}).get_vm()
        self.vm.state.set_code(self.address, self.code)
        self.keep(powers)

    def keep(self, powers: Mapping[bytes, int]) -> None:
        """Let the set of these addresses and powers be the contract's: what a rotation does.

        The contract itself hashes it.
        """
        signers = sorted(powers)
        data = keccak(text="setHash(address[],uint256[])")[:4] + encode(
            ["address[]", "uint256[]"], [[*map(checksummed, signers)], [powers[who] for who in signers]]
        )
        self.vm.state.set_storage(self.address, 0, int.from_bytes(self.send(data), "big"))

    def send(self, data: bytes) -> bytes:
        """Call with these bytes; return what comes back. Raises Reverted."""
        computation = self.vm.execute_bytecode(
            origin=_CALLER,
            gas_price=0,
            gas=20_000_000,
            to=self.address,
            sender=_CALLER,
            value=0,
            data=data,
            code=self.code,
            code_address=self.address,
        )
        if computation.is_error:
            raise Reverted(
                _SELECTORS.get(computation.output[:4], f"reverted with {computation.output.hex()}")
            )
        return bytes(computation.output)

    def pay(self, request: bytes, sigs: list[bytes], signers: list[bytes], powers: list[int]) -> bytes:
        """Make the call that pays a refund; return the digest that was signed. Raises Reverted."""
        signature = f"{FUNCTIONS[self.kind]}({','.join(TYPES)})"
        arguments = encode(TYPES, [request, sigs, [*map(checksummed, signers)], powers])
        return self.send(keccak(text=signature)[:4] + arguments)
