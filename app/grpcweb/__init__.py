"""The gRPC-Web door: framing, reading messages, answers and errors (docs/interface.md#grpc-web)."""

from typing import Final

from app.grpcweb.door import open_door
from app.grpcweb.service import methods

__all__ = ["METHODS", "open_door"]

METHODS: Final = frozenset(methods())
"""The names of the methods that there are."""
