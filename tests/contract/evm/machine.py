"""A real EVM in process, with the contracts of a bridge at addresses of the test's choice."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from eth.chains.base import MiningChain
from eth.constants import ZERO_ADDRESS, ZERO_HASH32
from eth.db.atomic import AtomicDB
from eth.vm.forks.cancun import CancunVM
from eth.vm.spoof import SpoofTransaction
from eth_abi.abi import decode, encode
from eth_typing import Address
from eth_utils.address import to_checksum_address as checksummed
from eth_utils.crypto import keccak

FOLDER = Path(__file__).parent
COMPILED: dict[str, Any] = json.loads((FOLDER / "bridges.json").read_text())
NAMES = {"pool": "PoolBridge", "deposit": "TokenVaultV{}", "burn": "PeggedBridgeV{}"}
FUNCTIONS = {"pool": "withdraw", "deposit": "withdraw", "burn": "mint"}
DOMAIN_TEXTS = {"pool": "WithdrawMsg", "deposit": "Withdraw", "burn": "Mint"}
TYPES = ("bytes", "bytes[]", "address[]", "uint256[]")

USER = b"\x01" * 20
"""The sender of transactions, unless the test names another."""

START = 1_780_000_000
"""When a chain's clock begins, in seconds since 1970."""

_GENESIS: dict[str, Any] = {
    "difficulty": 0,
    "gas_limit": 60_000_000,
    "timestamp": START,
    "coinbase": ZERO_ADDRESS,
    "extra_data": b"",
    "nonce": bytes(8),
    "mix_hash": ZERO_HASH32,
}
_GAS = 20_000_000
_GAS_PRICE = 10**10
_RICH = 10**30


def _signature(entry: Mapping[str, Any]) -> str:
    return f"{entry['name']}({','.join(each['type'] for each in entry['inputs'])})"


_ENTRIES = [entry for of in COMPILED["contracts"].values() for entry in of["abi"] if "name" in entry]
_ERRORS = {keccak(text=_signature(e))[:4]: e["name"] for e in _ENTRIES if e["type"] == "error"}
_EVENTS = {keccak(text=_signature(e)): e for e in _ENTRIES if e["type"] == "event"}


class Reverted(Exception):
    """The contract refused; the message is its error."""


@dataclass(frozen=True)
class Receipt:
    """What a transaction did: bytes returned, events by name with their arguments, gas that was paid, and the
    events as logs: address, topics and data."""

    output: bytes
    events: list[tuple[str, dict[str, Any]]]
    gas: int
    logs: list[tuple[bytes, tuple[bytes, ...], bytes]]

    def event(self, name: str) -> dict[str, Any]:
        """The arguments of the one event of this name."""
        [arguments] = [arguments for other, arguments in self.events if other == name]
        return arguments

    @property
    def names(self) -> list[str]:
        """The names of the events, in their order."""
        return [name for name, _ in self.events]


class Chain:
    """One chain; the test sets its clock."""

    def __init__(self, chain_id: int) -> None:
        chain = MiningChain.configure(
            __name__=f"Chain{chain_id}", vm_configuration=((0, CancunVM),), chain_id=chain_id
        )
        self.vm = chain.from_genesis(AtomicDB(), _GENESIS, {}).get_vm()
        self.state = self.vm.state
        self.wait(START - self.now)

    def place(self, name: str, address: bytes) -> Placed:
        """Put a contract at an address."""
        code = bytes.fromhex(COMPILED["contracts"][name]["code"][2:])
        self.state.set_code(cast("Address", address), code)
        return Placed(self, name, address)

    @property
    def now(self) -> int:
        """The time of the block."""
        return self.state.timestamp

    def wait(self, seconds: int) -> None:
        """Let the time go on."""
        self.state.execution_context._timestamp += seconds  # type: ignore[attr-defined]

    def coins(self, address: bytes) -> int:
        """The native coin that an address has."""
        return self.state.get_balance(cast("Address", address))

    def give_coins(self, address: bytes, amount: int) -> None:
        """Native coin out of nothing."""
        self.state.delta_balance(cast("Address", address), amount)

    @contextmanager
    def undone(self) -> Iterator[None]:
        """Afterwards everything is as it was before: the calls in between were simulated."""
        snapshot, timestamp = self.state.snapshot(), self.now
        try:
            yield
        finally:
            self.state.revert(snapshot)
            self.wait(timestamp - self.now)

    def transact(self, to: bytes, data: bytes, sender: bytes = USER, value: int = 0) -> Receipt:
        """Send a transaction. Raises Reverted, and then nothing has changed but the sender's nonce."""
        account = cast("Address", sender)
        self.state.set_balance(account, _RICH)
        unsigned = self.vm.create_unsigned_transaction(
            nonce=self.state.get_nonce(account), gas_price=_GAS_PRICE, gas=_GAS,
            to=cast("Address", to), value=value, data=data,
        )  # fmt: skip
        # A receiver is paid in native coin: only the gas must be measured.
        before = self.coins(account)
        computation = self.state.apply_transaction(cast("Any", SpoofTransaction(unsigned, from_=account)))
        gas = (before - value - self.coins(account)) // _GAS_PRICE
        if computation.is_error:
            output = computation.output
            raise Reverted(_ERRORS.get(output[:4], f"reverted with {output.hex()}"))
        entries = computation.get_log_entries()
        events = [_event(topics, data) for _, topics, data in entries]
        logs = [
            (bytes(where), tuple(topic.to_bytes(32, "big") for topic in topics), bytes(data))
            for where, topics, data in entries
        ]
        return Receipt(bytes(computation.output), events, gas, logs)


