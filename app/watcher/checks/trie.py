"""The root of a Merkle Patricia trie whose keys are the positions of a list (yellow paper, appendix D).

Only the root of a whole list is needed, so it is built once from below and nothing is kept. To fill a trie of
the library takes ten times as long; the tests compare with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from app.domain.crypto import keccak256
from app.watcher.checks.rlp import encode, encode_list, encode_number

EMPTY_ROOT: Final = keccak256(encode(b""))
"""The root of an empty list."""

_Entry = tuple[tuple[int, ...], bytes]
"""A key in half bytes, and its value."""


def root_of_list(values: Sequence[bytes]) -> bytes:
    """The root of the trie that has each value under the encoded number of its position, from 0 on.

    :param values: none of them empty.
    """
    if not values:
        return EMPTY_ROOT
    entries = sorted((_half_bytes(encode_number(at)), value) for at, value in enumerate(values))
    return keccak256(_node(entries, 0))


def _node(entries: Sequence[_Entry], depth: int) -> bytes:
    """The encoded node of these entries, which agree in the first ``depth`` half bytes of their keys."""
    key, value = entries[0]
    if len(entries) == 1:
        return encode_list((encode(_path(key[depth:], leaf=True)), encode(value)))
    shared = _shared(key, entries[-1][0], depth)
    if shared > depth:
        below = _reference(_node(entries, shared))
        return encode_list((encode(_path(key[depth:shared], leaf=False)), below))
    branches: list[bytes] = [b"\x80"] * 17
    start = 0
    for at in range(1, len(entries) + 1):
        half = entries[start][0][depth]
        if at == len(entries) or entries[at][0][depth] != half:
            branches[half] = _reference(_node(entries[start:at], depth + 1))
            start = at
    return encode_list(branches)


def _reference(node: bytes) -> bytes:
    """How a node is named in the one above it: by its hash, or itself where that is shorter."""
    return node if len(node) < 32 else encode(keccak256(node))


def _shared(first: tuple[int, ...], last: tuple[int, ...], depth: int) -> int:
    """How far sorted keys agree: as far as the first and the last do. None is the beginning of another."""
    while first[depth] == last[depth]:
        depth += 1
    return depth


def _half_bytes(key: bytes) -> tuple[int, ...]:
    return tuple(half for byte in key for half in (byte >> 4, byte & 15))


def _path(halves: tuple[int, ...], *, leaf: bool) -> bytes:
    """Half bytes in whole ones, with what kind of node they lead to."""
    flag = 2 if leaf else 0
    padded = (flag + 1, *halves) if len(halves) % 2 else (flag, 0, *halves)
    return bytes(high << 4 | low for high, low in zip(padded[::2], padded[1::2], strict=True))
