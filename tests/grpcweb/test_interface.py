"""How gRPC-Web calls are read: paths, content types, sizes, origins, callers."""

from __future__ import annotations

import base64
import io
import struct
from fractions import Fraction
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.estimates.rules.checks import Estimate
from app.grpcweb import gateway_pb2 as pb
from app.grpcweb.messages import estimate_answer
from app.values.codes import BridgeType
from tests.api.shapes import LATENCY
from tests.api.world import ADDRESS, configure, network, report_events, sent
from tests.grpcweb.wire import (
    INVALID_ARGUMENT,
    OK,
    PROTO,
    RESOURCE_EXHAUSTED,
    SERVICE,
    TEXT,
    UNIMPLEMENTED,
    Answer,
    call,
    frame,
    post,
    read,
    refused,
    understand,
)

ID = "0x" + "5a" * 32
EMPTY = frame(b"")
CONFIGS = "GetTransferConfigs"
BINARY_TYPES = ["application/grpc-web", "application/grpc-web+proto"]
TEXT_TYPES = ["application/grpc-web-text", "application/grpc-web-text+proto"]


@pytest.mark.parametrize("rate", [Fraction(10) ** 39, Fraction(10) ** 400, Fraction(2**129)])
def test_rate_beyond_float_is_largest(rate: Fraction) -> None:
    estimate = Estimate(1, rate, 0, 0, 1, 1, 1, 0, BridgeType.POOL)
    assert estimate_answer(estimate).bridge_rate == struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]


@pytest.mark.parametrize("kind", [*TEXT_TYPES, "application/grpc-web-text;x=y"])
def test_text_is_read_in_pieces(client: FlaskClient, kind: str) -> None:
    message = pb.GetTransferStatusRequest(transfer_id="zz").SerializeToString()
    for pieces in ((10,), (1, 9), (5, 5), (2, 2, 2, 2, 2), (0, 4, 6)):
        body, text = frame(message), b""
        for size in pieces:
            text += base64.b64encode(body[:size])
            body = body[size:]
        answer = post(client, "GetTransferStatus", text + base64.b64encode(body), kind)
        assert "transfer_id" in refused(answer, INVALID_ARGUMENT, "bad_request"), pieces
        assert answer.response.content_type == TEXT


@pytest.mark.parametrize(
    ("kind", "accept", "expected"),
    [
        *((kind, None, PROTO) for kind in BINARY_TYPES),
        ("Application/GRPC-Web+Proto", None, PROTO),
        ("application/grpc-web; charset=utf-8", None, PROTO),
        (PROTO, "application/grpc-web-text", TEXT),
        (PROTO, "*/*", PROTO),
        (PROTO, "", PROTO),
        (PROTO, "application/json, application/grpc-web-text+proto;q=0.5", TEXT),
        (TEXT, "application/grpc-web+proto", PROTO),
        (TEXT, "application/json", TEXT),
        (TEXT, "*/*", TEXT),
    ],
)
def test_answer_has_the_accepted_type(
    client: FlaskClient, kind: str, accept: str | None, expected: str
) -> None:
    body = base64.b64encode(EMPTY) if kind == TEXT else EMPTY
    headers = {} if accept is None else {"Accept": accept}
    answer = post(client, CONFIGS, body, kind, headers=headers)
    assert (answer.status, answer.response.content_type) == (OK, expected)


OTHER_TYPES = [
    "application/grpc", "application/grpc+proto", "application/grpc-web+json",
    "application/grpc-web-text+json", "application/json", "application/proto", "text/plain", "",
    "application/grpc-webx", "grpc-web", "\u00e9",
]  # fmt: skip


@pytest.mark.parametrize("kind", OTHER_TYPES)
def test_other_content_types_are_refused(client: FlaskClient, kind: str) -> None:
    text = refused(post(client, CONFIGS, EMPTY, kind), INVALID_ARGUMENT, "unsupported_media_type")
    assert "application/grpc-web+proto" in text


