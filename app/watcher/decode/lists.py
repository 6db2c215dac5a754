"""The one event with arguments of no fixed length: two lists, each at an offset that the data tell."""

from __future__ import annotations

from app.watcher.decode.values import SignersUpdated
from app.watcher.decode.words import WORD, Undecodable, address, uint256


def signers_updated(data: bytes) -> SignersUpdated:
    """The lists of signers and powers.

    Offsets and lengths are taken as they stand where they point into the data, behind the two offsets.
    """
    signers = tuple(address(data, at) for at in _entries(data, 0))
    powers = tuple(uint256(data, at) for at in _entries(data, WORD))
    return SignersUpdated(signers, powers)


def _entries(data: bytes, at: int) -> range:
    """Where the entries of the list begin whose offset stands at ``at``."""
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
