"""The gRPC-Web interface: framing, reading messages, answers and errors (docs/interface.md#grpc-web)."""

from app.grpcweb.calls import open_interface

__all__ = ["open_interface"]
