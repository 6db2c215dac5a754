"""Three habits of some clients, accepted unless ``COMPAT_CLIENTS=0`` (docs/interface.md#compat-clients)."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.values.codes import BridgeType
from tests.api.shapes import ESTIMATE, STATUS, ZEROES, assert_refused
from tests.api.world import ADDRESS, configure, network, sent, tell, vector

pytestmark = pytest.mark.both_doors

ID = "0x" + "5a" * 32
ASKED = {k: v for k, v in vector("estimate_usdt_1_to_56")["request"].items() if k != "slippage_tolerance"}


def test_missing_tolerance_is_zero_and_passes(client: FlaskClient) -> None:
    for query in (ASKED, ASKED | {"slippage_tolerance": ""}):
        body = client.get(ESTIMATE, query_string=query).get_json()
        assert body["err"] is None
        assert body["slippage_tolerance"] == 0
        # 1 - (1000001 - 605437.528…) / 1000000, cut
        assert body["max_slippage"] == 605436


def test_given_tolerance_is_validated(client: FlaskClient) -> None:
    for value in (0, 1_000_000):
        response = client.get(ESTIMATE, query_string=ASKED | {"slippage_tolerance": value})
        assert_refused(response, 200, "bad_slippage_tolerance", ESTIMATE, 1012)
    response = client.get(ESTIMATE, query_string=ASKED | {"slippage_tolerance": "1e3"})
    assert_refused(response, 400, "bad_request", ESTIMATE)


def test_read_strictly_the_tolerance_is_required(strict: FlaskClient) -> None:
    message = assert_refused(strict.get(ESTIMATE, query_string=ASKED), 400, "bad_request", ESTIMATE)
    assert message == "slippage_tolerance: is missing"


@pytest.mark.parametrize("content_type", [None, "text/plain", "application/x-www-form-urlencoded"])
def test_any_content_type(app: Flask, client: FlaskClient, content_type: str | None) -> None:
    tell(app, sent(ID))
    response = client.post(STATUS, data=f'{{"transfer_id": "{ID}"}}', content_type=content_type)
    assert response.get_json()["status"] == 1


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("pool", BridgeType.POOL), ("deposit", BridgeType.DEPOSIT_MINT), ("burn", BridgeType.UNDEFINED)],
)
def test_bridge_type(app: Flask, client: FlaskClient, kind: str, expected: BridgeType) -> None:
    tell(app, sent(ID, kind=kind))
    body = client.post(STATUS, json={"transfer_id": ID}).get_json()
    assert list(body) == ["err", *ZEROES[STATUS]]
    assert body["bridge_type"] == expected


def test_bridge_type_of_burns(app: Flask, client: FlaskClient) -> None:
    document: dict[str, Any] = network()
    document["pegged_pairs"] = [
        {
            "symbol": "USDT",
            "org_chain_id": 1,
            "pegged_chain_id": pegged,
            "pegged_deposit_contract_addr": ADDRESS,
            "pegged_burn_contract_addr": ADDRESS,
            "vault_version": 2,
            "bridge_version": 2,
            "perc_fee_tiers": [{"from": "0", "ppm": 0}],
        }
        for pegged in (250, 42161)
    ]
    configure(app, document)
    for destination, expected in ((1, BridgeType.BURN_WITHDRAW), (42161, BridgeType.BURN_MINT)):
        transfer_id = f"0x{destination:064x}"
        tell(app, sent(transfer_id, kind="burn", src_chain_id=250, dst_chain_id=destination))
        body = client.post(STATUS, json={"transfer_id": transfer_id}).get_json()
        assert body["bridge_type"] == expected


def test_errors_have_the_type_too(client: FlaskClient) -> None:
    response = client.post(STATUS, data=b"{")
    assert response.status_code == 400
    body = response.get_json()
    assert body.pop("err")["code"] == 500
    assert body == ZEROES[STATUS]
    assert body["bridge_type"] == 0


def test_read_strictly_there_is_no_bridge_type(app: Flask, strict: FlaskClient) -> None:
    tell(app, sent(ID))
    published = [name for name in ZEROES[STATUS] if name != "bridge_type"]
    for body in ({"transfer_id": ID}, {"transfer_id": "x"}):
        assert list(strict.post(STATUS, json=body).get_json()) == ["err", *published]
