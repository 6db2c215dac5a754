"""Traces of a real gunicorn, whose workers are forked greenlet servers, and a collector that takes them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.serving.sandbox import serving_sandbox
from tests.tracing.collector import collecting, facts_of

TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
STATUS = "/v2/getTransfer?key=0x" + "0" * 60 + "0005"


@pytest.mark.soak("a server of its own; tests/tracing tries the same in process")
def test_spans_of_workers_come_to_the_collector(tmp_path: Path, sqlite_template: Path) -> None:
    with collecting() as collector:
        settings = {"TRACING": "1", "WEB_CONCURRENCY": "2", "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
        log = tmp_path / "log"
        with serving_sandbox(tmp_path, sqlite_template, **settings) as server:
            for number in range(20):
                answer = server.ask("GET", STATUS, {"X-Request-Id": f"number-{number}"})
                assert answer.status == 200
            server.ask("GET", STATUS, {"traceparent": f"00-{TRACE}-{CALLER}-01"}).read()
            collector.named("v2.get_transfer")
        # The last ones are handed over when the workers end.
        operations = collector.named("v2.get_transfer")
    assert collector.services == {"transfer-gateway"}
    ids = {facts_of(span)["request.id"] for span in operations}
    assert len(operations) == 21
    assert ids > {f"number-{number}" for number in range(20)}
    remote = [span for span in operations if span.trace_id.hex() == TRACE]
    assert [span.parent_span_id.hex() for span in remote] == [CALLER]
    within = {span.parent_span_id for span in collector.named("query _find")}
    assert within == {span.span_id for span in operations}
    assert not any(b"0x000" in body for body in collector.raw)
    assert "Traceback" not in log.read_text()


@pytest.mark.soak("a server of its own; tests/tracing tries the same in process")
def test_a_collector_that_is_away_costs_no_request(tmp_path: Path, sqlite_template: Path) -> None:
    settings = {"TRACING": "1", "WEB_CONCURRENCY": "1", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    with serving_sandbox(tmp_path, sqlite_template, **settings) as server:
        until = time.monotonic() + 3
        while time.monotonic() < until:
            assert server.ask("GET", STATUS).status == 200
        began = time.monotonic()
        server.stop()
        assert time.monotonic() - began < 10
