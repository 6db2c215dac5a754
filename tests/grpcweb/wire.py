"""A small gRPC-Web client for the tests, written from the protocol and not from the server's code."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from flask.testing import FlaskClient
from google.protobuf.message import Message
from werkzeug.test import TestResponse

from app.grpcweb import gateway_pb2 as pb

SERVICE = "/sgn.gateway.v1.Web/"
PROTO = "application/grpc-web+proto"
TEXT = "application/grpc-web-text+proto"

METHODS: dict[str, tuple[type[Message], type[Message]]] = {
    "EstimateAmt": (pb.EstimateAmtRequest, pb.EstimateAmtResponse),
    "GetSendTransaction": (pb.GetSendTransactionRequest, pb.GetSendTransactionResponse),
    "GetTransferStatus": (pb.GetTransferStatusRequest, pb.GetTransferStatusResponse),
    "GetLatest7DayTransferLatencyForQuery": (
        pb.GetLatest7DayTransferLatencyForQueryRequest,
        pb.GetLatest7DayTransferLatencyForQueryResponse,
    ),
    "TransferHistory": (pb.TransferHistoryRequest, pb.TransferHistoryResponse),
    "GetTransferConfigs": (pb.GetTransferConfigsRequest, pb.GetTransferConfigsResponse),
    "WithdrawLiquidity": (pb.WithdrawLiquidityRequest, pb.WithdrawLiquidityResponse),
    "EstimateWithdrawAmt": (pb.EstimateWithdrawAmtRequest, pb.EstimateWithdrawAmtResponse),
    "GetTokenBound": (pb.GetTokenBoundRequest, pb.GetTokenBoundResponse),
    "GetTokenInfo": (pb.GetTokenInfoRequest, pb.GetTokenInfoResponse),
    "GetTransferConfigsForAll": (pb.GetTransferConfigsRequest, pb.GetTransferConfigsResponse),
}

OK, INVALID_ARGUMENT, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED = 0, 3, 4, 8
UNIMPLEMENTED, INTERNAL, UNAVAILABLE = 12, 13, 14


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: ``message`` is what the first frame holds, None where there is none."""

    status: int
    text: str
    reason: str | None
    message: bytes | None
    response: TestResponse


def frame(message: bytes, flags: int = 0) -> bytes:
    return bytes([flags]) + len(message).to_bytes(4, "big") + message


def frames(body: bytes) -> list[tuple[int, bytes]]:
    """Flags and content of each frame; fails on anything left over."""
    found = []
    while body:
        length = int.from_bytes(body[1:5], "big")
        assert len(body) >= 5 + length
        found.append((body[0], body[5 : 5 + length]))
        body = body[5 + length :]
    return found


def understand(response: TestResponse) -> Answer:
    """The answer, compared with what the protocol and docs/grpc-web.md require of every answer."""
    assert response.status_code == 200
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    assert response.headers["Cache-Control"] == "no-store"
    body = response.get_data()
    if response.content_type == TEXT:
        body = base64.b64decode(body, validate=True)
    else:
        assert response.content_type == PROTO
    *messages, (flags, end) = frames(body)
    assert flags == 0x80
    trailers = dict(line.split(":", 1) for line in end.decode("ascii").removesuffix("\r\n").split("\r\n"))
    status = int(trailers["grpc-status"])
    if messages:
        ((flags, message),) = messages
        assert (flags, status) == (0, OK)
        assert "grpc-status" not in response.headers
        assert "grpc-message" not in trailers
    else:
        message = None
        assert status != OK
        for name, value in trailers.items():
            assert response.headers[name] == value, name
    assert trailers.keys() <= {"grpc-status", "grpc-message"}
    reason = response.headers.get("X-Gateway-Reason")
    return Answer(status, unquote(trailers.get("grpc-message", "")), reason, message, response)


def post(client: FlaskClient, method: str, body: bytes, content_type: str = PROTO, **more: Any) -> Answer:
    """These bytes as the body of a call."""
    return understand(client.post(SERVICE + method, data=body, content_type=content_type, **more))


def call(client: FlaskClient, method: str, **more: Any) -> Answer:
    """A call with the fields of the request; ``environ_overrides`` and ``headers`` go to the client."""
    passed = {name: more.pop(name) for name in ("environ_overrides", "headers") if name in more}
    request, _ = METHODS[method]
    return post(client, method, frame(request(**more).SerializeToString()), **passed)


def read(answer: Answer, method: str) -> Any:
    """The message of a successful call."""
    assert answer.status == OK, answer.text
    assert answer.message is not None
    return METHODS[method][1].FromString(answer.message)


def refused(answer: Answer, status: int, reason: str | None) -> str:
    """A call that failed: returns its text."""
    assert (answer.status, answer.reason) == (status, reason), answer.text
    assert answer.text
    return answer.text
