"""Every request is counted by labels of closed sets, whatever its path, its method and its answer are."""

from __future__ import annotations

import random
import string

import pytest
from flask import Flask, Response
from flask.testing import FlaskClient
from prometheus_client import CollectorRegistry, generate_latest

from app.feed.services.ingest import Intake
from app.grpcweb.calls import GRPC_STATUS, GrpcStatus
from app.http.application import part_of
from app.http.errors import HTTP_STATUS
from app.monitoring.request_metrics import RequestMetrics
from app.observability.counters import NOTHING_COUNTED
from app.observability.logs import OPERATION, Served
from app.transfers.rules.events.event_types import ChainHead
from app.values.codes import Reason
from tests.amounts import few_or_many
from tests.applications import OpenApp
from tests.grpcweb.wire import METHODS as CALLS
from tests.grpcweb.wire import frame
from tests.metrics.counted import Series, series, total, value

METHODS = ("GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH", "BREW")
INTERFACES = {"api", "docs", "grpcweb", "health", "ingest", "pages", "wait", "admin", "unknown"}


class Counted:
    """An application that counts, and what it has counted."""

    def __init__(self, app: Flask) -> None:
        self.app = app
        self.client: FlaskClient = app.test_client()

    @property
    def now(self) -> Series:
        return series(generate_latest(self.app.extensions["metrics"].registry))


@pytest.fixture
def counted(open_app: OpenApp) -> Counted:
    return Counted(open_app(own=True, metrics_port=0, doors=("api", "grpcweb", "ingest", "admin", "wait")))


def test_requests_are_counted_by_operation(counted: Counted) -> None:
    for _ in range(3):
        counted.client.get("/healthz")
    counted.client.get("/v2/getTransferConfigs")
    counted.client.get("/v1/getTransferConfigs")
    counted.client.post("/v2/getTransferStatus", json={"transfer_id": "nonsense"})
    counted.client.get("/version")
    now = counted.now
    assert total(now, "gateway_requests_total", door="health", operation="version", code="200") == 1
    assert value(now, "gateway_requests_total", door="health", operation="up", code="200") == 3
    assert total(now, "gateway_requests_total", door="api", operation="getTransferConfigs") == 2
    assert value(now, "gateway_requests_total", door="api", operation="get_transfer_status", code="400") == 1
    assert value(now, "gateway_request_seconds_count", door="health", operation="up") == 3
    assert 0 < (value(now, "gateway_request_seconds_sum", door="health", operation="up") or 0) < 3


@pytest.mark.parametrize("requests", few_or_many(150, 1_500))
def test_paths_and_methods_become_no_labels(counted: Counted, requests: int) -> None:
    draw = random.Random(17)
    letters = string.ascii_letters + string.digits + "/._-%{}\"'\\\n é"
    known = [rule.rule for rule in counted.app.url_map.iter_rules()]
    for _ in range(requests):
        path = "/" + "".join(draw.choices(letters, k=draw.randint(0, 30)))
        if draw.random() < 0.4:
            path = draw.choice(known).replace("<", "").replace(">", "") + path
        if draw.random() < 0.2:
            path = "/sgn.gateway.v1.Web" + path
        if path.startswith("//"):
            path = path[1:]  # the test's client would take what follows for a host
        counted.client.open(path, method=draw.choice(METHODS))
    operations = {rule.endpoint for rule in counted.app.url_map.iter_rules()}
    allowed = operations | {each.rpartition(".")[2] for each in operations} | CALLS.keys() | {"unknown"}
    found = 0.0
    for (name, labels), number in counted.now.items():
        if name == "gateway_requests_total":
            label = dict(labels)
            assert label["door"] in INTERFACES
            assert label["operation"] in allowed
            assert label["code"].isdigit()
            found += number
    assert found == requests
    assert total(counted.now, "gateway_requests_total", operation="unknown", code="404") > 0


def test_grpc_failures_count_as_http(counted: Counted) -> None:
    headers = {"Content-Type": "application/grpc-web+proto"}
    path = "/sgn.gateway.v1.Web/"
    counted.client.post(f"{path}GetTransferConfigs", data=frame(b""), headers=headers)
    counted.client.post(f"{path}GetTransferConfigs", data=b"\xff", headers=headers)
    counted.client.post(f"{path}Nothing", data=frame(b""), headers=headers)
    now = counted.now
    answered = {"door": "grpcweb", "operation": "GetTransferConfigs"}
    assert value(now, "gateway_requests_total", code="200", **answered) == 1
    assert value(now, "gateway_requests_total", code="400", **answered) == 1
    assert value(now, "gateway_requests_total", door="grpcweb", operation="unknown", code="404") == 1


