"""A malformed request is answered by a 4xx in the whole shape of its path: no 500 and no HTML."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from app import create_app
from tests.api.malformed import GOOD, ID, PAIR, queries
from tests.api.shapes import (
    CONFIGS,
    CONFIGS_FOR_ALL,
    ESTIMATE,
    EVIDENCE,
    LATENCY,
    STATUS,
    STATUSES,
    ZEROES,
    assert_refused,
)
from tests.applications import make_settings
from tests.grpcweb.both_interfaces import BothInterfaces

BODIES: list[tuple[bytes, str]] = [
    (b"", "body"),
    (b"[]", "body"),
    (b"{}", "transfer_id"),
    (b'{"transfer_id": null}', "transfer_id"),
    (b'{"transfer_id": ""}', "transfer_id"),
    (b'{"transfer_id": 1}', "transfer_id"),
    (b'{"transfer_id": NaN}', "body"),
    (b'{"transfer_id": true}', "transfer_id"),
    (b'{"transfer_id": {}}', "transfer_id"),
    (b'{"transfer_id": ["' + ID.encode() + b'"]}', "transfer_id"),
    (b'{"transfer_id": "0x"}', "transfer_id"),
    (b'{"transfer_id": "' + ID.encode() + b' "}', "transfer_id"),
    (b'{"transfer_id": "' + ID.encode() + b'\\n"}', "transfer_id"),
    (b'{"transfer_id": "' + ID[:63].encode() + b'"}', "transfer_id"),
    (b'{"transfer_id": "' + ID.encode() + b'00"}', "transfer_id"),
    (b'{"transfer_id": "0x0x' + ID[:62].encode() + b'"}', "transfer_id"),
    (b'{"transfer_id": "' + b"g" * 64 + b'"}', "transfer_id"),
    (('{"transfer_id": "' + "\u0661" * 64 + '"}').encode(), "transfer_id"),
    (b"transfer_id=" + ID.encode(), "body"),
]

LARGE = b'{"transfer_id": "' + ID.encode() + b'", "x": "' + b"x" * 1_000_000 + b'"}'
DEEP = b"[" * 100_000 + b"]" * 100_000

JSON = "application/json"
NOT_JSON = (
    "text/plain", "text/json", "application/xml", "application/x-www-form-urlencoded", "application",
    "multipart/form-data; boundary=x", "application/jsonp", "application/json5", "", None, "\u00e9",
)  # fmt: skip
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW")

OTHERS: list[tuple[str, dict[str, Any], int, str, str | None]] = [
    # path, request, status, reason, shape
    (STATUS, {"method": "POST", "data": LARGE, "content_type": JSON}, 413, "body_too_large", STATUS),
    (STATUS, {"method": "POST", "data": DEEP, "content_type": JSON}, 413, "body_too_large", STATUS),
    (STATUS, {"method": "POST", "data": LARGE, "content_type": "text/plain"}, 413, "body_too_large", STATUS),
    (ESTIMATE, {"data": LARGE, "query_string": GOOD}, 413, "body_too_large", ESTIMATE),
    (LATENCY, {"data": LARGE, "query_string": PAIR}, 413, "body_too_large", LATENCY),
    (EVIDENCE, {"data": LARGE, "query_string": {"transfer_id": ID}}, 413, "body_too_large", EVIDENCE),
    (CONFIGS, {"data": LARGE}, 413, "body_too_large", CONFIGS),
    *((STATUS, {"method": m}, 405, "method_not_allowed", STATUS) for m in METHODS[2:]),
    *((ESTIMATE, {"method": m}, 405, "method_not_allowed", ESTIMATE) for m in METHODS[2:]),
    *((LATENCY, {"method": m}, 405, "method_not_allowed", LATENCY) for m in METHODS if m != "GET"),
    *((EVIDENCE, {"method": m}, 405, "method_not_allowed", EVIDENCE) for m in METHODS if m != "GET"),
    *((CONFIGS, {"method": m}, 405, "method_not_allowed", CONFIGS) for m in METHODS if m != "GET"),
    (CONFIGS_FOR_ALL, {"method": "PUT"}, 405, "method_not_allowed", CONFIGS_FOR_ALL),
    ("/", {"headers": {"Accept": "application/json"}}, 404, "path_not_found", None),
    ("/v3/estimateAmt", {"query_string": GOOD}, 404, "path_not_found", None),
    ("/v2/estimateAmt/", {"query_string": GOOD}, 404, "path_not_found", None),
    ("/v2//estimateAmt", {"query_string": GOOD}, 404, "path_not_found", None),
    ("/v2/estimateAmt%00", {"query_string": GOOD}, 404, "path_not_found", None),
    ("/v2/%FF", {}, 404, "path_not_found", None),
    ("/static/app.py", {}, 404, "path_not_found", None),
    ("/docs/try/..%2Fviews.py", {}, 404, "path_not_found", None),
]  # fmt: skip


@pytest.fixture(scope="module")
def http(sqlite_template: Any) -> FlaskClient:
    """One application for the whole table, for both interfaces: no request reaches the database."""
    return _client_of(sqlite_template)


@pytest.fixture(scope="module")
def strict_http(sqlite_template: Any) -> FlaskClient:
    """The same, read strictly."""
    return _client_of(sqlite_template, compat_clients=False)


def _client_of(sqlite_template: Any, **changes: object) -> FlaskClient:
    app = create_app(make_settings(f"sqlite:///{sqlite_template}", **changes))
    app.test_client_class = BothInterfaces
    return app.test_client()


@pytest.mark.parametrize(("path", "query", "name"), list(queries()), ids=lambda value: str(value)[:60])
def test_malformed_query_is_refused(strict_http: FlaskClient, path: str, query: str, name: str) -> None:
    raw = query.encode().decode("latin-1")  # as a server hands it over
    response = strict_http.get(path, environ_overrides={"QUERY_STRING": raw})
    message = assert_refused(response, 400, "bad_request", path)
    assert name in message


@pytest.mark.parametrize(("body", "name"), BODIES, ids=lambda value: str(value)[:60])
def test_malformed_body_is_refused(http: FlaskClient, body: bytes, name: str) -> None:
    response = http.post(STATUS, data=body, content_type="application/json")
    message = assert_refused(response, 400, "bad_request", STATUS)
    assert message.startswith(f"{name}: ")


@pytest.mark.parametrize(
    ("path", "request_", "status", "reason", "shape"), OTHERS, ids=lambda value: str(value)[:60]
)
def test_request_unfit_for_this_path(
    http: FlaskClient, path: str, request_: dict[str, Any], status: int, reason: str, shape: str | None
) -> None:
    response = http.open(path, **request_)
    assert_refused(response, status, reason, shape)


@pytest.mark.parametrize(
    ("path", "method", "instead"),
    [
        (STATUSES, "GET", "POST"),
        (STATUS, "PUT", "GET or POST"),
        ("/v2/webhooks", "PATCH", "DELETE or GET or POST"),
        ("/ingest/v1/events", "GET", "POST"),
    ],
)
def test_wrong_method_error_names_right_method(
    http: FlaskClient, path: str, method: str, instead: str
) -> None:
    response = http.open(path, method=method)
    assert response.status_code == 405
    message = response.get_json()["err"]["msg"]
    assert message == f"this path does not support this method: send the request by {instead}"


def test_unknown_path_names_the_documents(http: FlaskClient, open_app: Any) -> None:
    shortly = "this path does not exist"
    message = assert_refused(http.get("/v2/nothing"), 404, "path_not_found", None)
    assert message == f"{shortly}: the operations are described at /docs/ and in /openapi.json"
    elsewhere = open_app(doors=("ingest",)).test_client()  # which has no documents
    assert assert_refused(elsewhere.get("/v2/nothing"), 404, "path_not_found", None) == shortly
    for path in ("/docs/", "/openapi.json"):
        assert http.get(path).status_code == 200
        assert elsewhere.get(path).status_code == 404


@pytest.mark.parametrize("kind", NOT_JSON)
def test_strict_reading_requires_json_type(strict_http: FlaskClient, kind: str | None) -> None:
    response = strict_http.post(STATUS, content_type=kind)
    assert (response.status_code, response.headers["X-Gateway-Reason"]) == (415, "unsupported_media_type")
    body = response.get_json()
    assert body.pop("err")["code"] == 500
    assert body | {"bridge_type": 0} == ZEROES[STATUS]
    assert "bridge_type" not in body
    for path in ("/v2/getTransferStatuses", "/v2/withdrawLiquidity"):
        refused = strict_http.post(path, data=b"{}", content_type=kind)
        assert_refused(refused, 415, "unsupported_media_type", path)


def test_message_names_every_wrong_value(strict_http: FlaskClient) -> None:
    response = strict_http.get(ESTIMATE, query_string={"amt": "-1"})
    message = assert_refused(response, 400, "bad_request", ESTIMATE)
    for name in GOOD:
        assert name in message
