"""The framing: bytes in, a message or a refusal out."""

from __future__ import annotations

import base64
import time
from contextlib import suppress
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.grpcweb.calls import (
    CompressedMessage,
    decode_text,
    encode_status_message,
    encode_text,
    read_message,
    write_answer,
)
from app.values.errors import BadRequest, TooLarge
from tests.grpcweb.wire import frame, frames

LONGEST = 64 * 1024


@pytest.mark.parametrize("message", [b"", b"x", bytes(range(256)) * 256])
def test_one_message_is_read(message: bytes) -> None:
    assert read_message(frame(message), LONGEST) == message


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\0",
        b"\0\0\0\0",
        frame(b"abc")[:-1],
        frame(b"abc") + b"\0",
        frame(b"abc") + frame(b""),
        frame(b"") + frame(b"grpc-status:0\r\n", 0x80),
        frame(b"", 0x80),
        frame(b"", 0x81),
        *(frame(b"", 1 << bit) for bit in range(1, 8)),
        frame(b"", 0x03),
        frame(b"", 0xFF),
        b'{"transfer_id": ""}',
    ],
    ids=repr,
)
def test_malformed_body_is_refused(body: bytes) -> None:
    with pytest.raises(BadRequest, match=r"^body: "):
        read_message(body, LONGEST)


@pytest.mark.parametrize("body", [frame(b"", 1), frame(b"abc", 1), b"\1\xff\xff\xff\xff"])
def test_compressed_message_is_refused(body: bytes) -> None:
    with pytest.raises(CompressedMessage):
        read_message(body, LONGEST)


def test_length_counts_without_the_message() -> None:
    for body in (frame(bytes(LONGEST + 1)), b"\0\0\1\0\1", b"\0\xff\xff\xff\xff" + b"x" * 9):
        with pytest.raises(TooLarge):
            read_message(body, LONGEST)
    assert len(read_message(frame(bytes(LONGEST)), LONGEST)) == LONGEST


def test_answer_has_message_and_trailers() -> None:
    trailers = {"grpc-status": "0", "x-gateway-reason": "epoch_cap"}
    end = (0x80, b"grpc-status:0\r\nx-gateway-reason:epoch_cap\r\n")
    assert frames(write_answer(b"abc", trailers)) == [(0, b"abc"), end]
    assert frames(write_answer(b"", trailers)) == [(0, b""), end]
    assert frames(write_answer(None, trailers)) == [end]


@given(pieces=st.lists(st.binary(max_size=20), max_size=8))
def test_base64_pieces_have_own_padding(pieces: list[bytes]) -> None:
    assert decode_text(b"".join(map(base64.b64encode, pieces))) == b"".join(pieces)


@given(body=st.binary(max_size=100))
def test_text_encoding_is_one_base64_piece(body: bytes) -> None:
    assert base64.b64decode(encode_text(body), validate=True) == body
    assert decode_text(encode_text(body)) == body


NOT_BASE64 = [
    "A", "AA", "AAA", "AAAAA", "====", "A===", "=AAA", "AA=A", "AAAA=", "AA===", "AA==A", "AAA==", "AA A",
    "AAAA\n", " AAAA", "AA\r\n", "A\0AA", "AA-_", "AAA\u0661", "AAAA AAAA", "AAAA,AAAA", "%41AAA", "====AAAA",
]  # fmt: skip


@pytest.mark.parametrize("text", NOT_BASE64)
def test_malformed_base64_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="is not base64"):
        decode_text(text.encode())


def test_decoding_time_grows_with_length_only() -> None:
    """The longest bodies that could make a careless pattern try everything."""
    began = time.monotonic()
    for tail in (b"", b"=", b"A", b"!", b"A="):
        for body in (b"AAAA" * 33_000, b"AA==" * 33_000, b"AA" * 66_000, b"=" * 132_000):
            with suppress(BadRequest):
                decode_text(body + tail)
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    ("text", "encoded"),
    [
        ("amt: is missing", "amt: is missing"),
        ("100 %", "100 %25"),
        ("a\r\ngrpc-status:0", "a%0D%0Agrpc-status:0"),
        ("é …", "%C3%A9 %E2%80%A6"),
        ("\x7f~", "%7F~"),
        ("", ""),
    ],
)
def test_grpc_message(text: str, encoded: str) -> None:
    assert encode_status_message(text) == encoded


@given(text=st.text(max_size=40))
def test_grpc_message_is_printable_and_reversible(text: str) -> None:
    encoded = encode_status_message(text)
    assert all(0x20 <= ord(character) <= 0x7E for character in encoded)
    assert unquote(encoded) == text.encode(errors="replace").decode()


@given(st.lists(st.sampled_from((0, 1, 0x80, 5, 65, 255)), max_size=12).map(bytes))
def test_random_bytes_are_read_or_refused(body: bytes) -> None:
    with suppress(BadRequest, CompressedMessage, TooLarge):
        assert frame(read_message(body, LONGEST)) == body
