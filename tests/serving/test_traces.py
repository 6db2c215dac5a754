"""Traces of a real gunicorn, whose workers are forked greenlet servers, and a collector that takes them."""

from __future__ import annotations

import json
import re
from importlib.metadata import version
from pathlib import Path

from tests.serving.collector import collecting, facts_of
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
                assert server.ask("GET", path, headers | {"User-Agent": f"of {WALLET}"}).status == status
            assert server.ask("GET", HISTORY, {"Authorization": f"Bearer {API_KEY}"}).status == 401
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
