"""CORS, caching, body sizes, rate limits, closed interfaces, and /v1."""

from __future__ import annotations

import io
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.http.public import PUBLIC_PREFIXES
from tests.api.shapes import (
    ASK,
    CONFIGS,
    ESTIMATE,
    FIND,
    HISTORY,
    LATENCY,
    STATUS,
    STATUSES,
    assert_refused,
)

PAIR = {"src_chain_id": 1, "dst_chain_id": 56}
ORIGIN = {"Origin": "https://wallet.example"}


@pytest.mark.parametrize(
    "path",
    [STATUS, ESTIMATE, LATENCY, CONFIGS, HISTORY, FIND, STATUSES, ASK, "/v1/estimateAmt", "/openapi.json"],
)
@pytest.mark.parametrize(
    "header",
    [
        "content-type",
        "cache-control, x-grpc-web, x-user-agent, grpc-timeout",
        "authorization, x-requested-with",
        "if-none-match",
    ],
)
def test_preflight(client: FlaskClient, path: str, header: str) -> None:
    preflight = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": header}
    response = client.options(path, headers=ORIGIN | preflight)
    assert response.status_code == 204
    assert response.get_data() == b""
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Credentials" not in response.headers
    allowed = response.headers["Access-Control-Allow-Headers"].lower().split(", ")
    assert set(header.split(", ")) <= set(allowed)
    assert {"GET", "POST"} <= set(response.headers["Access-Control-Allow-Methods"].split(", "))
    assert "text/html" not in response.headers.get("Content-Type", "")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (LATENCY, 400),
        (HISTORY, 400),
        (FIND, 400),
        (STATUS, 400),
        (STATUSES, 405),
        ("/v2/nothing", 404),
        ("/openapi.json", 200),
    ],
)
def test_any_origin_may_read_answers_and_errors(client: FlaskClient, path: str, status: int) -> None:
    response = client.get(path, headers=ORIGIN)
    assert response.status_code == status
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    assert "X-Gateway-Reason" in response.headers["Access-Control-Expose-Headers"]
    assert "Access-Control-Allow-Credentials" not in response.headers


@pytest.mark.parametrize("path", ["/admin/", "/ingest/v1/events", "/healthz", "/readyz", "/elsewhere"])
def test_no_origin_may_read_the_rest(client: FlaskClient, path: str) -> None:
    assert "Access-Control-Allow-Origin" not in client.get(path, headers=ORIGIN).headers


@pytest.mark.parametrize("path", [CONFIGS, "/v1/getTransferConfigs", "/openapi.json"])
def test_other_origins_can_revalidate(client: FlaskClient, path: str) -> None:
    first = client.get(path, headers=ORIGIN)
    assert "ETag" in first.headers["Access-Control-Expose-Headers"].split(", ")
    again = client.get(path, headers=ORIGIN | {"If-None-Match": first.headers["ETag"]})
    assert again.status_code == 304
    assert again.headers["Access-Control-Allow-Origin"] == "*"


def chunked(client: FlaskClient, path: str, method: str, size: int) -> Any:
    """A body without a Content-Length, as a server hands over a chunked one."""
    environ = {"wsgi.input_terminated": True, "HTTP_TRANSFER_ENCODING": "chunked"}
    body = b'{"transfer_id": "' + b"0" * 64 + b'", "x": "' + b"x" * (size - 92) + b'"}'
    assert len(body) == size
    return client.open(
        path,
        method=method,
        content_type="application/json",
        input_stream=io.BytesIO(body),
        environ_overrides=environ,
    )


def test_chunked_body_is_bounded(client: FlaskClient) -> None:
    response = chunked(client, STATUS, "POST", 64 * 1024)
    assert_refused(response, 200, "transfer_not_found", STATUS)
    for size in (64 * 1024 + 1, 64 * 1024 + 2, 1_000_000):
        assert_refused(chunked(client, STATUS, "POST", size), 413, "body_too_large", STATUS)
    assert_refused(chunked(client, LATENCY, "GET", 64 * 1024 + 1), 413, "body_too_large", LATENCY)


@pytest.mark.parametrize(("size", "status"), [(65_536, 200), (65_537, 413)])
def test_body_size_is_bounded(client: FlaskClient, size: int, status: int) -> None:
    head, tail = b'{"transfer_id": "' + b"0" * 64 + b'"', b"}"
    body = head + b" " * (size - len(head) - len(tail)) + tail
    assert len(body) == size
    response = client.post(STATUS, data=body, content_type="application/json")
    assert response.status_code == status


def get_from(app: Flask, peer: str, path: str = LATENCY, **headers: str) -> Any:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return app.test_client().get(path, environ_overrides={"REMOTE_ADDR": peer}, headers=names)


def test_health_documents_preflights_are_unlimited(open_app: Any) -> None:
    app: Flask = open_app(rate_limit="1/minute")
    for _ in range(3):
        assert get_from(app, "198.51.100.7", "/healthz").status_code == 200
        assert get_from(app, "198.51.100.7", "/openapi.json").status_code == 200
        preflight = app.test_client().options(LATENCY, environ_overrides={"REMOTE_ADDR": "198.51.100.7"})
        assert preflight.status_code == 204
    assert all(prefix.endswith("/") for prefix in PUBLIC_PREFIXES)


def test_limit_counts_by_caller(open_app: Any) -> None:
    app: Flask = open_app(rate_limit="1/minute", trusted_proxies=1)
    assert get_from(app, "127.0.0.1", X_Forwarded_For="203.0.113.1").status_code == 400
    assert get_from(app, "127.0.0.1", X_Forwarded_For="203.0.113.2").status_code == 400
    assert get_from(app, "127.0.0.1", X_Forwarded_For="9.9.9.9, 203.0.113.2").status_code == 429
    # A subscriber has a whole /64 of IPv6 to choose from.
    assert get_from(app, "127.0.0.1", X_Forwarded_For="2001:db8:1::1").status_code == 400
    assert get_from(app, "127.0.0.1", X_Forwarded_For="2001:db8:1::2").status_code == 429
    assert get_from(app, "127.0.0.1", X_Forwarded_For="2001:db8:2::1").status_code == 400


@pytest.mark.parametrize("doors", [("ingest",), ("grpcweb", "admin")])
def test_closed_interface_has_no_paths(open_app: Any, doors: tuple[str, ...]) -> None:
    client = open_app(doors=doors).test_client()
    for path in (STATUS, ESTIMATE, LATENCY, CONFIGS, "/v1/estimateAmt", "/openapi.json", "/docs"):
        assert_refused(client.get(path), 404, "path_not_found", None)
    assert client.get("/healthz").status_code == 200
    assert client.get("/readyz").status_code == 200


def test_head_is_get_without_a_body(client: FlaskClient) -> None:
    response = client.head(LATENCY, query_string=PAIR)
    assert response.status_code == 200
    assert response.get_data() == b""
    assert response.headers["X-Gateway-Reason"] == "no_latency_data"