@pytest.mark.parametrize("slashes", ["/", "//", "///"])
def test_doubled_slash_is_no_redirect(client: FlaskClient, slashes: str) -> None:
    path = slashes + SERVICE[1:] + CONFIGS
    response = client.post("/", data=EMPTY, content_type=PROTO, environ_overrides={"PATH_INFO": path})
    assert understand(response).status == OK


UNKNOWN = [
    "TransferHistories", "", "Nothing", "estimateAmt", "EstimateAmt/", "EstimateAmt/x", "/EstimateAmt", "%00",
    "%FF", "..%2F..%2Fadmin", "EstimateAmt%20", "x" * 4000, "a/b/c", "é",
]  # fmt: skip


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_methods(client: FlaskClient, name: str) -> None:
    for kind in (PROTO, TEXT, "text/html"):
        refused(post(client, name, EMPTY, kind), UNIMPLEMENTED, "path_not_found")


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "TRACE", "BREW"])
def test_calls_are_posts(client: FlaskClient, method: str) -> None:
    for name in (CONFIGS, "Nothing", ""):
        for headers in ({}, {"Connection": "Upgrade", "Upgrade": "websocket"}):
            response = client.open(SERVICE + name, method=method, headers=headers)
            assert response.headers["grpc-status"] == str(UNIMPLEMENTED)
            if method != "HEAD":
                refused(understand(response), UNIMPLEMENTED, "method_not_allowed")


@pytest.mark.parametrize("header", ["content-type", "cache-control,x-grpc-web,x-user-agent,grpc-timeout"])
@pytest.mark.parametrize(
    "path", [SERVICE + CONFIGS, SERVICE + "TransferHistory", "//" + SERVICE[1:] + CONFIGS]
)
def test_preflight(client: FlaskClient, path: str, header: str) -> None:
    preflight = {
        "Origin": "https://wallet.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": header,
    }
    response = client.options("/", headers=preflight, environ_overrides={"PATH_INFO": path})
    assert (response.status_code, response.get_data()) == (200, b"")
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Credentials" not in response.headers
    assert set(header.split(",")) <= set(response.headers["Access-Control-Allow-Headers"].split(", "))
    assert "POST" in response.headers["Access-Control-Allow-Methods"].split(", ")


def test_other_origins_can_read_the_status(client: FlaskClient) -> None:
    exposed = (
        post(client, CONFIGS, EMPTY).response.headers["Access-Control-Expose-Headers"].lower().split(", ")
    )
    assert {"grpc-status", "grpc-message", "x-gateway-reason"} <= set(exposed)


def sized(size: int) -> bytes:
    """A message of so many bytes, most of them in an unknown field."""
    head = pb.GetTransferStatusRequest(transfer_id="0" * 64).SerializeToString()
    rest = size - len(head) - 5
    length = bytes([rest & 0x7F | 0x80, rest >> 7 & 0x7F | 0x80, rest >> 14])
    message = head + b"\xfa\x3e" + length + b"x" * rest
    assert len(message) == size
    return message


