"""Strict clients read every answer: recorded ones, errors of every kind, under /v1 and under /v2."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask
from sqlalchemy.exc import OperationalError
from werkzeug.test import TestResponse

from app.estimates import views as estimates
from app.latency import views as latency
from app.transfers import views as transfers
from serving.reserved import unread_answer
from tests.api.world import configure, network, report_events, sent
from tests.applications import OpenApp
from tests.contract.clients.readers import Refused, parse
from tests.contract.clients.shapes import GO, ZOD
from tests.contract.recorded_answers import RECORDED

pytestmark = pytest.mark.one_database

PREFIXES = ("/v1/", "/v2/")
PAIR = {"src_chain_id": 1, "dst_chain_id": 56}
QUOTE = PAIR | {"token_symbol": "USDT", "amt": "1000000", "slippage_tolerance": 3000}
ID = "0x" + "5a" * 32
ASKED: dict[str, dict[str, Any]] = {
    "estimateAmt": QUOTE,
    "getSendTransaction": QUOTE | {"sender": "0x" + "5a" * 20},
    "getLatest7DayTransferLatencyForQuery": PAIR,
    "explainEstimate": QUOTE,
    "getTransferLatencyStats": PAIR,
    "getRefundEvidence": {"transfer_id": ID},
    "getTokenInfo": {"chain_id": 1, "token_symbol": "USDT"},
    "transferHistory": {"acct_addr[]": "0x" + "5a" * 20, "page_size": 10},
    "getTransfer": {"key": ID},
    "getTransferStatus": {"transfer_id": ID},
    "getTransferStatuses": {"transfer_ids": [ID, "0" * 64]},
}
POSTED = ("getTransferStatus", "getTransferStatuses")
"""Operations that only read a body."""


def read_by_all(operation: str, body: bytes) -> None:
    """Every client of the operation reads the body."""
    document = parse(body)
    GO[operation](document, operation)
    ZOD[operation](document, operation)


def recorded() -> Iterator[tuple[str, str, bytes]]:
    """Every recorded answer of an operation that has a body: the request, the operation, the body."""
    for exchange in json.loads(RECORDED.read_text(encoding="utf-8")):
        request, answer = exchange["request"], exchange["answer"]
        path = request.get("path", "").partition("?")[0]
        operation = path.rpartition("/")[2]
        if path.startswith(PREFIXES) and operation in GO and answer["body"]:
            yield f"{request['method']} {request['path']}", operation, answer["body"].encode()


def test_clients_read_every_recorded_answer() -> None:
    seen: dict[str, int] = dict.fromkeys(GO, 0)
    for request, operation, body in recorded():
        try:
            read_by_all(operation, body)
        except Refused as refused:
            raise AssertionError(request) from refused
        seen[operation] += 1
    never = [operation for operation, times in seen.items() if not times]
    assert never == [], "add a request to requests() of tests/contract/recorded_answers.py, and record again"
    assert sum(seen.values()) >= 150


@pytest.fixture
def app(open_app: OpenApp) -> Flask:
    app = open_app(own=True)
    configure(app)
    report_events(app, sent(ID))
    return app


def send(app: Flask, prefix: str, operation: str, **changes: Any) -> TestResponse:
    """A request of the operation, as its clients send it."""
    fields = ASKED.get(operation, {}) | changes
    if operation in POSTED:
        return app.test_client().post(prefix + operation, json=fields)
    return app.test_client().get(prefix + operation, query_string=fields)


@pytest.mark.parametrize("prefix", PREFIXES)
def test_all_clients_read_answers_and_errors(app: Flask, prefix: str) -> None:
    wrong: dict[str, Any] = {"transfer_id": "", "dst_chain_id": "", "key": "", "transfer_ids": []}
    for operation in GO:
        path = prefix + operation
        method = "POST" if operation in POSTED else "GET"
        responses = [
            send(app, prefix, operation),
            send(app, prefix, operation, transfer_id="0" * 64, dst_chain_id=1, key="0" * 64),
            send(app, prefix, operation, page_size="x", **wrong),
            app.test_client().open(path, method="DELETE"),
            app.test_client().open(path, method=method, data=b" " * 70_000, content_type="application/json"),
            app.test_client().post(path, data=b"{}", content_type="text/html"),
        ]
        assert responses[0].status_code == 200, path
        assert {response.status_code for response in responses} >= {200, 405, 413}, path
        for response in responses:
            read_by_all(operation, response.get_data())


@pytest.mark.parametrize(
    ("fault", "status"), [(RuntimeError("a fault"), 500), (OperationalError("", {}, Exception()), 503)]
)
def test_faults_of_the_gateway_are_read(
    app: Flask, monkeypatch: pytest.MonkeyPatch, fault: Exception, status: int
) -> None:
    def fail(*_: Any) -> Any:
        raise fault

    monkeypatch.setattr(transfers, "transfer_status", fail)
    monkeypatch.setattr(estimates, "estimate_transfer", fail)
    monkeypatch.setattr(latency, "median_latency", fail)
    for operation in ("getTransferStatus", "estimateAmt", "getLatest7DayTransferLatencyForQuery"):
        response = send(app, "/v2/", operation)
        assert response.status_code == status
        read_by_all(operation, response.get_data())


def test_clients_read_the_rate_limit(open_app: OpenApp) -> None:
    app = open_app(rate_limit="1/hour")
    send(app, "/v2/", "estimateAmt")
    for operation in GO:
        response = send(app, "/v2/", operation)
        assert response.status_code == 429
        read_by_all(operation, response.get_data())


def test_waiting_clients_read_status_answers(open_app: OpenApp) -> None:
    app = open_app(doors=("api", "wait"), rate_limit="4/hour")
    configure(app)
    report_events(app, sent(ID))
    known, changed = {"transfer_id": ID}, {"transfer_id": ID, "after_status": 5}
    queries: list[dict[str, Any]] = [known, changed, {"transfer_id": "0" * 64}, {}, {}]
    client = app.test_client()
    responses = [client.get("/v2/waitTransferStatus", query_string=query) for query in queries]
    responses.append(client.delete("/v2/waitTransferStatus"))
    assert {response.status_code for response in responses} >= {200, 400, 429}
    for response in responses:
        read_by_all("getTransferStatus", response.get_data())


@pytest.mark.parametrize("status", [400, 414, 431])
def test_unreadable_request_is_answered_readably(status: int) -> None:
    """With the fields of all operations: a client that refuses unknown names checks the HTTP status first."""
    body = unread_answer(status, "Refused", "").partition(b"\r\n\r\n")[2]
    for validate in ZOD.values():
        validate(parse(body), str(status))


def test_clients_read_blocked_routes(open_app: OpenApp) -> None:
    app = open_app()
    document = network()
    document["route_blocks"] = [
        {"symbol": "USDT", "src_chain_id": 56, "dst_chain_id": 1, "both_directions": False}
    ]
    configure(app, document)
    read_by_all("getTransferConfigs", send(app, "/v1/", "getTransferConfigs").get_data())