def _event(topics: tuple[int, ...], data: bytes) -> tuple[str, dict[str, Any]]:
    entry = _EVENTS[topics[0].to_bytes(32, "big")]
    values = decode([each["type"] for each in entry["inputs"]], data)
    return entry["name"], dict(zip((each["name"] for each in entry["inputs"]), values, strict=True))


@dataclass(frozen=True)
class Placed:
    """A contract at an address of a chain."""

    chain: Chain
    name: str
    address: bytes

    def encoded(self, function: str, *arguments: Any) -> bytes:
        """The data of a call of one of its functions; addresses are bytes."""
        [entry] = [each for each in COMPILED["contracts"][self.name]["abi"] if each.get("name") == function]
        types = [each["type"] for each in entry["inputs"]]
        given = [_checksummed(*pair) for pair in zip(types, arguments, strict=True)]
        return keccak(text=_signature(entry))[:4] + encode(types, given)

    def call(self, function: str, *arguments: Any, sender: bytes = USER) -> Receipt:
        """Call one of its functions in a transaction. Raises Reverted."""
        return self.send(self.encoded(function, *arguments), sender)

    def send(self, data: bytes, sender: bytes = USER) -> Receipt:
        """Call it with these bytes in a transaction. Raises Reverted."""
        return self.chain.transact(self.address, data, sender)

    def simulate(self, data: bytes) -> Receipt:
        """As ``send``, but nothing remains of it: as a wallet tries it at a node first. Raises Reverted."""
        with self.chain.undone():
            return self.send(data)

    def read(self, function: str, *arguments: Any) -> int:
        """What a function returns, as a number."""
        return int.from_bytes(self.simulate(self.encoded(function, *arguments)).output[:32], "big")


def _checksummed(abi_type: str, value: Any) -> Any:
    if abi_type == "address":
        return checksummed(value)
    return [checksummed(each) for each in value] if abi_type == "address[]" else value


@dataclass(frozen=True)
class Call:
    """The arguments of the call that pays a refund."""

    request: bytes
    sigs: list[bytes]
    signers: list[bytes]
    powers: list[int]

    def but(self, **changes: Any) -> Call:
        """With some of them changed."""
        return replace(self, **changes)


class Bridge:
    """A contract that pays refunds, with a token that it holds or mints."""

    def __init__(
        self,
        kind: str,
        chain: Chain,
        address: bytes,
        powers: Mapping[bytes, int],
        token: bytes | None = None,
        version: int = 2,
    ) -> None:
        self.kind, self.chain = kind, chain
        self.at = chain.place(NAMES[kind].format(version), address)
        self.set_validators(powers)
        self.token = chain.place("Token", token) if token else None
        if self.token and kind != "burn":
            self.token.call("mint", address, 10**30)

    def set_validators(self, powers: Mapping[bytes, int]) -> None:
        """Let the set of these addresses and powers be the contract's: what a rotation does."""
        signers = sorted(powers)
        self.at.call("updateSigners", signers, [powers[account] for account in signers])

    def reset(self, signers: Sequence[bytes], powers: Sequence[int]) -> Receipt:
        """Let the owner replace the set, in this order. Raises Reverted for what the contract refuses."""
        return self.at.call("resetSigners", list(signers), list(powers))

    @property
    def set_hash(self) -> int:
        """The hash of the set that it stores."""
        return self.at.read("ssHash")

    def digest(self, request: bytes) -> str:
        """What validators sign for this contract, in hex, as it computes it itself."""
        return f"0x{self.at.read('digestOf', request, DOMAIN_TEXTS[self.kind]):064x}"

    def data(self, call: Call) -> bytes:
        """The data of a refund's call."""
        return self.at.encoded(FUNCTIONS[self.kind], call.request, call.sigs, call.signers, call.powers)

    def outcome_of(self, call: Call) -> str:
        """The digest that is signed, if the contract pays; else its error. Nothing remains of the call."""
        try:
            self.at.simulate(self.data(call))
        except Reverted as reverted:
            return str(reverted)
        return self.digest(call.request)

    def balance(self, owner: bytes) -> int:
        """What an account has of the token."""
        assert self.token is not None
        return self.token.read("balanceOf", owner)
