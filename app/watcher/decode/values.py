"""What the events of the contracts say, as their logs have it (docs/interface.md#transfer-ids).

Ids are 32 raw bytes, addresses 20, amounts in the token's smallest unit. The fields stand in the order of the
event's arguments, under one name for what is one thing.
"""

from __future__ import annotations

from typing import NamedTuple


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
    """A provider's deposit."""

    seqnum: int
    provider: bytes
    token: bytes
    amount: int


class WithdrawDone(NamedTuple):
    """The pool bridge took a withdraw request: a refund's has the transfer id as ``refid``."""

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
    """A pegged bridge minted, or queued that under ``payout_id``."""

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
"""What a log of the watched contracts says."""
