"""What the events of the contracts say, as their logs have it (docs/interface/contracts.md#transfer-ids).

A contract pads an address or a short integer with zeros. Other padding cannot come from such a contract. It
is refused, as its value would be wrong.

Ids are 32 raw bytes, addresses 20, amounts in the token's smallest unit. The fields are in the order of the
event's arguments. The same thing has the same name in each.
"""

from __future__ import annotations

from typing import Final, NamedTuple

WORD: Final = 32
_ADDRESS_PADDING: Final = bytes(12)


class Undecodable(ValueError):
    """A log's bytes do not have the form of its event; the message says how."""


def bytes32(data: bytes, at: int) -> bytes:
    return data[at : at + WORD]


def address(data: bytes, at: int) -> bytes:
    if data[at : at + 12] != _ADDRESS_PADDING:
        raise Undecodable(f"the word at byte {at} is not an address: its first 12 bytes are not zero")
    return data[at + 12 : at + WORD]


def uint256(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + WORD], "big")


def uint64(data: bytes, at: int) -> int:
    value = int.from_bytes(data[at : at + WORD], "big")
    if value >> 64:
        raise Undecodable(f"the word at byte {at} is not a uint64")
    return value


def uint32(data: bytes, at: int) -> int:
    value = int.from_bytes(data[at : at + WORD], "big")
    if value >> 32:
        raise Undecodable(f"the word at byte {at} is not a uint32")
    return value


class Send(NamedTuple):
    """The pool bridge took funds."""

    transfer_id: bytes
    sender: bytes
    receiver: bytes
    token: bytes
    amount: int
    dst_chain_id: int
    nonce: int
    max_slippage: int


class Relay(NamedTuple):
    """The pool bridge paid a transfer out, or queued the payout under ``payout_id``."""

    payout_id: bytes
    sender: bytes
    receiver: bytes
    token: bytes
    amount: int
    src_chain_id: int
    transfer_id: bytes


class LiquidityAdded(NamedTuple):
    seqnum: int
    provider: bytes
    token: bytes
    amount: int


class WithdrawDone(NamedTuple):
    """The pool bridge took a withdraw request. A refund has the transfer id as ``refid``."""

    payout_id: bytes
    seqnum: int
    receiver: bytes
    token: bytes
    amount: int
    refid: bytes


class DelayedTransferAdded(NamedTuple):
    """A payout waits in the delay queue of the contract that logged this."""

    payout_id: bytes


class DelayedTransferExecuted(NamedTuple):
    """A payout of the delay queue was paid."""

    payout_id: bytes
    receiver: bytes
    token: bytes
    amount: int


class SignersUpdated(NamedTuple):
    """The chain's whole new validator set."""

    signers: tuple[bytes, ...]
    powers: tuple[int, ...]


class Deposited(NamedTuple):
    """A vault took funds. The first version of the contract has no nonce."""

    transfer_id: bytes
    depositor: bytes
    token: bytes
    amount: int
    mint_chain_id: int
    mint_account: bytes
    nonce: int | None = None


class Withdrawn(NamedTuple):
    """A vault paid, or queued the payout under ``payout_id``."""

    payout_id: bytes
    receiver: bytes
    token: bytes
    amount: int
    ref_chain_id: int
    ref_id: bytes
    burn_account: bytes


class Mint(NamedTuple):
    """A pegged bridge minted, or queued the mint under ``payout_id``."""

    payout_id: bytes
    token: bytes
    account: bytes
    amount: int
    ref_chain_id: int
    ref_id: bytes
    depositor: bytes


class Burn(NamedTuple):
    """A pegged bridge burned. The first version of the contract names neither a chain nor a nonce."""

    transfer_id: bytes
    token: bytes
    account: bytes
    amount: int
    to_chain_id: int
    to_account: bytes
    nonce: int | None = None


Said = (
    Send
    | Relay
    | LiquidityAdded
    | WithdrawDone
    | DelayedTransferAdded
    | DelayedTransferExecuted
    | SignersUpdated
    | Deposited
    | Withdrawn
    | Mint
    | Burn
)
