"""The gRPC-Web interface: framing, reading messages, answers and errors (docs/grpc-web.md)."""

from app.grpcweb.calls import open_interface

__all__ = ["open_interface"]
