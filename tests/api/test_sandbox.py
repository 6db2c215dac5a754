"""The sandbox through HTTP: every status, refund reason and error code, and evidence that verifies."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import parse_qsl

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select

from app.db.database import Database
from app.db.engine import reading
from app.feed.services.ingest import Intake
from app.http.application import current, part_of
from app.sandbox.catalogue import (
    SANDBOX_ERRORS,
    SANDBOX_ESTIMATES,
    SANDBOX_LATENCIES,
    SANDBOX_TRANSFERS,
    network_document,
    paying_contract,
    sandbox_id,
)
from app.sandbox.services import SandboxRefused, ensure_sandbox
from app.transfers.models import Transfer
from app.values.codes import ErrCode, SendKind, TransferHistoryStatus, XferStatus
from tests.actors import TESTER
from tests.api.explanations import explain
from tests.api.shapes import ESTIMATE, LATENCY, STATUS, ZEROES
from tests.applications import OpenApp, audited_of
from tests.databases import SharedDatabase
from tests.refunds.rules import contract_mirror
from tests.sandboxes import load_into

pytestmark = [pytest.mark.both_interfaces, pytest.mark.every_database]


@pytest.fixture
def client(open_app: OpenApp, shared_database: SharedDatabase) -> FlaskClient:
    app = open_app()

    def fill() -> None:
        with app.app_context():
            load_into(app)

    shared_database.fill("tests.api sandbox", fill)
    return app.test_client()


def status_of(client: FlaskClient, transfer_id: str) -> dict[str, Any]:
    response = client.post(STATUS, json={"transfer_id": transfer_id})
    assert response.status_code == 200
    body: dict[str, Any] = json.loads(response.data)
    assert body.keys() == {"err", *ZEROES[STATUS]}
    return body


def test_sandbox_has_every_status_and_reason(client: FlaskClient) -> None:
    for transfer in SANDBOX_TRANSFERS:
        answer = status_of(client, transfer.transfer_id)
        assert answer["err"] is None, transfer
        assert (answer["status"], answer["refund_reason"]) == (transfer.status, transfer.refund_reason), (
            transfer
        )
        filled = transfer.status is TransferHistoryStatus.TRANSFER_REFUND_TO_BE_CONFIRMED
        evidence = (answer["wd_onchain"], answer["sorted_sigs"], answer["signers"], answer["powers"])
        assert all(evidence) if filled else evidence == (None, [], [], []), transfer
    assert {transfer.status for transfer in SANDBOX_TRANSFERS} == set(TransferHistoryStatus)
    reasons = {transfer.refund_reason for transfer in SANDBOX_TRANSFERS}
    assert reasons == {XferStatus.UNKNOWN, *(reason for reason in XferStatus if reason.is_bad)}


@pytest.mark.one_database  # signatures and hashes
@pytest.mark.parametrize(
    ("variant", "kind", "symbol"),
    [(0, SendKind.POOL, None), (2, SendKind.DEPOSIT, "AI"), (3, SendKind.BURN, "AI")],
)
def test_contract_accepts_served_evidence(
    client: FlaskClient, variant: int, kind: SendKind, symbol: str | None
) -> None:
    transfer_id = sandbox_id(TransferHistoryStatus.TRANSFER_REFUND_TO_BE_CONFIRMED, variant)
    answer = status_of(client, transfer_id)
    wd = base64.b64decode(answer["wd_onchain"])
    sigs, signers, powers = (
        [base64.b64decode(value) for value in answer[name]] for name in ("sorted_sigs", "signers", "powers")
    )
    fields = contract_mirror.decode(kind.value, wd)
    assert fields[6] == bytes.fromhex(transfer_id[2:])
    chain_id = fields[1] if kind is SendKind.POOL else fields[5]
    assert isinstance(chain_id, int)
    with client.application.app_context():
        row = _transfer(transfer_id)
    contract = paying_contract(kind, symbol or row.symbol, chain_id, row.dst_chain_id)
    contract_mirror.execute(kind.value, chain_id, contract, stored_hash(chain_id), wd, sigs, signers, powers)


def stored_hash(chain_id: int) -> bytes:
    """The hash in the chain's contract: of the configured set, not of the answer."""
    configured = sorted(
        (bytes.fromhex(v["signer"][2:]), int(v["power"]))
        for v in network_document()["validators"]
        if v["chain_id"] == chain_id
    )
    return contract_mirror.set_hash([s for s, _ in configured], [p for _, p in configured])


def _transfer(transfer_id: str) -> Any:
    with reading(current(Database).engine) as connection:
        key = bytes.fromhex(transfer_id[2:])
        return connection.execute(select(Transfer.__table__).where(Transfer.transfer_id == key)).one()


def test_sandbox_has_every_error_code(client: FlaskClient) -> None:
    for error in SANDBOX_ERRORS:
        response = client.get(f"{ESTIMATE}?{error.query}", environ_overrides={"REMOTE_ADDR": error.caller})
        body = json.loads(response.data)
        assert response.status_code == 200, error
        assert (body["err"]["code"], response.headers["X-Gateway-Reason"]) == (error.code, error.reason), (
            error
        )
        assert len(body["err"]["msg"]) > 10, error
        assert {**body, "err": None} == {"err": None, **ZEROES[ESTIMATE]}, error
        query: dict[str, Any] = dict(parse_qsl(error.query))
        assert explain(client, caller={"REMOTE_ADDR": error.caller}, **query)["refusal"], error
    assert {error.code for error in SANDBOX_ERRORS} == set(ErrCode) - {ErrCode.ERROR_CODE_UNDEFINED}


def test_estimates_succeed(client: FlaskClient) -> None:
    for estimate in SANDBOX_ESTIMATES:
        body = json.loads(client.get(f"{ESTIMATE}?{estimate.query}").data)
        assert body["err"] is None, (estimate, body)
        receive, fees = int(body["estimated_receive_amt"]), int(body["perc_fee"]) + int(body["base_fee"])
        assert receive == int(body["eq_value_token_amt"]) - fees > 0
        query: dict[str, Any] = dict(parse_qsl(estimate.query))
        assert explain(client, **query)["refusal"] is None


def test_latencies(client: FlaskClient) -> None:
    for latency in SANDBOX_LATENCIES:
        query = {"src_chain_id": latency.src_chain_id, "dst_chain_id": latency.dst_chain_id}
        body = json.loads(client.get(LATENCY, query_string=query).data)
        assert body == {"err": None, "median_transfer_latency_in_second": latency.median.total_seconds()}


def test_sandbox_needs_an_empty_database(client: FlaskClient) -> None:
    app = client.application
    with app.app_context():
        with pytest.raises(SandboxRefused, match="not empty"):
            load_into(app)
        message = ensure_sandbox(*audited_of(app), part_of(app, Intake), actor=TESTER)
        assert message == "sandbox is up to date"
