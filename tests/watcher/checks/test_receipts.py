"""Roots of receipts against the libraries of the EVM in Python."""

from __future__ import annotations

import random
from typing import Any

import pytest
import rlp
from eth.db.trie import make_trie_root_and_nodes
from eth.rlp.logs import Log as LibraryLog
from eth.rlp.receipts import Receipt as LibraryReceipt
from eth.vm.forks.cancun.receipts import CancunReceiptBuilder
from eth_bloom import BloomFilter
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from trie import HexaryTrie

from app.watcher.rules.blocks import Log
from app.watcher.rules.proofs import (
    EMPTY_ROOT,
    Receipt,
    encode,
    encode_number,
    filter_of,
    match,
    receipts_root,
    root_of_list,
)
from tests.watcher.logs import header, send

ITEMS = st.recursive(st.binary(max_size=80), lambda inner: st.lists(inner, max_size=6), max_leaves=20)


@given(ITEMS)
def test_items_are_encoded_as_by_the_library(item: Any) -> None:
    assert encode(item) == rlp.encode(item)


@given(st.integers(0, 2**256))
def test_numbers_are_encoded_as_by_the_library(number: int) -> None:
    assert encode_number(number) == rlp.encode(number)


@pytest.mark.parametrize("length", [0, 1, 54, 55, 56, 255, 256, 70_000])
def test_lengths_at_the_borders(length: int) -> None:
    assert encode(b"\xff" * length) == rlp.encode(b"\xff" * length)
    assert encode([b"\x01"] * length) == rlp.encode([b"\x01"] * length)


def foreign(n: int) -> Log:
    return replace(send(index=n), address=n.to_bytes(20, "big"), topics=(bytes([n % 256]) * 32,) * (n % 5))


def receipts(count: int, seed: int) -> list[Receipt]:
    """Receipts of all types with logs of anybody, one of ours in each third."""
    chance = random.Random(seed)
    made = []
    for n in range(count):
        logs = [foreign(chance.randrange(1000)) for _ in range(chance.randrange(4))]
        if n % 3 == 0:
            logs.append(send(index=n))
        filled = [log.address for log in logs] + [topic for log in logs for topic in log.topics]
        bloom = int(BloomFilter.from_iterable(filled)).to_bytes(256, "big")
        outcome = chance.choice([0, 1])
        made.append(Receipt(chance.choice([0, 1, 2, 3]), outcome, 21_000 * (n + 1), bloom, logs))
    return made


def of_library(receipt: Receipt) -> Any:
    """The same receipt for the library, which makes the filter itself."""
    logs = [
        LibraryLog(log.address, tuple(int.from_bytes(topic, "big") for topic in log.topics), log.data)
        for log in receipt.logs
    ]
    plain = LibraryReceipt(b"\x01" if receipt.outcome else b"", receipt.cumulative_gas, logs)
    return CancunReceiptBuilder.typed_receipt_class(receipt.type, plain) if receipt.type else plain


@pytest.mark.parametrize("count", [0, 1, 2, 3, 16, 17, 127, 128, 129, 300])
def test_roots_are_those_of_the_library(count: int) -> None:
    made = receipts(count, seed=count)
    expected, _nodes = make_trie_root_and_nodes([of_library(each) for each in made])
    assert receipts_root(made) == expected


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=40))
def test_roots_of_short_values(values: list[bytes]) -> None:
    """Nodes under 32 bytes are in the one above them themselves."""
    trie = HexaryTrie({})
    for at, value in enumerate(values):
        trie[rlp.encode(at)] = value
    assert root_of_list(values) == trie.root_hash


def test_root_of_nothing_is_known() -> None:
    assert root_of_list([]).hex() == "56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421"
    assert root_of_list([]) == EMPTY_ROOT


def test_rollup_deposit_has_own_fields() -> None:
    plain = Receipt(0x7E, 1, 21_000, bytes(256), [])
    with_nonce = replace(plain, deposit_nonce=5)
    full = replace(with_nonce, deposit_version=1)
    body = [b"\x01", rlp.sedes.big_endian_int.serialize(21_000), bytes(256), []]
    for receipt, more in ((plain, []), (with_nonce, [b"\x05"]), (full, [b"\x05", b"\x01"])):
        assert receipts_root([receipt]) == root_of_list([b"\x7e" + rlp.encode([*body, *more])])


def test_state_root_replaces_status() -> None:
    old = Receipt(0, b"\x07" * 32, 21_000, bytes(256), [])
    assert receipts_root([old]) == root_of_list([rlp.encode([b"\x07" * 32, b"R\x08", bytes(256), []])])


def test_receipts_match_verified_header_only() -> None:
    made = receipts(9, seed=1)
    block = header(100, receipts_root=receipts_root(made), verified=True)
    assert match(block, made)
    assert not match(replace(block, verified=False), made)
    assert not match(block, made[1:])
    assert not match(block, [replace(made[0], cumulative_gas=1), *made[1:]])


@pytest.mark.parametrize("count", [0, 1, 40])
def test_filter_of_receipts_is_that_of_the_library(count: int) -> None:
    made = receipts(count, seed=count)
    logs = [log for each in made for log in each.logs]
    filled = [log.address for log in logs] + [topic for log in logs for topic in log.topics]
    assert filter_of(made) == int(BloomFilter.from_iterable(filled)).to_bytes(256, "big")
