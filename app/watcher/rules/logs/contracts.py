"""The events of the contracts: signature, where each argument is, and which contract logs it.

No argument is indexed. So a log has one topic, the hash of the signature, and its data have every argument. A
log that has the topic but not the form raises ``Undecodable``: nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from app.values.crypto import keccak256
from app.watcher.rules.blocks import Log
from app.watcher.rules.logs.values import (
    WORD,
    Burn,
    DelayedTransferAdded,
    DelayedTransferExecuted,
    Deposited,
    LiquidityAdded,
    Mint,
    Relay,
    Said,
    Send,
    SignersUpdated,
    Undecodable,
    WithdrawDone,
    Withdrawn,
    address,
    bytes32,
    uint32,
    uint64,
    uint256,
)


def signers_updated(data: bytes) -> SignersUpdated:
    """The lists of signers and powers.

    Offsets and lengths are accepted where they point into the data, behind the two offsets.
    """
    signers = tuple(address(data, at) for at in _entries(data, 0))
    powers = tuple(uint256(data, at) for at in _entries(data, WORD))
    return SignersUpdated(signers, powers)


def _entries(data: bytes, at: int) -> range:
    """Where the entries of a list begin whose offset is at ``at``."""
    if len(data) < 2 * WORD:
        raise Undecodable(f"two lists need at least {2 * WORD} bytes, not {len(data)}")
    offset = uint256(data, at)
    if not 2 * WORD <= offset <= len(data) - WORD:
        raise Undecodable("a list begins outside the data")
    length = uint256(data, offset)
    first = offset + WORD
    if first + length * WORD > len(data):
        raise Undecodable(f"a list of {length} entries does not fit into the data")
    return range(first, first + length * WORD, WORD)


class Role(StrEnum):
    POOL = "pool bridge"
    VAULT = "vault"
    BRIDGE = "pegged bridge"


class EventShape(Struct, frozen=True):
    """One event of the contracts.

    :param size: of its data in bytes; None where it differs from log to log.
    :param logged_by: the contracts whose logs of this event count. In logs of others it means nothing.
    """

    signature: str
    read: Callable[[bytes], Said]
    size: int | None
    logged_by: frozenset[Role]

    @property
    def topic(self) -> bytes:
        """The hash by which its logs are found."""
        return keccak256(self.signature.encode("ascii"))


def _send(d: bytes) -> Send:
    return Send(
        d[:32], address(d, 32), address(d, 64), address(d, 96), uint256(d, 128),
        uint64(d, 160), uint64(d, 192), uint32(d, 224),
    )  # fmt: skip


def _relay(d: bytes) -> Relay:
    return Relay(
        d[:32], address(d, 32), address(d, 64), address(d, 96), uint256(d, 128),
        uint64(d, 160), bytes32(d, 192),
    )  # fmt: skip


def _liquidity_added(d: bytes) -> LiquidityAdded:
    return LiquidityAdded(uint64(d, 0), address(d, 32), address(d, 64), uint256(d, 96))


def _withdraw_done(d: bytes) -> WithdrawDone:
    return WithdrawDone(
        d[:32], uint64(d, 32), address(d, 64), address(d, 96), uint256(d, 128), bytes32(d, 160)
    )


def _delayed_executed(d: bytes) -> DelayedTransferExecuted:
    return DelayedTransferExecuted(d[:32], address(d, 32), address(d, 64), uint256(d, 96))


def _deposited_v1(d: bytes) -> Deposited:
    return Deposited(d[:32], address(d, 32), address(d, 64), uint256(d, 96), uint64(d, 128), address(d, 160))


def _deposited_v2(d: bytes) -> Deposited:
    return Deposited(
        d[:32], address(d, 32), address(d, 64), uint256(d, 96), uint64(d, 128), address(d, 160),
        uint64(d, 192),
    )  # fmt: skip


def _withdrawn(d: bytes) -> Withdrawn:
    return Withdrawn(
        d[:32], address(d, 32), address(d, 64), uint256(d, 96), uint64(d, 128), bytes32(d, 160),
        address(d, 192),
    )  # fmt: skip


def _mint(d: bytes) -> Mint:
    return Mint(
        d[:32], address(d, 32), address(d, 64), uint256(d, 96), uint64(d, 128), bytes32(d, 160),
        address(d, 192),
    )  # fmt: skip


def _burn_v1(d: bytes) -> Burn:
    return Burn(d[:32], address(d, 32), address(d, 64), uint256(d, 96), 0, address(d, 128))


def _burn_v2(d: bytes) -> Burn:
    return Burn(
        d[:32], address(d, 32), address(d, 64), uint256(d, 96), uint64(d, 128), address(d, 160),
        uint64(d, 192),
    )  # fmt: skip


def _shape(signature: str, read: Callable[[bytes], Said], *logged_by: Role) -> EventShape:
    """An event that has only static arguments, a word each."""
    return EventShape(signature, read, WORD * (signature.count(",") + 1), frozenset(logged_by))


EVENTS: Final = (
    _shape("Send(bytes32,address,address,address,uint256,uint64,uint64,uint32)", _send, Role.POOL),
    _shape("Relay(bytes32,address,address,address,uint256,uint64,bytes32)", _relay, Role.POOL),
    _shape("LiquidityAdded(uint64,address,address,uint256)", _liquidity_added, Role.POOL),
    _shape("WithdrawDone(bytes32,uint64,address,address,uint256,bytes32)", _withdraw_done, Role.POOL),
    EventShape("SignersUpdated(address[],uint256[])", signers_updated, None, frozenset({Role.POOL})),
    _shape("Deposited(bytes32,address,address,uint256,uint64,address)", _deposited_v1, Role.VAULT),
    _shape("Deposited(bytes32,address,address,uint256,uint64,address,uint64)", _deposited_v2, Role.VAULT),
    _shape("Withdrawn(bytes32,address,address,uint256,uint64,bytes32,address)", _withdrawn, Role.VAULT),
    _shape("Mint(bytes32,address,address,uint256,uint64,bytes32,address)", _mint, Role.BRIDGE),
    _shape("Burn(bytes32,address,address,uint256,address)", _burn_v1, Role.BRIDGE),
    _shape("Burn(bytes32,address,address,uint256,uint64,address,uint64)", _burn_v2, Role.BRIDGE),
    _shape("DelayedTransferAdded(bytes32)", DelayedTransferAdded, *Role),
    _shape("DelayedTransferExecuted(bytes32,address,address,uint256)", _delayed_executed, *Role),
)

SHAPES: Final = {shape.topic: shape for shape in EVENTS}

TOPICS: Final[Sequence[bytes]] = tuple(SHAPES)


_ENDS: Final = frozenset(
    topic
    for topic, shape in SHAPES.items()
    if shape.signature.partition("(")[0]
    in ("Relay", "WithdrawDone", "Withdrawn", "Mint", "DelayedTransferExecuted")
)


def is_end(topics: Sequence[bytes]) -> bool:
    """Whether a log may end a transfer: a payout, a mint or a refund."""
    return bool(topics) and topics[0] in _ENDS


_DELAYS: Final = frozenset(
    topic for topic, shape in SHAPES.items() if shape.signature.startswith("DelayedTransferAdded(")
)


def is_delay(topics: Sequence[bytes]) -> bool:
    """Whether a log says that a payout of its transaction was queued, and is not paid yet."""
    return bool(topics) and topics[0] in _DELAYS


def decode(log: Log) -> Said:
    """What a log says.

    :raises Undecodable: the log is of no such event, or does not have its event's form.
    """
    topics, data = log.topics, log.data
    shape = SHAPES.get(topics[0]) if topics else None
    if shape is None:
        raise Undecodable("it is not an event of these contracts")
    if len(topics) != 1:
        raise Undecodable(
            f"{shape.signature} has {len(topics) - 1} indexed arguments; the contracts have none"
        )
    if shape.size is not None and len(data) != shape.size:
        raise Undecodable(f"{shape.signature} has {len(data)} bytes of data, not {shape.size}")
    return shape.read(data)
