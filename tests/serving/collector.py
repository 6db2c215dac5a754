"""A collector of traces: a server that takes what OTLP/HTTP sends it."""

from __future__ import annotations

import gzip
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass
class Collector:
    """What has come in, from every process."""

    url: str = ""
    spans: list[Any] = field(default_factory=list)
    services: set[str] = field(default_factory=set)
    pids: set[int] = field(default_factory=set)
    raw: list[bytes] = field(default_factory=list)

    def named(self, name: str, seconds: float = 20) -> list[Any]:
        """The spans of this name, as soon as there are some."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if found := [span for span in self.spans if span.name == name]:
                return found
            time.sleep(0.05)
        raise AssertionError(f"no span {name}: {[span.name for span in self.spans]}")

    def take(self, body: bytes) -> None:
        """Take one request of an exporter."""
        self.raw.append(body)
        for group in ExportTraceServiceRequest.FromString(body).resource_spans:
            facts = facts_of(group.resource)
            self.services.add(facts["service.name"])
            self.pids.add(facts["process.pid"])
            self.spans += [span for scope in group.scope_spans for span in scope.spans]


def facts_of(span: Any) -> dict[str, Any]:
    """The attributes of a span, or of the process that made it."""
    return {fact.key: getattr(fact.value, fact.value.WhichOneof("value")) for fact in span.attributes}


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector on loopback, ended with the block."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            packed = self.headers.get("Content-Encoding") == "gzip"
            collector.take(gzip.decompress(body) if packed else body)
            self.send_response(200 if self.path == "/v1/traces" else 404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
