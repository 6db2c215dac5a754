"""Requests for a refund: which are accepted, which are refused, and what a wallet sees of them."""

from __future__ import annotations

import base64
import json
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select

from app.db.database import Database
from app.db.engine import reading
from app.http.application import part_of
from app.http.limits import RefundRequestLimit
from app.network.snapshot import SnapshotSource
from app.refunds.models import UserRefundRequest
from app.refunds.services import request_refund
from app.transfers.rules.refunds.request_message import read_withdraw_request
from app.values.codes import TransferHistoryStatus as Status
from app.values.codes import XferStatus
from tests.api.shapes import ASK, EVIDENCE, STATUS, assert_refused
from tests.feed.services.world import (
    KEYS,
    NOW,
    about,
    feed,
    prepared,
    released,
    request,
    sent,
    signature,
    signed,
    transfer_id,
)
from tests.refunds.requesting import INTERFACES, REQ_ID, Answer, send_request, withdraw_req

ACCEPTED = Answer(REQ_ID, 0, None, "", True, None)


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


def bad_slippage(n: int = 1, at: float = -50) -> dict[str, Any]:
    return about(n, "network.status", at=at, xfer_status=4)


def stored_requests(database: Database) -> list[tuple[Any, ...]]:
    with reading(database.engine) as connection:
        rows = connection.execute(
            select(UserRefundRequest.transfer_id, UserRefundRequest.at).order_by(UserRefundRequest.seq)
        )
        return [(f"0x{row.transfer_id.hex()}", row.at) for row in rows]


def status(client: FlaskClient, n: int = 1) -> tuple[int, int]:
    answer = client.post(STATUS, json={"transfer_id": transfer_id(n)}).get_json()
    return answer["status"], answer["refund_reason"]


@pytest.mark.parametrize("interface", INTERFACES)
def test_a_wallets_way_from_6_to_8(
    client: FlaskClient, app: Flask, database: Database, interface: str
) -> None:
    feed(app, sent(1), bad_slippage())
    assert status(client) == (Status.TRANSFER_TO_BE_REFUNDED, XferStatus.BAD_SLIPPAGE)
    assert send_request(client, interface, withdraw_req(transfer_id(1))) == ACCEPTED
    assert status(client) == (Status.TRANSFER_REQUESTING_REFUND, 0)
    waiting = client.get(EVIDENCE, query_string={"transfer_id": transfer_id(1)}).get_json()
    assert (waiting["status"], waiting["valid"]) == (Status.TRANSFER_REQUESTING_REFUND, False)
    assert waiting["notes"] == ["the refund was requested at 2026-06-01T12:00:00Z"]
    assert "no refund request is known yet" in waiting["missing"][0]
    assert send_request(client, interface, withdraw_req(transfer_id(1)[2:].upper())) == ACCEPTED
    wd = request(1)
    feed(app, prepared(1, wd), *(signed(1, signature(wd, key)) for key in KEYS[:3]))
    assert status(client) == (Status.TRANSFER_REFUND_TO_BE_CONFIRMED, 0)
    assert client.get(EVIDENCE, query_string={"transfer_id": transfer_id(1)}).get_json()["valid"] is True
    assert send_request(client, interface, withdraw_req(transfer_id(1))) == ACCEPTED
    feed(app, about(1, "refund.submitted", tx_hash="0x" + "44" * 32))
    assert send_request(client, interface, withdraw_req(transfer_id(1))) == ACCEPTED
    feed(app, about(1, "refund.completed"))
    assert status(client) == (Status.TRANSFER_REFUNDED, 0)
    assert send_request(client, interface, withdraw_req(transfer_id(1))) == ACCEPTED
    assert stored_requests(database) == [(transfer_id(1), NOW)]


def test_request_at_7_writes_nothing(client: FlaskClient, app: Flask, database: Database) -> None:
    """Where none was stored before."""
    feed(app, sent(1), bad_slippage(), about(1, "refund.requested"))
    assert send_request(client, "http", withdraw_req(transfer_id(1))) == ACCEPTED
    assert stored_requests(database) == []


@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize(
    "events",
    [
        [sent(1)],
        [sent(1), about(1, "network.status", xfer_status=2)],
        [sent(1), bad_slippage(), about(1, "network.status", at=-40, xfer_status=2)],
        [sent(1), bad_slippage(), released(1)],
        [sent(1), bad_slippage(), about(1, "transfer.delayed")],
        [about(1, "transfer.failed")],
    ],
    ids=["1", "4", "4 after 6", "5", "11", "2"],
)
def test_what_is_not_to_be_refunded(
    client: FlaskClient, app: Flask, database: Database, events: list[dict[str, Any]], interface: str
) -> None:
    feed(app, *events)
    answer = send_request(client, interface, withdraw_req(transfer_id(1)))
    assert (answer.code, answer.reason, answer.understood) == (500, "refund_not_available", True)
    assert f"its status is {status(client)[0]} (" in answer.msg
    assert stored_requests(database) == []


