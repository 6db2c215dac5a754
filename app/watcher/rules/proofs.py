"""Whether a block's header confirms its logs: the receipts' root, and the filter of logs.

The tests compare with the trie of a library. It takes ten times as long and would bring six others: here only
the root of a whole list is built, once from below.

The filter has 2048 bits, of which each address and each topic of a log sets three. So a bit that is not set
proves that something is not in the block; bits that are set prove nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

from msgspec import Struct

from app.values.crypto import keccak256
from app.watcher.rules.blocks import Header, Log

Item = bytes | Sequence["Item"]


def encode(item: Item) -> bytes:
    """The RLP of bytes or of a list."""
    if isinstance(item, bytes):
        if len(item) == 1 and item[0] < 0x80:
            return item
        return _prefix(len(item), 0x80) + item
    return encode_list(map(encode, item))


def encode_list(encoded: Iterable[bytes]) -> bytes:
    """The RLP of a list whose items are encoded already."""
    payload = b"".join(encoded)
    return _prefix(len(payload), 0xC0) + payload


def encode_number(number: int) -> bytes:
    """The RLP of a number: big-endian without leading zeros, no bytes for 0."""
    return encode(number.to_bytes((number.bit_length() + 7) // 8, "big"))


def _prefix(length: int, kind: int) -> bytes:
    if length < 56:
        return bytes((kind + length,))
    written = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes((kind + 55 + len(written),)) + written


EMPTY_ROOT: Final = keccak256(encode(b""))


def root_of_list(values: Sequence[bytes]) -> bytes:
    """The root of the trie that has each value under the encoded number of its position, from 0 on.

    :param values: none of them empty.
    """
    if not values:
        return EMPTY_ROOT
    return keccak256(_node(sorted((encode_number(at).hex(), value) for at, value in enumerate(values)), 0))


def _node(entries: Sequence[tuple[str, bytes]], depth: int) -> bytes:
    """The encoded node of sorted entries, a key in hexadecimal digits and its value. They agree in the first
    ``depth`` digits of their keys, and no key is the beginning of another.
    """
    key, value = entries[0]
    if len(entries) == 1:
        return encode_list((encode(_path(key[depth:], leaf=True)), encode(value)))
    last, shared = entries[-1][0], depth
    while key[shared] == last[shared]:
        shared += 1
    if shared > depth:
        below = _reference(_node(entries, shared))
        return encode_list((encode(_path(key[depth:shared], leaf=False)), below))
    branches = [b"\x80"] * 17
    for digit, below_it in groupby(entries, lambda entry: entry[0][depth]):
        branches[int(digit, 16)] = _reference(_node(list(below_it), depth + 1))
    return encode_list(branches)


def _reference(node: bytes) -> bytes:
    """How a node is named in the one above it: by its hash, or itself where that is shorter."""
    return node if len(node) < 32 else encode(keccak256(node))


def _path(digits: str, *, leaf: bool) -> bytes:
    """A part of a key, with the kind of node it leads to."""
    odd = len(digits) % 2
    return bytes.fromhex(f"{2 * leaf + odd}{'' if odd else '0'}{digits}")


_DEPOSIT: Final = 0x7E  # of an optimistic rollup: its receipt has fields of its own
BLOOM_BYTES: Final = 256


class Receipt(Struct, frozen=True):
    """What a transaction left behind.

    :param type: of the transaction (EIP-2718); 0 has no prefix.
    :param outcome: the status, 0 or 1, or the 32 bytes of the state's root before Byzantium.
    :param bloom: the filter of its own logs, 256 bytes.
    :param logs: of any contract.
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


def match(header: Header, receipts: Sequence[Receipt]) -> bool:
    """Whether the receipts give the root in the header, and the header its hash.

    False proves nothing: some chains hash their receipts or headers in another way.
    """
    root = header.receipts_root
    return header.verified and root is not None and receipts_root(receipts) == root


def filter_of(receipts: Sequence[Receipt]) -> bytes:
    """The filter that a block with these receipts has in its header."""
    bits = 0
    for receipt in receipts:
        bits |= int.from_bytes(receipt.bloom, "big")
    return bits.to_bytes(BLOOM_BYTES, "big")


def _written(receipt: Receipt) -> bytes:
    outcome = receipt.outcome
    fields = [
        encode(outcome) if isinstance(outcome, bytes) else encode_number(outcome),
        encode_number(receipt.cumulative_gas),
        encode(receipt.bloom),
        encode_list(encode((log.address, log.topics, log.data)) for log in receipt.logs),
    ]
    if receipt.type == _DEPOSIT:
        given = (receipt.deposit_nonce, receipt.deposit_version)
        fields += [encode_number(each) for each in given if each is not None]
    kind = bytes((receipt.type,)) if receipt.type else b""
    return kind + encode_list(fields)


def bloom_bits(value: bytes) -> int:
    """The bits of an address or a topic, in the filter read as one big-endian number."""
    digest = keccak256(value)
    bits = 0
    for at in (0, 2, 4):
        bits |= 1 << (int.from_bytes(digest[at : at + 2], "big") & 2047)
    return bits


class BloomTest:
    """Whether a block can hold logs of given contracts with given first topics."""

    def __init__(self, contracts: Iterable[bytes], topics: Iterable[bytes]) -> None:
        self._contracts = {contract: bloom_bits(contract) for contract in contracts}
        self._topics = {topic: bloom_bits(topic) for topic in topics}

    def may_hold(self, bloom: bytes | None) -> bool:
        """Whether the block with this filter may have such a log. True without a filter."""
        return bloom is None or len(bloom) != BLOOM_BYTES or bool(self.held(bloom))

    def held(self, bloom: bytes) -> set[tuple[bytes, bytes]]:
        """The contracts, each with a first topic, of which such a block may have a log."""
        bits = int.from_bytes(bloom, "big")
        contracts = [contract for contract, each in self._contracts.items() if each & bits == each]
        topics = [topic for topic, each in self._topics.items() if each & bits == each] if contracts else ()
        return {(contract, topic) for contract in contracts for topic in topics}
