"""Hashes of headers: records of real chains, what is changed in them, and the library's encoding."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import rlp
from eth_utils import keccak
from hypothesis import given
from hypothesis import strategies as st

from app.watcher.rules.headers import _LENGTHS, _ORDERS, covered

Header = dict[str, Any]

RECORDS = json.loads(Path(__file__).with_name("headers.json").read_text(encoding="utf-8"))
VERIFIED = [
    pytest.param(each["header"], id=f"{each['chain']} {each['number']}") for each in RECORDS["verified"]
]
OTHERS = [pytest.param(each["header"], id=f"{each['chain']} {each['number']}") for each in RECORDS["other"]]


def record(chain: str, number: int) -> Header:
    (found,) = (
        each["header"] for each in RECORDS["verified"] if (each["chain"], each["number"]) == (chain, number)
    )
    return dict(found)


def without(header: Header, *names: str) -> Header:
    return {name: value for name, value in header.items() if name not in names}


def one_bit_off(value: Any) -> Any:
    """The value with its first hexadecimal digit changed, or its number."""
    if isinstance(value, int):
        return value ^ 1
    start = 2 if value.startswith("0x") else 0
    digit = value[start : start + 1]
    return f"{value[:start]}{int(digit, 16) ^ 1:x}{value[start + 1 :]}" if digit else f"{value}01"


@pytest.mark.parametrize("header", VERIFIED)
def test_recorded_header_gives_its_hash(header: Header) -> None:
    given = {name for name, value in header.items() if value is not None}
    assert set(covered(header)) == given - {"hash", "l1BlockNumber", "sendCount", "sendRoot"}


@pytest.mark.parametrize("header", OTHERS)
def test_header_with_another_hash_fails(header: Header) -> None:
    assert not covered(header)


WRONG: tuple[Any, ...] = (17, 1.5, True, "", "0x", "0xg", "0x 12", " 0x12", [], ["0x12"], {}, "é")


@pytest.mark.parametrize("header", VERIFIED)
def test_header_with_field_of_another_type_fails(header: Header) -> None:
    for name in ("hash", *covered(header)):
        for wrong in WRONG:
            if header[name] != wrong:
                assert not covered({**header, name: wrong}), (name, wrong)


@pytest.mark.parametrize("header", VERIFIED)
def test_upper_case_and_leading_zeros_pass(header: Header) -> None:
    respelled = {
        name: f"0x00{value[2:].upper()}" if name in ("number", "gasUsed") else f"0x{value[2:].upper()}"
        for name, value in header.items()
        if isinstance(value, str) and value.startswith("0x")
    }
    assert covered({**header, **respelled})


@pytest.mark.parametrize("header", VERIFIED)
def test_digits_with_a_space_between_them_are_none(header: Header) -> None:
    for name in covered(header):
        if isinstance(header[name], str) and len(header[name]) > 4:
            spaced = f"{header[name][:-2]} {header[name][-2:]}"
            assert not covered({**header, name: spaced}), name


def test_orders_of_fields_are_not_confused() -> None:
    """Both orders have as many items: only by length does a base fee differ from a root."""
    header = without(record("Avalanche C-Chain", 5760288), "extDataGasUsed", "blockGasCost")
    header["baseFeePerGas"] = "0x05d21dba00"
    names = covered(record("Avalanche C-Chain", 10))
    header["hash"] = hash_of(header, (*names, "baseFeePerGas"))
    assert covered(header)
    renamed = {
        **without(header, "extDataHash"),
        "baseFeePerGas": header["extDataHash"],
        "withdrawalsRoot": header["baseFeePerGas"],
    }
    assert not covered(renamed)


CELO = record("Celo", 19042560)


def celo_extra(seal: list[bytes]) -> str:
    """The extra data of the record with another common seal of its validators."""
    data = bytes.fromhex(CELO["extraData"][2:])
    parts = rlp.decode(data[32:])
    return "0x" + (data[:32] + rlp.encode([*parts[:4], seal, parts[5]])).hex()


def test_celo_seal_is_left_out() -> None:
    for seal in ([b"", b"", b""], [b"\x01", b"\x02" * 48, b"\x03"]):
        other = {**CELO, "extraData": celo_extra(seal)}
        assert covered(other) == covered(CELO) != ()


def test_uncovered_celo_fields_are_passed_over() -> None:
    added = {
        "sha3Uncles": "0x" + "00" * 32,
        "difficulty": "0x0",
        "gasLimit": "0x1312d00",
        "mixHash": "0x" + "00" * 32,
        "nonce": "0x" + "00" * 8,
        "baseFeePerGas": "0x5",
    }
    assert covered({**CELO, **added}) == covered(CELO)


def test_celo_seal_is_left_out_with_ethereum_fields() -> None:
    header = {**record("Ethereum", 15537393), "extraData": celo_extra([b"", b"", b""])}
    header["hash"] = hash_of(header, covered(record("Ethereum", 15537393)))
    assert covered(header)
    sealed = {**header, "extraData": celo_extra([b"\x01", b"\x02" * 48, b"\x03"])}
    assert covered(sealed) == covered(header)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=70),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
NAMES = sorted({name for always, later in _ORDERS for name in (*always, *later)} | {"hash"})
HEX = st.binary(max_size=300).map(lambda data: "0x" + data.hex())


@given(JSON)
def test_no_json_raises(raw: Any) -> None:
    assert not covered(raw)


@given(st.dictionaries(st.sampled_from(NAMES), JSON | HEX), st.sampled_from(RECORDS["verified"]))
def test_no_value_of_a_field_raises(values: Header, recorded: dict[str, Any]) -> None:
    covered(values)
    covered({**recorded["header"], **values})


@given(
    st.binary(max_size=120),
    st.sampled_from(
        [b"", b"\xc0", b"\xf8\x41", b"\xff" * 9, b"\xcc" + b"\xc1\x01" * 6, b"\xc6" + b"\x01" * 6]
    ),
)
def test_no_extra_data_raises(end: bytes, prefix: bytes) -> None:
    extra = "0x" + (b"\0" * 32 + prefix + end).hex()
    assert not covered({**CELO, "extraData": extra})


def hash_of(header: Header, names: tuple[str, ...]) -> str:
    """The hash by the library."""
    items = [bytes.fromhex(header[name][2:]) if name in _LENGTHS else int(header[name], 16) for name in names]
    return "0x" + keccak(rlp.encode(items)).hex()


@st.composite
def headers(draw: st.DrawFn) -> tuple[Header, tuple[str, ...]]:
    """A header of a random order with random values, and the fields that its hash covers."""
    always, later = draw(st.sampled_from(_ORDERS))
    names = (*always, *later[: draw(st.integers(0, len(later)))])
    header: Header = {}
    for name in names:
        if name in _LENGTHS:
            length = _LENGTHS[name]
            sizes = {"max_size": 90} if length is None else {"min_size": length, "max_size": length}
            header[name] = "0x" + draw(st.binary(**sizes)).hex()
        else:
            header[name] = hex(draw(st.integers(0, 2**256 - 1)))
    header["hash"] = hash_of(header, names)
    return header, names


@given(headers(), st.data())
def test_hash_equals_that_of_the_library(made: tuple[Header, tuple[str, ...]], data: st.DataObject) -> None:
    header, names = made
    assert covered({**header, "size": "0x1", "uncles": []}) == names
    name = data.draw(st.sampled_from(names))
    changed = {**header, name: one_bit_off(header[name])}
    assert not covered(changed)
    assert not covered(without(header, name))
