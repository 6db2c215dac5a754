"""Filters of logs against eth-bloom, and digests of what was read."""

from __future__ import annotations

from eth_bloom import BloomFilter
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from app.watcher.rules.blocks import digest
from app.watcher.rules.logs.contracts import TOPICS
from app.watcher.rules.proofs import BloomTest, bloom_bits
from tests.watcher.logs import ID, POOL, VAULT, log, send, topic_of

OURS = BloomTest([POOL, VAULT], TOPICS)


def bloom(*values: bytes) -> bytes:
    return int(BloomFilter.from_iterable(values)).to_bytes(256, "big")


@given(st.binary(min_size=1, max_size=32))
def test_bits_are_those_of_the_library(value: bytes) -> None:
    assert bloom_bits(value) == int(BloomFilter.from_iterable([value]))


def test_filter_proves_absence() -> None:
    assert not OURS.may_hold(bytes(256))
    assert not OURS.may_hold(bloom(POOL, bytes(32)))
    assert not OURS.may_hold(bloom(topic_of("Send"), b"\x33" * 20))
    assert OURS.may_hold(bloom(POOL, topic_of("Send")))
    assert OURS.may_hold(bloom(VAULT, topic_of("Deposited"), b"\x33" * 20))
    assert OURS.may_hold(b"\xff" * 256)


def test_without_a_filter_nothing_is_proven() -> None:
    assert OURS.may_hold(None)
    assert OURS.may_hold(bytes(32))
    assert not BloomTest([], TOPICS).may_hold(b"\xff" * 256)


def test_digest_covers_fields_and_order() -> None:
    first, second = send(), send(index=9)
    others = [
        [],
        [first],
        [second, first],
        [first, first],
        [replace(first, block=101), second],
        [send(branch="b"), second],
        [send(tx="two"), second],
        [replace(first, address=VAULT), second],
        [replace(first, topics=(topic_of("Relay"),)), second],
        [replace(first, topics=(*first.topics, bytes(32))), second],
        [replace(first, data=first.data + b"\0"), second],
        [replace(first, topics=(*first.topics, b"1:"), data=b""), second],
    ]
    digests = {digest(each) for each in others}
    assert len(digests) == len(others) and digest([first, second]) not in digests
    assert digest([first, second]) == digest([send(), send(index=9)])
    assert len(digest([log("DelayedTransferAdded", ID)])) == 32


def test_parts_cannot_move_between_fields() -> None:
    one = replace(send(), topics=(b"ab",), data=b"c")
    other = replace(send(), topics=(b"a",), data=b"bc")
    assert digest([one]) != digest([other])
