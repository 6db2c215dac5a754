"""Fixed offsets against eth-abi: the same values, and nothing taken that it refuses."""

from __future__ import annotations

from typing import Any

import pytest
from eth_abi import decode as oracle
from eth_abi import encode
from eth_abi.exceptions import DecodingError
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from app.watcher.rules.logs.contracts import EVENTS, SHAPES, TOPICS, decode
from app.watcher.rules.logs.values import Undecodable
from tests.watcher.logs import SIGNATURES, log, send, topic_of, types_of

ADDRESSES = st.binary(min_size=20, max_size=20)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "bytes32": st.binary(min_size=32, max_size=32),
    "address": ADDRESSES,
    "uint256": st.integers(0, 2**256 - 1),
    "uint64": st.integers(0, 2**64 - 1),
    "uint32": st.integers(0, 2**32 - 1),
    "address[]": st.lists(ADDRESSES, max_size=5),
    "uint256[]": st.lists(st.integers(0, 2**256 - 1), max_size=5),
}
STATIC = [name for name in SIGNATURES if name != "SignersUpdated"]


def arguments_of(name: str) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.tuples(*(VALUES[kind] for kind in types_of(name)))


def raw(value: Any) -> Any:
    """What eth-abi decodes, with addresses as bytes."""
    if isinstance(value, str):
        return bytes.fromhex(value[2:])
    return tuple(map(raw, value)) if isinstance(value, tuple | list) else value


def test_topics_are_those_of_the_public_contracts() -> None:
    assert {topic_of(name) for name in SIGNATURES} == set(TOPICS)
    assert len(EVENTS) == len(SHAPES) == 13
    assert topic_of("Send").hex() == "89d8051e597ab4178a863a5190407b98abfeff406aa8db90c59af76612e58f01"
    assert topic_of("Relay").hex() == "79fa08de5149d912dce8e5e8da7a7c17ccdf23dd5d3bfe196802e6eb86347c7c"


@pytest.mark.parametrize("name", SIGNATURES)
@given(data=st.data())
def test_every_argument_matches_the_oracle(name: str, data: st.DataObject) -> None:
    arguments = data.draw(arguments_of(name))
    each = log(name, *arguments)
    decoded = tuple(decode(each))
    expected = raw(oracle(types_of(name), each.data))
    if name == "DepositedV1":
        expected = (*expected, None)
    if name == "BurnV1":
        expected = (*expected[:4], 0, expected[4], None)
    assert decoded == expected


@pytest.mark.parametrize("name", SIGNATURES)
@given(data=st.data())
def test_faulty_bytes_match_the_oracle(name: str, data: st.DataObject) -> None:
    """Whatever a node sends: no crash, and no value that the oracle does not see."""
    good = log(name, *data.draw(arguments_of(name)))
    changed = bytearray(good.data)
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(changed)[: data.draw(st.sampled_from([len(changed), len(changed), len(changed) - 1, 0]))]
    try:
        decoded = tuple(decode(replace(good, data=cut)))
    except Undecodable:
        if name in STATIC and len(cut) == len(good.data):
            with pytest.raises(DecodingError):
                oracle(types_of(name), cut)
        return
    expected = raw(oracle(types_of(name), cut))
    assert decoded[: len(expected)] == expected or name in {"DepositedV1", "BurnV1"}


@given(junk=st.binary(max_size=400), topics=st.lists(st.sampled_from([*TOPICS, bytes(32)]), max_size=3))
def test_junk_is_refused(junk: bytes, topics: list[bytes]) -> None:
    try:
        decode(replace(send(), data=junk, topics=tuple(topics)))
    except Undecodable as refused:
        assert str(refused)


@given(st.integers(0, 2**256 - 1), st.integers(0, 2**256 - 1), st.integers(0, 2**256 - 1))
def test_offsets_and_lengths_of_lists_are_bounded(first: int, second: int, length: int) -> None:
    data = b"".join(each.to_bytes(32, "big") for each in (first, second, length))
    try:
        decoded = decode(replace(log("SignersUpdated", [], []), data=data))
    except Undecodable:
        return
    assert tuple(decoded) == raw(oracle(types_of("SignersUpdated"), data))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"topics": ()}, "not an event of these contracts"),
        ({"topics": (bytes(32),)}, "not an event of these contracts"),
        ({"topics": (topic_of("Send"), bytes(32))}, "1 indexed arguments"),
        ({"data": bytes(255)}, "255 bytes of data, not 256"),
        ({"data": bytes(257)}, "257 bytes of data, not 256"),
        ({"data": b"\xff" * 256}, "not an address"),
        ({"data": encode(["uint256"] * 8, [1, 2, 3, 4, 5, 2**64, 7, 8])}, "not a uint64"),
        ({"data": encode(["uint256"] * 8, [1, 2, 3, 4, 5, 6, 7, 2**32])}, "not a uint32"),
    ],
)
def test_decode_error_names_reason(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(Undecodable, match=reason):
        decode(replace(send(), **change))
