"""The message by which clients request a refund, and its form in the OpenAPI document."""

from __future__ import annotations

import base64
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.refunds.schemas import PLAIN_REQUEST
from app.transfers.rules.refunds.refund_pb2 import REFUND_TRANSFER, WithdrawReq
from app.transfers.rules.refunds.request_message import decode_base64, read_withdraw_request

IDS = st.text("0123456789abcdefABCDEF", min_size=64, max_size=64)


@given(IDS, st.none() | st.integers(2**28, 2**35 - 1))
def test_plain_message_has_documented_form(xfer_id: str, req_id: int | None) -> None:
    message = WithdrawReq(xfer_id=xfer_id, req_id=req_id, withdraw_type=REFUND_TRANSFER)
    text = base64.b64encode(message.SerializeToString()).decode()
    assert re.fullmatch(PLAIN_REQUEST, text)
    read = read_withdraw_request(decode_base64(text))
    assert (read.refund_of, read.req_id) == (bytes.fromhex(xfer_id), req_id or 0)


@given(st.from_regex(re.compile(PLAIN_REQUEST, re.ASCII), fullmatch=True))
def test_documented_form_is_read(text: str) -> None:
    read = read_withdraw_request(decode_base64(text.removesuffix("\n")))
    assert read.refund_of is not None
    assert len(read.refund_of) == 32


@given(st.binary(max_size=40))
def test_base64_of_either_alphabet_padded_or_not(raw: bytes) -> None:
    for text in (base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode()):
        assert decode_base64(text) == decode_base64(text.rstrip("=")) == raw


@pytest.mark.parametrize("text", ["A", "=", "A=A=", "AAAAA", "A A=", "\u00e4AAA", "AAAA\n", "*AAA", "AA==="])
def test_other_text_is_not_base64(text: str) -> None:
    with pytest.raises(ValueError, match="is not base64: send"):
        decode_base64(text)