def test_error_is_counted_as_500(counted: Counted) -> None:
    def fail() -> str:
        raise RuntimeError("a fault")

    counted.app.add_url_rule("/v2/fault", "v2.fault", fail)
    counted.client.get("/v2/fault")
    assert value(counted.now, "gateway_requests_total", door="api", operation="fault", code="500") == 1


def test_stream_is_counted_without_duration(counted: Counted) -> None:
    counted.app.add_url_rule("/v2/rows", "v2.rows", lambda: Response(iter([b"a", b"b"])))
    assert counted.client.get("/v2/rows").data == b"ab"
    now = counted.now
    assert value(now, "gateway_requests_total", door="api", operation="rows", code="200") == 1
    assert total(now, "gateway_request_seconds_count", operation="rows") == 0


@pytest.mark.parametrize("status", GrpcStatus)
def test_grpc_status_counts_as_http_code(status: GrpcStatus) -> None:
    metrics = RequestMetrics(CollectorRegistry())
    answer = Response(headers={"grpc-status": str(int(status))})
    metrics.answered(Served("id", {OPERATION: "grpcweb.EstimateAmt"}), answer)
    codes = {HTTP_STATUS[kind] for kind, each in GRPC_STATUS.items() if each is status} or {504}
    now = series(generate_latest(metrics.registry))
    assert [code for code in codes if total(now, "gateway_requests_total", code=str(code)) == 1]
    assert total(now, "gateway_requests_total") == 1


def test_waiting_request_counts_without_duration(counted: Counted) -> None:
    answer = counted.client.get(f"/v2/waitTransferStatus?transfer_id=0x{7:064x}&timeout_seconds=1")
    assert answer.status_code == 200
    stream = counted.client.get(f"/v2/transferEvents?transfer_id=0x{7:064x}", buffered=False)
    assert stream.status_code == 200
    stream.close()
    now = counted.now
    for operation in ("wait_transfer_status", "transfer_events"):
        assert value(now, "gateway_requests_total", door="wait", operation=operation, code="200") == 1
    assert total(now, "gateway_request_seconds_count", door="wait") == 0


def test_outcomes_are_counted_by_closed_sets() -> None:
    registry = CollectorRegistry()
    metrics = RequestMetrics(registry)
    metrics.estimate("")
    metrics.estimate(Reason.FEE_STALE.value)
    metrics.estimate("made up")
    metrics.feed({(ChainHead.type, "accepted"): 5, ("unreadable", "refused"): 2})
    now = series(generate_latest(registry))
    assert value(now, "gateway_estimates_total", reason="ok") == 1
    assert value(now, "gateway_estimates_total", reason="internal") == 1
    assert value(now, "gateway_estimates_total", reason=Reason.FEE_STALE.value) == 1
    assert value(now, "gateway_feed_events_total", type="chain.head", outcome="accepted") == 5
    assert value(now, "gateway_feed_events_total", type="unreadable", outcome="refused") == 2


def test_estimates_and_events_are_counted(counted: Counted) -> None:
    """Through the composition root: with metrics on, estimates and lines of the feed reach the counters."""
    counted.client.get(
        f"/v2/estimateAmt?src_chain_id=1&dst_chain_id=1&token_symbol=A&amt=1&slippage_tolerance=3000&usr_addr=0x{7:040x}"
    )
    head = b'{"id": "1:h", "type": "chain.head", "at": "2026-11-20T12:00:00Z", "chain_id": 1, "block": 5}'
    for _ in range(2):
        answer = counted.client.post(
            "/ingest/v1/events",
            data=head + b"\nnonsense\n",
            headers={"Authorization": "Bearer test-ingest-token", "Content-Type": "application/x-ndjson"},
        )
    assert answer.get_json()["repeated"] == 1
    now = counted.now
    assert total(now, "gateway_estimates_total") == 1
    assert value(now, "gateway_estimates_total", reason="ok") is None
    assert value(now, "gateway_feed_events_total", type="chain.head", outcome="accepted") == 1
    assert value(now, "gateway_feed_events_total", type="chain.head", outcome="repeated") == 1
    assert value(now, "gateway_feed_events_total", type="unreadable", outcome="refused") == 2
    assert value(now, "gateway_requests_total", door="ingest", operation="post_events", code="200") == 2


def test_disabled_metrics_count_nothing(open_app: OpenApp) -> None:
    app = open_app(own=True)
    assert "metrics" not in app.extensions
    assert part_of(app, Intake).counters is NOTHING_COUNTED