@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize("kind", [0, 2, 3, 9])
def test_other_withdrawals(client: FlaskClient, app: Flask, kind: int, interface: str) -> None:
    feed(app, sent(1), bad_slippage())
    for xfer_id in (transfer_id(1), ""):
        answer = send_request(client, interface, withdraw_req(xfer_id, withdraw_type=kind))
        assert (answer.number, answer.code, answer.reason) == (None, 500, "refund_not_available")
        assert "withdraw_type 1" in answer.msg
    assert status(client) == (Status.TRANSFER_TO_BE_REFUNDED, XferStatus.BAD_SLIPPAGE)


@pytest.mark.parametrize("interface", INTERFACES)
def test_an_unknown_transfer(client: FlaskClient, app: Flask, interface: str) -> None:
    feed(app, sent(2))
    answer = send_request(client, interface, withdraw_req(transfer_id(1)))
    assert (answer.code, answer.reason, answer.understood) == (500, "transfer_not_found", True)
    assert answer.msg.startswith("transfer not found; newest events: Chain 1")


@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize(
    ("req", "fault"),
    [
        (b"", "is missing: send the base64 of a WithdrawReq"),
        (b"\xff\xff", "is not a WithdrawReq message: send the base64"),
        (withdraw_req("0x12"), "its xfer_id must be a string of 32 bytes in hex"),
        (withdraw_req(""), "its xfer_id is missing"),
    ],
)
def test_what_cannot_be_read(client: FlaskClient, req: bytes, fault: str, interface: str) -> None:
    answer = send_request(client, interface, req)
    assert (answer.number, answer.code, answer.reason, answer.understood) == (None, 500, "bad_request", False)
    assert answer.msg.startswith(f"withdraw_req: {fault}")


@pytest.mark.parametrize("body", [{}, {"withdraw_req": None}, {"withdraw_req": 7}, {"withdraw_req": "=A="}])
def test_other_body_is_refused(client: FlaskClient, body: dict[str, Any]) -> None:
    for response in (client.post(ASK, json=body), client.post(ASK, data=json.dumps(body))):
        assert "withdraw_req: " in assert_refused(response, 400, "bad_request", ASK)
    assert_refused(client.get(ASK), 405, "method_not_allowed", ASK)


def test_the_forms_of_existing_clients(client: FlaskClient, app: Flask) -> None:
    """A space after the path, either alphabet of base64, padded or not, other fields of any kind."""
    feed(app, sent(1), bad_slippage())
    raw = withdraw_req(transfer_id(1), req_id=2**64 - 1)
    texts = {base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode()}
    for path in ("/v1/withdrawLiquidity", "/v2/withdrawLiquidity", "/v1/withdrawLiquidity%20"):
        for text in texts | {text.rstrip("=") for text in texts}:
            body = {"withdraw_req": text, "method_type": "x", "sig": None, "estimated_received_amt": 3}
            answer = client.post(path, json=body, environ_overrides={"REMOTE_ADDR": f"10.0.0.{len(path)}"})
            assert answer.get_json() == {"err": None, "seq_num": str(2**64 - 1)}, (path, text)
    assert_refused(client.get("/v1/withdrawLiquidity "), 405, "method_not_allowed", ASK)


@pytest.mark.parametrize("interface", INTERFACES)
def test_ten_a_minute(client: FlaskClient, interface: str) -> None:
    """Also without RATE_LIMIT, for any request, over both interfaces; a caller of IPv6 by its /64."""
    req = withdraw_req(transfer_id(1), withdraw_type=0)
    here = {"environ_overrides": {"REMOTE_ADDR": "2001:db8::1"}}
    for _ in range(10):
        assert send_request(client, interface, req, **here).reason == "refund_not_available"
    for each in INTERFACES:
        answer = send_request(client, each, req, environ_overrides={"REMOTE_ADDR": "2001:db8::2"})
        assert (answer.reason, answer.code, answer.understood) == ("rate_limited", 500, False)
        assert answer.retry_after is not None
        assert 1 <= int(answer.retry_after) <= 60
    elsewhere = {"environ_overrides": {"REMOTE_ADDR": "2001:db8:0:1::1"}}
    assert send_request(client, interface, req, **elsewhere).reason == "refund_not_available"
    assert client.post(STATUS, json={"transfer_id": transfer_id(1)}, **here).status_code == 200


@pytest.mark.every_database
def test_concurrent_refund_requests_store_one(
    app: Flask, database: Database, snapshots: SnapshotSource
) -> None:
    feed(app, sent(1), bad_slippage())
    message = read_withdraw_request(withdraw_req(transfer_id(1)))

    def once(n: int) -> int:
        return request_refund(
            database,
            snapshots,
            part_of(app, RefundRequestLimit),
            message,
            ip_address(f"10.0.0.{n}"),
        )

    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(once, range(6))) == [REQ_ID] * 6
    assert len(stored_requests(database)) == 1
    assert status(app.test_client()) == (Status.TRANSFER_REQUESTING_REFUND, 0)
