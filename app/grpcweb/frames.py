"""The framing of gRPC-Web's unary calls and its four content types. Pure.

A frame is a byte of flags, the length of what follows in four bytes (big-endian), and that many bytes.
In the text types the frames are in base64, in pieces of any size: each may end with its own padding.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from struct import Struct
from typing import Final
from urllib.parse import quote

from app.values.errors import BadRequest, TooLarge

BINARY: Final = "application/grpc-web+proto"
TEXT: Final = "application/grpc-web-text+proto"

_ENCODINGS: Final = {
    "application/grpc-web": BINARY,
    "application/grpc-web+proto": BINARY,
    "application/grpc-web-text": TEXT,
    "application/grpc-web-text+proto": TEXT,
}


def encoding_of(content_type: str) -> str | None:
    """``BINARY`` or ``TEXT`` for a Content-Type, ignoring case and parameters; None for others."""
    return _ENCODINGS.get(content_type.partition(";")[0].strip().lower())


def answer_encoding(content_type: str, accept: str) -> str:
    """``BINARY`` or ``TEXT``: the first that the Accept header names, else that of the request.

    Clients that read streams as text say so in Accept; ``*/*`` names neither.
    """
    for accepted in accept.split(","):
        encoding = encoding_of(accepted)
        if encoding is not None:
            return encoding
    return encoding_of(content_type) or BINARY


HEADER: Final = Struct(">BI")

TOO_LARGE: Final = "the message is larger than 64 KiB"

_COMPRESSED: Final = 0x01
_TRAILERS: Final = 0x80

_QUANTUM: Final = rb"[A-Za-z0-9+/]{4}"
_PADDED: Final = rb"[A-Za-z0-9+/]{2}(?:==|[A-Za-z0-9+/]=)"
_TEXT: Final = re.compile(rb"(?:%b|%b)*" % (_QUANTUM, _PADDED))
_PIECE: Final = re.compile(rb"[A-Za-z0-9+/]+=*")
_UNESCAPED: Final = "".join(chr(code) for code in range(0x20, 0x7F) if chr(code) != "%")


class CompressedMessage(Exception):
    """The message is compressed; this gateway reads no compressed messages."""


def read_message(body: bytes, longest: int) -> bytes:
    """The message of the one frame of a unary request.

    :param longest: the most bytes that a message may have.
    :raises BadRequest: the body is not exactly one frame, or not one of a message.
    :raises CompressedMessage: its flag says so.
    :raises TooLarge: its length says so.
    """
    if len(body) < HEADER.size:
        raise BadRequest("body: ends before its message" if body else "body: must contain a message")
    flags, length = HEADER.unpack_from(body)
    if flags == _COMPRESSED:
        raise CompressedMessage
    if flags:
        raise BadRequest(f"body: must start with a message, not with a frame with the flags 0x{flags:02x}")
    if length > longest:
        raise TooLarge(TOO_LARGE)
    rest = len(body) - HEADER.size - length
    if rest:
        raise BadRequest(
            f"body: {'ends before its message does' if rest < 0 else 'has data after its message'}"
        )
    return body[HEADER.size :]


def write_answer(message: bytes | None, trailers: Mapping[str, str]) -> bytes:
    """The frame of a message, if there is one, and the frame of the trailers.

    :param trailers: lower-case names and values in printable ASCII.
    """
    lines = "".join(f"{name}:{value}\r\n" for name, value in trailers.items()).encode("ascii")
    end = HEADER.pack(_TRAILERS, len(lines)) + lines
    return end if message is None else HEADER.pack(0, len(message)) + message + end


def decode_text(body: bytes) -> bytes:
    """The bytes that the pieces of base64 encode.

    :raises BadRequest: it is not base64; white space is refused as well.
    """
    if not _TEXT.fullmatch(body):
        raise BadRequest("body: is not base64")
    return b"".join(map(b64decode, _PIECE.findall(body)))


def encode_text(body: bytes) -> bytes:
    """The bytes as one piece of base64, which every reader accepts."""
    return b64encode(body)


def encode_status_message(text: str) -> str:
    """``grpc-message`` for a text: what is not printable ASCII, and ``%``, percent-encoded as UTF-8."""
    return quote(text, safe=_UNESCAPED, errors="replace")
