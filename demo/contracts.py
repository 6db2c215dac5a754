"""The contracts of tests/contract/evm on a node: put there by a transaction, called, read by their events."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eth_abi.abi import decode, encode

from app.values.crypto import checksum_address, keccak256
from demo.anvil import Anvil

COMPILED: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "tests" / "contract" / "evm" / "bridges.json").read_text()
)["contracts"]

_RETURN_THE_REST = "61{length:04x}80600a5f395ff3"
"""Creation code: copies what follows these 10 bytes and returns it. The contracts have no constructors."""


def _signature(entry: Mapping[str, Any]) -> str:
    return f"{entry['name']}({','.join(each['type'] for each in entry['inputs'])})"


_NAMED = [entry for of in COMPILED.values() for entry in of["abi"] if "name" in entry]
_EVENTS = {keccak256(_signature(e).encode()): e for e in _NAMED if e["type"] == "event"}


@dataclass(frozen=True)
class Call:
    """A transaction to be sent."""

    sender: bytes
    to: bytes | None
    data: bytes
    value: int = 0

    def send(self, node: Anvil) -> str:
        """Send it to wait for the next block; its hash."""
        return node.send(self.sender, self.to, self.data, self.value)


@dataclass(frozen=True)
class Contract:
    name: str
    address: bytes

    @property
    def text(self) -> str:
        """Its address in hex, with the letter case of its checksum."""
        return checksum_address(self.address)

    def call(self, sender: bytes, function: str, *arguments: Any, value: int = 0) -> Call:
        """A call of one of its functions; addresses are bytes."""
        [entry] = [each for each in COMPILED[self.name]["abi"] if each.get("name") == function]
        types = [each["type"] for each in entry["inputs"]]
        given = [_readable(*pair) for pair in zip(types, arguments, strict=True)]
        selector = keccak256(_signature(entry).encode())[:4]
        return Call(sender, self.address, selector + encode(types, given), value)


def _readable(abi_type: str, value: Any) -> Any:
    if abi_type == "address":
        return checksum_address(value)
    return [checksum_address(each) for each in value] if abi_type == "address[]" else value


def creation(name: str, sender: bytes) -> Call:
    """The transaction that puts a contract on a chain."""
    code = bytes.fromhex(COMPILED[name]["code"][2:])
    return Call(sender, None, bytes.fromhex(_RETURN_THE_REST.format(length=len(code))) + code)


def created_address(sender: bytes, nonce: int) -> bytes:
    """Where the contract of a sender's transaction comes to stand; for nonces up to 127."""
    if not 0 <= nonce < 128:
        raise ValueError("a nonce from 0 to 127")
    number = bytes([nonce or 0x80])
    return keccak256(bytes([0xC0 + 22]) + b"\x94" + sender + number)[12:]


def events_of(receipt: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for log in receipt["logs"]:
        entry = _EVENTS[bytes.fromhex(log["topics"][0][2:])]
        values = decode([each["type"] for each in entry["inputs"]], bytes.fromhex(log["data"][2:]))
        names = (each["name"] for each in entry["inputs"])
        found.append((entry["name"], dict(zip(names, values, strict=True))))
    return found
