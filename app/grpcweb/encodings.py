"""The four content types of gRPC-Web with protobuf, and which of them an answer has."""

from __future__ import annotations

from typing import Final

BINARY: Final = "application/grpc-web+proto"
TEXT: Final = "application/grpc-web-text+proto"

_ENCODINGS: Final = {
    "application/grpc-web": BINARY,
    "application/grpc-web+proto": BINARY,
    "application/grpc-web-text": TEXT,
    "application/grpc-web-text+proto": TEXT,
}


def encoding_of(content_type: str) -> str | None:
    """``BINARY`` or ``TEXT`` for a Content-Type, without regard to case and parameters; None for others."""
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
