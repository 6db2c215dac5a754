"""Reading messages: what protobuf itself would accept, cut or drop."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.grpcweb import gateway_pb2 as pb
from app.grpcweb.messages import by_rules, read_question
from app.values.errors import BadRequest

LATENCY = pb.GetLatest7DayTransferLatencyForQueryRequest
ESTIMATE = pb.EstimateAmtRequest


def varint(number: int) -> bytes:
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def field(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def text(number: int, value: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(value)) + value


def values_of(raw: bytes, kind: Any = ESTIMATE) -> dict[str, Any]:
    return read_question(kind, raw, by_rules({}))


def test_missing_fields_are_zero() -> None:
    assert values_of(b"") == {
        "src_chain_id": 0, "dst_chain_id": 0, "token_symbol": "", "amt": "", "usr_addr": "",
        "slippage_tolerance": 0, "is_pegged": False,
    }  # fmt: skip


@pytest.mark.parametrize("number", [0, 1, 2**31, 2**32 - 1])
def test_uint32(number: int) -> None:
    assert values_of(field(1, number))["src_chain_id"] == number


@pytest.mark.parametrize("number", [2**32, 2**32 + 1, 2**33, 2**63, 2**64 - 1, 2**64, 2**64 + 1, 2**69])
@pytest.mark.parametrize(
    ("name", "at"), [("src_chain_id", 1), ("dst_chain_id", 2), ("slippage_tolerance", 6)]
)
def test_number_beyond_uint32_is_refused(name: str, at: int, number: int) -> None:
    for raw in (field(at, number), field(at, number) + field(at, 1), text(3, b"USDT") + field(at, number)):
        with pytest.raises(BadRequest) as caught:
            values_of(raw)
        assert caught.value.msg == f"{name}: must be at most 4294967295"


def test_uint64() -> None:
    for number in (2**32, 2**64 - 1):
        assert values_of(field(1, number), LATENCY)["src_chain_id"] == number
    for number in (2**64, 2**64 + 1, 2**70 - 1):
        with pytest.raises(BadRequest, match=r"^dst_chain_id: must be at most 18446744073709551615$"):
            values_of(field(2, number), LATENCY)


def test_long_spelling_of_small_number() -> None:
    assert values_of(b"\x08\x81\x80\x80\x80\x80\x80\x80\x80\x80\x00")["src_chain_id"] == 1


@pytest.mark.parametrize(
    "unknown",
    [
        field(99, 2**64 - 1),
        text(99, field(1, 2**63)),
        varint(99 << 3 | 1) + b"\xff" * 8,
        varint(99 << 3 | 5) + b"\xff" * 4,
        varint(99 << 3 | 3) + field(1, 2**63) + varint(98 << 3 | 3) + field(2, 2**63) + varint(98 << 3 | 4)
        + varint(99 << 3 | 4),
        text(1, b"\xff" * 10),
    ],
    ids=["varint", "bytes", "fixed64", "fixed32", "groups", "other type"],
)  # fmt: skip
def test_unknown_fields_are_ignored(unknown: bytes) -> None:
    values = values_of(unknown + field(2, 56) + unknown)
    assert (values["src_chain_id"], values["dst_chain_id"]) == (0, 56)
    with pytest.raises(BadRequest, match=r"^dst_chain_id: "):
        values_of(unknown + field(2, 2**32) + unknown)


@pytest.mark.parametrize(
    "raw",
    [
        b"\x08",
        b"\x08\xff",
        b"\x00\x00",
        b"\x0f\x00",
        b"\x1a\x05USDT",
        b"\x1a\xff\xff\xff\xff\x0fU",
        text(3, b"\xff"),
        text(3, b"\xed\xa0\x80"),
        text(3, b"\xc0\x80"),
        varint(99 << 3 | 3) * 5000,
        varint(99 << 3 | 4),
        b"\x08" + b"\xff" * 11,
    ],
    ids=repr,
)
def test_malformed_message_is_refused(raw: bytes) -> None:
    with pytest.raises(BadRequest, match=r"^body: must be a message EstimateAmtRequest$"):
        values_of(raw)


def test_faults_follow_field_order() -> None:
    def refuse(_: object) -> None:
        raise ValueError("no")

    with pytest.raises(BadRequest) as caught:
        read_question(ESTIMATE, field(6, 2**32), by_rules({"usr_addr": refuse, "token_symbol": refuse}))
    assert (
        caught.value.msg == "token_symbol: no; usr_addr: no; slippage_tolerance: must be at most 4294967295"
    )


@given(raw=st.binary(max_size=40))
def test_random_messages_are_read_or_refused(raw: bytes) -> None:
    for kind in (ESTIMATE, LATENCY, pb.GetTransferStatusRequest, pb.GetTransferConfigsRequest):
        try:
            values = values_of(raw, kind)
        except BadRequest:
            continue
        assert set(values) == set(kind.DESCRIPTOR.fields_by_name)