def as_text(body: bytes, pieces: int = 1) -> bytes:
    step = -(-len(body) // pieces)
    return b"".join(base64.b64encode(body[at : at + step]) for at in range(0, len(body), step))


@pytest.mark.parametrize("pieces", [0, 1, 1000])
def test_message_size_is_bounded(client: FlaskClient, pieces: int) -> None:
    kind = TEXT if pieces else PROTO

    def call(size: int) -> Answer:
        body = frame(sized(size))
        return post(client, "GetTransferStatus", as_text(body, pieces) if pieces else body, kind)

    assert call(64 * 1024).reason == "transfer_not_found"
    for size in (64 * 1024 + 1, 64 * 1024 + 2, 1_000_000):
        refused(call(size), RESOURCE_EXHAUSTED, "body_too_large")


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("kind", [PROTO, TEXT])
def test_endless_body_is_refused(client: FlaskClient, kind: str, declared: bool) -> None:
    """Also one of undeclared length, as a server hands over a chunked one."""
    body = b"A" * 1_000_000 if kind == TEXT else frame(bytes(1_000_000))
    chunked = {"wsgi.input_terminated": True, "HTTP_TRANSFER_ENCODING": "chunked"}
    response = client.post(
        SERVICE + CONFIGS,
        content_type=kind,
        input_stream=io.BytesIO(body),
        environ_overrides={"CONTENT_LENGTH": str(len(body))} if declared else chunked,
    )
    refused(understand(response), RESOURCE_EXHAUSTED, "body_too_large")


def test_chunked_body_is_read(client: FlaskClient) -> None:
    response = client.post(
        SERVICE + CONFIGS,
        content_type=PROTO,
        input_stream=io.BytesIO(EMPTY),
        environ_overrides={"wsgi.input_terminated": True, "HTTP_TRANSFER_ENCODING": "chunked"},
    )
    assert understand(response).status == OK


def test_rate_limit_counts_both_interfaces(open_app: Any) -> None:
    app: Flask = open_app(rate_limit="2/minute")
    client = app.test_client()
    assert client.get(LATENCY).status_code == 400
    assert post(client, CONFIGS, EMPTY).status == OK
    for name in (CONFIGS, "Nothing"):
        answer = post(client, name, EMPTY)
        refused(answer, RESOURCE_EXHAUSTED, "rate_limited")
        assert 1 <= int(answer.response.headers["Retry-After"]) <= 60
    assert client.get(LATENCY).status_code == 429
    assert client.options(SERVICE + CONFIGS).status_code == 200


@pytest.mark.parametrize("doors", [("api",), ("ingest", "admin")])
def test_closed_interface_is_not_found(open_app: Any, doors: tuple[str, ...]) -> None:
    client = open_app(doors=doors).test_client()
    assert client.post(SERVICE + CONFIGS, data=EMPTY, content_type=PROTO).status_code == 404


def test_configs_follow_the_network(app: Flask, client: FlaskClient) -> None:
    before = read(call(client, CONFIGS), CONFIGS)
    assert before == read(call(client, "GetTransferConfigsForAll"), CONFIGS)
    document = network()
    document["chains"][0]["name"] = "Renamed"
    configure(app, document)
    after = read(call(client, CONFIGS), CONFIGS)
    assert before.chains[0].name == "Ethereum"
    assert after.chains[0].name == "Renamed"
    assert set(after.chain_token) == {1, 56, 137, 250, 42161}


@pytest.mark.parametrize(
    ("cost", "fee", "cost_sent", "fee_sent"),
    [
        ("213522", 0.25, 213522, 0.25),
        (str(2**64 - 1), 3, 2**64 - 1, 3.0),
        (str(2**64), "0.25", 0, 0.0),  # beyond the type; no number
        ("21.5", True, 0, 0.0),
        ("", None, 0, 0.0),
    ],
)
def test_chain_has_the_numbers_that_are_configured(
    app: Flask, client: FlaskClient, cost: str, fee: Any, cost_sent: int, fee_sent: float
) -> None:
    document = network()
    document["chains"][0] |= {
        "drop_gas_cost_amt": "7",
        "drop_gas_balance_alert": "8",
        "suggested_gas_cost": cost,
        "extra": {"suggested_base_fee": fee},
    }
    configure(app, document)
    report_events(app, sent(ID, src_chain_id=1))
    chain = read(call(client, CONFIGS), CONFIGS).chains[0]
    assert (chain.suggested_gas_cost, chain.suggested_base_fee) == (cost_sent, fee_sent)
    assert (chain.drop_gas_cost_amt, chain.drop_gas_balance_alert) == ("7", "8")
    history = read(call(client, "TransferHistory", addr=ADDRESS, page_size=1), "TransferHistory")
    chain.suggested_base_fee = 0
    assert history.history[0].src_send_info.chain == chain
