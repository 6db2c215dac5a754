"""Which requests are traced, and what is recorded of them; a collector of our own takes the spans."""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import Iterator
from typing import Any, cast

import pytest
from flask import Flask
from flask.testing import FlaskClient
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult

from app.api import v2
from app.tracing import spans
from app.tracing.recorder import OtlpRecorder
from app.tracing.spans import NOTHING, Parent, Tracing, query, read_traceparent, span, use, work
from app.tracing.start import MissingPackage, start

TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED = f"00-{TRACE}-{CALLER}-01"


class Recorder:
    """Keeps spans in memory: name, parent and facts."""

    def __init__(self) -> None:
        self.spans: list[Any] = []

    def root(self, name: str, parent: Parent | None, *, serves: bool) -> Any:
        return self._made(name, parent)

    def child(self, name: str, within: Any, facts: Any) -> Any:
        made = self._made(name, within)
        made.facts |= facts
        return made

    def trace_id(self, span: Any) -> str:
        return TRACE

    def stop(self) -> None:
        pass

    def _made(self, name: str, parent: Any) -> Any:
        self.spans.append(made := _Recorded(name, parent))
        return made


class _Recorded:
    def __init__(self, name: str, parent: Any) -> None:
        self.name, self.parent, self.facts, self.ended = name, parent, dict[str, Any](), 0

    def set_attribute(self, key: str, value: Any) -> None:
        self.facts[key] = value

    def update_name(self, name: str) -> None:
        self.name = name

    def end(self) -> None:
        self.ended += 1


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    recorder = Recorder()
    use(Tracing(recorder, 1.0))
    yield recorder
    use(None)


@pytest.fixture
def traced(recorder: Recorder, app: Flask, monkeypatch: pytest.MonkeyPatch) -> FlaskClient:
    """A client whose requests are all traced."""
    monkeypatch.setattr(app, "tracing", spans.started())
    return app.test_client()


LATENCY = "/v2/getLatest7DayTransferLatencyForQuery?src_chain_id=1&dst_chain_id=56"


def test_a_request_is_a_span_and_each_question_one_within_it(traced: FlaskClient, recorder: Recorder) -> None:
    answer = traced.post("/v2/getTransferStatus", json={"transfer_id": "0" * 64})
    operation, *asked = recorder.spans
    assert operation.name == "v2.get_transfer_status"
    assert operation.facts == {
        "request.id": answer.headers["X-Request-Id"],
        "http.request.method": "POST",
        "http.response.status_code": 200,
    }
    assert "query transfer_row" in [each.name for each in asked]
    assert all(each.parent is operation for each in asked)
    assert all(each.ended == 1 for each in recorder.spans)


def test_a_failure_is_told_by_its_kind_alone(
    traced: FlaskClient, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        with span("inside"):
            raise RuntimeError("hunter2")

    monkeypatch.setattr(v2, "median_latency", fail)
    assert traced.get(LATENCY).status_code == 500
    operation, *_, inside = recorder.spans
    assert operation.facts["http.response.status_code"] == 500
    assert inside.facts == {"error.type": "RuntimeError"}
    assert "hunter2" not in str(vars(operation)) + str(vars(inside))
    assert not [each for each in recorder.spans if each.ended != 1]


def test_no_path_and_no_account_is_told(traced: FlaskClient, recorder: Recorder) -> None:
    wallet = "0x" + "5a" * 20
    traced.get(f"/v2/transferHistory?addr={wallet}&page_size=1")
    traced.get(f"/nowhere/{wallet}")
    assert [each.name for each in recorder.spans if not isinstance(each.parent, _Recorded)] == [
        "v2.get_transfer_history",
        "unknown",
    ]
    assert wallet not in str([(each.name, each.facts) for each in recorder.spans])


def test_a_caller_s_trace_goes_on(traced: FlaskClient, recorder: Recorder) -> None:
    traced.get(LATENCY, headers={"traceparent": SAMPLED})
    assert recorder.spans[0].parent == Parent(int(TRACE, 16), int(CALLER, 16), sampled=True)
    before = len(recorder.spans)
    traced.get(LATENCY, headers={"traceparent": SAMPLED[:-1] + "0"})
    assert len(recorder.spans) == before


@pytest.mark.parametrize(
    "text",
    ["", "00", SAMPLED.upper(), f"ff{SAMPLED[2:]}", f"{SAMPLED}-more", f"00-{'0' * 32}-{CALLER}-01",
     f"00-{TRACE}-{'0' * 16}-01", f"{SAMPLED}\n", SAMPLED[:-1] + "g"],
)  # fmt: skip
def test_what_is_no_traceparent_says_nothing(text: str) -> None:
    assert read_traceparent(text) is None


def test_versions_to_come_are_read_as_far_as_they_are_known() -> None:
    assert read_traceparent(f"01{SAMPLED[2:]}-more") == Parent(int(TRACE, 16), int(CALLER, 16), sampled=True)


def test_a_share_of_requests_is_traced_whatever_callers_want() -> None:
    now, chances = [0.0], iter([0.009, 0.01, 0.5] * 9)
    tracing = Tracing(Recorder(), 0.01, chance=lambda: next(chances), monotonic=lambda: now[0])
    assert [tracing.operation(None) is not None for _ in range(3)] == [True, False, False]
    assert sum(tracing.operation(SAMPLED) is not None for _ in range(100)) == 5
    now[0] = 1.0
    assert sum(tracing.operation(SAMPLED) is not None for _ in range(100)) == 5
    assert [tracing.operation("nonsense") is not None for _ in range(3)] == [True, False, False]


def test_nothing_is_recorded_outside_of_what_is_traced(recorder: Recorder) -> None:
    assert span("inside") is NOTHING
    assert query(len) is NOTHING
    with work("fold", events=3):
        pass
    assert [(each.name, each.facts, each.ended) for each in recorder.spans] == [("fold", {"events": 3}, 1)]
    use(None)
    assert work("fold") is NOTHING


def test_events_are_folded_within_a_span(app: Flask, recorder: Recorder) -> None:
    loaded = app.test_cli_runner().invoke(args=["sandbox", "load"])
    assert loaded.exit_code == 0, loaded.output
    folds = [each for each in recorder.spans if each.name == "fold"]
    assert folds
    assert sum(sum(each.facts.values()) for each in folds) > 50
    assert all(each.ended == 1 for each in recorder.spans)


def test_a_start_without_the_packages_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(MissingPackage, match=r"^TRACING: .*scripts/python scripts/venv\.py tracing$"):
        start(0.5)


def test_a_collector_that_is_away_fills_no_log(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger(OTLPSpanExporter.__module__), "filters", [])
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{closed.getsockname()[1]}/v1/traces"
    recorder = OtlpRecorder()
    exporter = OTLPSpanExporter(endpoint, timeout=0.2)
    provider = TracerProvider(shutdown_on_exit=False)
    for _ in range(3):
        ended = cast(ReadableSpan, provider.get_tracer("app").start_span("x"))
        assert exporter.export([ended]) is SpanExportResult.FAILURE
    assert len([record for record in caplog.records if record.name.startswith("opentelemetry")]) == 1
    recorder.stop()
