"""What a header's filter says of the logs in its block (Ethereum's yellow paper, section 4.4.1).

The filter has 2048 bits. Each address and each topic of a log sets three of them, so a bit that is not set
proves that something is not in the block; bits that are set prove nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from app.domain.crypto import keccak256

BLOOM_BYTES: Final = 256


def bloom_bits(value: bytes) -> int:
    """The bits of an address or a topic, the filter read as one big-endian number."""
    digest = keccak256(value)
    bits = 0
    for at in (0, 2, 4):
        bits |= 1 << (int.from_bytes(digest[at : at + 2], "big") & 2047)
    return bits


class BloomTest:
    """Whether a block can hold logs of given contracts with given first topics."""

    def __init__(self, contracts: Iterable[bytes], topics: Iterable[bytes]) -> None:
        self._contracts = tuple(map(bloom_bits, contracts))
        self._topics = tuple(map(bloom_bits, topics))

    def may_hold(self, bloom: bytes | None) -> bool:
        """Whether the block of this filter may have such a log. Without a filter it may."""
        if bloom is None or len(bloom) != BLOOM_BYTES:
            return True
        bits = int.from_bytes(bloom, "big")
        return any(each & bits == each for each in self._contracts) and any(
            each & bits == each for each in self._topics
        )
