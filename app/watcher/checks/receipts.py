"""Receipts against the root that a header has of them: what is in the block, all of it and no more."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.watching.blocks import Header, Log
from app.watcher.checks.rlp import encode, encode_list, encode_number
from app.watcher.checks.trie import root_of_list

_DEPOSIT: Final = 0x7E
"""The type of a deposit of an optimistic rollup, whose receipt has fields of its own."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a transaction left behind.

    :param type: of the transaction (EIP-2718); 0 has no prefix.
    :param outcome: the status, 0 or 1, or the 32 bytes of the state's root before Byzantium.
    :param bloom: the filter of its own logs, 256 bytes.
    :param logs: all of them, of whichever contract.
    :param deposit_nonce: of a rollup's deposit, None elsewhere; ``deposit_version`` likewise.
    """

    type: int
    outcome: int | bytes
    cumulative_gas: int
    bloom: bytes
    logs: Sequence[Log]
    deposit_nonce: int | None = None
    deposit_version: int | None = None


def receipts_root(receipts: Sequence[Receipt]) -> bytes:
    """The root over the receipts of a block, in the order of its transactions."""
    return root_of_list([_written(receipt) for receipt in receipts])


def proves(
    header: Header,
    receipts: Sequence[Receipt],
    read: Sequence[Log],
    contracts: Collection[bytes],
    topics: Collection[bytes],
) -> bool:
    """Whether the receipts are the block's, and hold just these logs of the contracts and topics.

    False proves nothing: some chains hash their receipts in a way of their own.

    :param read: the block's logs as they were read.
    """
    if header.receipts_root is None or receipts_root(receipts) != header.receipts_root:
        return False
    ours = [
        (log.address, log.topics, log.data)
        for receipt in receipts
        for log in receipt.logs
        if log.address in contracts and log.topics and log.topics[0] in topics
    ]
    return ours == [(log.address, log.topics, log.data) for log in read]


def _written(receipt: Receipt) -> bytes:
    outcome = receipt.outcome
    fields = [
        encode(outcome) if isinstance(outcome, bytes) else encode_number(outcome),
        encode_number(receipt.cumulative_gas),
        encode(receipt.bloom),
        encode_list(encode((log.address, log.topics, log.data)) for log in receipt.logs),
    ]
    if receipt.type == _DEPOSIT:
        told = (receipt.deposit_nonce, receipt.deposit_version)
        fields += [encode_number(each) for each in told if each is not None]
    kind = bytes((receipt.type,)) if receipt.type else b""
    return kind + encode_list(fields)
