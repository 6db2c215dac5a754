"""The gRPC-Web door."""

from app.grpcweb.door import open_door

__all__ = ["open_door"]
