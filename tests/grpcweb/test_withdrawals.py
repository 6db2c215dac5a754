"""Estimates of withdrawals, and bounds of pools (docs/interface/estimates.md#withdrawals)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from google.protobuf.json_format import MessageToDict

from app.grpcweb import gateway_pb2 as pb
from tests.api.world import ADDRESS, BLOCKED, configure, event, network, report_events, sent
from tests.grpcweb.wire import INVALID_ARGUMENT, OK, Answer, frame, post


def send(client: FlaskClient, method: str, request_: Any, **request: Any) -> Answer:
    raw = request_ if isinstance(request_, bytes) else request_.SerializeToString()
    return post(client, method, frame(raw), **request)


def withdrawing(
    *sources: tuple[int, str, int], dst: int = 1, **changes: Any
) -> pb.EstimateWithdrawAmtRequest:
    return pb.EstimateWithdrawAmtRequest(
        src_withdraws=[
            pb.WithdrawSource(chain_id=chain_id, amount=amount, slippage_tolerance=tolerance)
            for chain_id, amount, tolerance in sources
        ],
        dst_chain_id=dst,
        **({"token_symbol": "USDT"} | changes),
    )


def estimates(client: FlaskClient, request_: Any, **request: Any) -> pb.EstimateWithdrawAmtResponse:
    answer = send(client, "EstimateWithdrawAmt", request_, **request)
    assert answer.status == OK, answer.text
    return pb.EstimateWithdrawAmtResponse.FromString(answer.message or b"")


@pytest.mark.parametrize("chain_id", [1, 137])
def test_refund_returns_the_whole_amount(client: FlaskClient, chain_id: int) -> None:
    """Also on a chain that is disabled, which may be why it is refunded."""
    amount = str(2**256 - 1)
    answer = estimates(client, withdrawing((chain_id, amount, 3000), dst=chain_id))
    assert not answer.HasField("err")
    assert MessageToDict(answer.req_amt[chain_id], preserving_proto_field_name=True) == {
        "eq_value_token_amt": amount,
        "bridge_rate": 1.0,
        "perc_fee": "0",
        "base_fee": "0",
        "slippage_tolerance": 3000,
    }
    assert list(answer.req_amt) == [chain_id]


def test_withdrawal_elsewhere_is_like_a_transfer(client: FlaskClient) -> None:
    answer = estimates(client, withdrawing((1, "1000000", 3000), (56, "7", 1), dst=56))
    request_ = pb.EstimateAmtRequest(
        src_chain_id=1, dst_chain_id=56, token_symbol="USDT", amt="1000000", slippage_tolerance=3000
    )
    transfer = pb.EstimateAmtResponse.FromString(send(client, "EstimateAmt", request_).message or b"")
    for name in pb.WithdrawEstimate.DESCRIPTOR.fields_by_name:
        assert getattr(answer.req_amt[1], name) == getattr(transfer, name), name
    assert answer.req_amt[56].eq_value_token_amt == "7"


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (withdrawing((1, "0", 1)), "amount_zero"),
        (withdrawing((99, "1", 1), dst=99), "chain_unknown"),
        (withdrawing((1, "1", 1), (99, "1", 1)), "chain_unknown"),
        (withdrawing((56, "1", 1)), "no_route"),
        (withdrawing((1, "1000000", 3000), dst=56, usr_addr=BLOCKED), "address_blocked"),
    ],
)
def test_withdraw_estimate_refuses_any_bad_source(client: FlaskClient, request_: Any, reason: str) -> None:
    answer = send(client, "EstimateWithdrawAmt", request_)
    assert (answer.status, answer.reason) == (OK, reason)
    message = pb.EstimateWithdrawAmtResponse.FromString(answer.message or b"")
    assert message.err.code
    assert not message.req_amt


TOO_LARGE = b"\x0a\x09\x08\x81\x80\x80\x80\x10\x12\x011\x10\x01\x1a\x04USDT"
"""The source chain 2^32 + 1, which protobuf itself would read as 1."""


@pytest.mark.parametrize(
    ("request_", "fault"),
    [
        (withdrawing(), "src_withdraws: is missing"),
        (withdrawing((1, "", 1)), "src_withdraws: amount of chain 1: is missing"),
        (withdrawing((1, "-1", 1)), "src_withdraws: amount of chain 1: must be a whole number"),
        (withdrawing((1, "1", 1), (1, "2", 1)), "src_withdraws: must name each chain once"),
        (withdrawing(*((n, "1", 1) for n in range(33))), "src_withdraws: must have at most 32 chains"),
        (withdrawing((1, "1", 1), token_symbol=""), "token_symbol: is missing"),
        (TOO_LARGE, "src_withdraws: chain_id must be at most 4294967295"),
    ],
)
def test_malformed_withdrawals_are_refused(client: FlaskClient, request_: Any, fault: str) -> None:
    answer = send(client, "EstimateWithdrawAmt", request_)
    assert (answer.status, answer.reason) == (INVALID_ARGUMENT, "bad_request")
    assert answer.text.startswith(fault)


def bound(client: FlaskClient, chain_id: int, address: str = ADDRESS) -> Answer:
    return send(client, "GetTokenBound", pb.GetTokenBoundRequest(chain_id=chain_id, token_addr=address))


def value(client: FlaskClient, chain_id: int, address: str = ADDRESS) -> str:
    answer = bound(client, chain_id, address)
    assert (answer.status, answer.reason) == (OK, None)
    return pb.GetTokenBoundResponse.FromString(answer.message or b"").value


def test_bound_is_what_the_limit_leaves(app: Flask, client: FlaskClient) -> None:
    assert value(client, 1) == "5000000000000"
    assert value(client, 1, ADDRESS.lower()) == "5000000000000"
    assert value(client, 250) == "", "no pool, no bound"
    report_events(
        app,
        sent("0x" + "01" * 32, src_chain_id=56, dst_chain_id=1, amount="7000000000000000000"),
        event("transfer.released", transfer_id="0x" + "01" * 32, dst_tx_hash="0x" + "02" * 32),
    )
    assert value(client, 1) == str(5_000_000_000_000 - 7_000_000)


@pytest.mark.parametrize(
    ("caps", "left"),
    [
        ({"total_cap": "5000000000005"}, "2"),
        ({"total_cap": "1"}, "0"),
        ({"epoch_cap": "10", "epoch_seconds": 3600}, "7"),
        ({"epoch_cap": "9000000000000", "epoch_seconds": 3600}, "5000000000000"),
    ],
)
def test_caps_that_leave_less(open_app: Any, caps: dict[str, Any], left: str) -> None:
    """An estimate accepts the answered amount on the source pool, and not one more."""
    app = open_app()
    document = network()
    document["pools"][0] |= caps
    configure(app, document)
    report_events(app, sent("0x" + "01" * 32, timedelta(0), amount="3"))
    assert value(app.test_client(), 1) == left


@pytest.mark.parametrize(
    ("chain_id", "address", "reason"),
    [(99, ADDRESS, "chain_unknown"), (2**64 - 1, ADDRESS, "chain_unknown"), (1, "0x12", "token_not_on_src")],
)
def test_unknown_token_has_no_bound(client: FlaskClient, chain_id: int, address: str, reason: str) -> None:
    answer = bound(client, chain_id, address)
    assert (answer.status, answer.reason) == (OK, reason)
    message = pb.GetTokenBoundResponse.FromString(answer.message or b"")
    assert message.err.code
    assert message.value == ""


def test_bound_without_token_is_refused(client: FlaskClient) -> None:
    assert bound(client, 1, "").text == "token_addr: is missing"
