"""Requests for a refund over either interface, as existing clients send them."""

from __future__ import annotations

import base64
from typing import Any, NamedTuple

from flask.testing import FlaskClient

from app.grpcweb import gateway_pb2 as pb
from app.transfers.rules.refunds.refund_pb2 import WithdrawReq
from tests.api.shapes import ASK
from tests.grpcweb.wire import OK, frame, post

REQ_ID = 1_700_000_000
INTERFACES = ("http", "grpc")


class Answer(NamedTuple):
    """An interface's answer. ``understood`` is False where the request itself was wrong."""

    number: int | None
    code: int
    reason: str | None
    msg: str
    understood: bool
    retry_after: str | None


def withdraw_req(transfer: str, **changes: Any) -> bytes:
    """The message, with what clients add to what counts."""
    fields: dict[str, Any] = {"xfer_id": transfer, "exit_chain_id": 1, "req_id": REQ_ID, "withdraw_type": 1}
    message = WithdrawReq(**(fields | changes))
    message.withdraws.add(from_chain_id=1, token_addr="0xaa", ratio=100_000_000, max_slippage=5000)
    return message.SerializeToString()


def send_request(client: FlaskClient, interface: str, req: bytes, **request: Any) -> Answer:
    """Send one request."""
    return (_over_http if interface == "http" else _over_grpc)(client, req, **request)


def _over_http(client: FlaskClient, req: bytes, **request: Any) -> Answer:
    body = {
        "withdraw_req": base64.b64encode(req).decode(),
        "estimated_received_amt": "1000",
        "method_type": 1,
    }
    response = client.post(ASK, json=body, **request)
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    answer = response.get_json()
    err = answer["err"] or {"code": 0, "msg": ""}
    assert list(answer) == ["err", "seq_num"]
    return Answer(
        int(answer["seq_num"]) or None,
        err["code"],
        response.headers.get("X-Gateway-Reason"),
        err["msg"],
        response.status_code == 200,
        response.headers.get("Retry-After"),
    )


def _over_grpc(client: FlaskClient, req: bytes, **request: Any) -> Answer:
    message_sent = pb.WithdrawLiquidityRequest(
        withdraw_req=req, estimated_received_amt="1000", method_type=pb.WITHDRAW_METHOD_1
    )
    answer = post(client, "WithdrawLiquidity", frame(message_sent.SerializeToString()), **request)
    retry_after = answer.response.headers.get("Retry-After")
    if answer.status != OK:
        return Answer(None, 500, answer.reason, answer.text, False, retry_after)
    assert answer.message is not None
    message = pb.WithdrawLiquidityResponse.FromString(answer.message)
    return Answer(
        message.seq_num or None, message.err.code, answer.reason, message.err.msg, True, retry_after
    )
