"""The gRPC-Web door: framing, reading messages, answers and errors (docs/interface.md#grpc-web)."""

from app.grpcweb.door import open_door

__all__ = ["open_door"]
