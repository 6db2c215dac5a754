"""What every door that is open to everybody promises, whatever it speaks (wire, JSON and gRPC-Web)."""

from __future__ import annotations

from typing import Final

MAX_QUESTION_BYTES: Final = 64 * 1024
"""The largest JSON body or protobuf message that is read; questions have a few short fields."""

NO_STORE: Final = ("Cache-Control", "no-store")
NO_SNIFF: Final = ("X-Content-Type-Options", "nosniff")
ANY_ORIGIN: Final = ("Access-Control-Allow-Origin", "*")

EXPOSED_HEADERS: Final = "X-Gateway-Reason, Retry-After"
"""Answer headers that pages of other origins may read, on every door."""

PREFLIGHT: Final = (
    ANY_ORIGIN,
    NO_STORE,
    ("Access-Control-Allow-Methods", "GET, POST, OPTIONS"),
    (
        "Access-Control-Allow-Headers",
        "content-type, cache-control, x-grpc-web, x-user-agent, grpc-timeout",
    ),
    ("Access-Control-Max-Age", "86400"),
)
"""The headers of the answer to a preflight: pages of any origin may ask, without credentials."""
