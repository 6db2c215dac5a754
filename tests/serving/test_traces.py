"""Traces of a real gunicorn, whose workers are forked greenlet servers, and a collector that takes them."""

from __future__ import annotations

import gzip
import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from threading import Thread
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.serving.sandbox import serving_sandbox
from tests.site.snippets import block_of

TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
WALLET = "0x" + "5a" * 20
HISTORY = f"/v2/transferHistory?addr={WALLET}&page_size=1"
FOLLOW = f"/v2/transferEvents?account={WALLET}"
API_KEY = "gwk_0123456789abcdef" + "Z" * 43
ADDRESS = "203.0.113.7"
STATUS = "/v2/getTransfer?key=0x" + "0" * 60 + "0005"


RUN = [block_of("docs/logs.md", "pip install opentelemetry")]


def documented() -> dict[str, str]:
    """What the page exports."""
    (*exports,) = (line for line in RUN[0].code.splitlines() if line.startswith("export "))
    return dict(word.split("=", 1) for line in exports for word in line.split()[1:])


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


def test_spans_of_both_workers_arrive(tmp_path: Path, sqlite_template: Path) -> None:
    settings = documented() | {
        "OTEL_TRACES_SAMPLER_ARG": "1",
        "OTEL_PROPAGATORS": "tracecontext",
        "OTEL_EXPERIMENTAL_RESOURCE_DETECTORS": "process",
        "DOORS": "api,wait",
        "WEB_CONCURRENCY": "2",
        "TRUSTED_PROXIES": "1",
        "ACCESS_LOG": "all",
        "LOG_FORMAT": "json",
    }
    with collecting() as collector:
        settings["OTEL_EXPORTER_OTLP_ENDPOINT"] = collector.url
        with serving_sandbox(tmp_path, sqlite_template, **settings) as server:
            for number, away in enumerate(server.workers(2)):
                away.suspend()  # so that the other one answers
                connection = server.connect()
                connection.request("GET", STATUS, headers={"X-Request-Id": f"number-{number}"})
                assert connection.getresponse().status == 200
                away.resume()
            for path, status in ((HISTORY, 200), (FOLLOW, 200), (f"/nowhere/{WALLET}", 404)):
                headers = {"traceparent": f"00-{TRACE}-{CALLER}-01", "X-Forwarded-For": ADDRESS}
                assert server.request("GET", path, headers | {"User-Agent": f"of {WALLET}"}).status == status
            assert server.request("GET", HISTORY, {"Authorization": f"Bearer {API_KEY}"}).status == 401
        # The last ones are handed over when the workers end.
    assert len(collector.pids) == 2
    assert server.process.pid not in collector.pids
    assert collector.services == {"transfer-gateway"}
    operations = collector.named("v2.get_transfer")
    assert {facts_of(span)["request.id"] for span in operations} == {f"number-{n}" for n in range(2)}
    within = {span.parent_span_id for span in collector.spans if "db.statement" in facts_of(span)}
    assert within >= {span.span_id for span in operations}
    of_the_caller = [span for span in collector.spans if span.parent_span_id.hex() == CALLER]
    assert {span.name for span in of_the_caller} == {
        "v2.get_transfer_history", "wait.transfer_events", "unknown",
    }  # fmt: skip
    assert {span.trace_id.hex() for span in of_the_caller} == {TRACE}
    assert not any(WALLET.encode() in body or ADDRESS.encode() in body for body in collector.raw)
    entries = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert {entry.get("trace_id") for entry in entries if entry.get("code") == 404} == {TRACE}
    assert all("trace_id" in entry for entry in entries if "code" in entry)
    assert {entry["logger"] for entry in entries if entry["level"] != "INFO"} <= {"app.http.errors"}


def test_documented_packages_are_those_tested() -> None:
    pins = dict(re.findall(r"(opentelemetry-[a-z-]+)==(\S+)", RUN[0].code))
    assert len(pins) == 4
    assert pins == {name: version(name) for name in pins}
