"""Three habits of public clients: accepted by default, refused with ``COMPAT_CLIENTS=0``.

One client leaves the tolerance out, one posts JSON without its content type, one knows refunds by
``bridge_type``.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest
from flask import Flask

from tests.api.world import configure, report_events, sent
from tests.applications import OpenApp
from tests.contract.clients.readers import Refused, go_struct, parse, zod_object
from tests.contract.clients.shapes import GO, ZOD, published_status
from tests.contract.conftest import OpenSandbox
from tests.grpcweb.wire import call, read

pytestmark = pytest.mark.one_database

ID = "0x" + "5a" * 32
DEPOSIT = "0x" + "6b" * 32
UNKNOWN = "0x" + "00" * 32
QUOTE: dict[str, Any] = {"src_chain_id": 1, "dst_chain_id": 56, "token_symbol": "USDT", "amt": "1000000"}
FORM = "application/x-www-form-urlencoded"
UNDECLARED = (None, "text/plain;charset=UTF-8", FORM)
"""No content type, and those that fetch and curl set by themselves."""
PREFIXES = ("/v1/", "/v2/")


def filled(app: Flask) -> Flask:
    configure(app)
    report_events(app, sent(ID), sent(DEPOSIT, kind="deposit"))
    return app


@pytest.fixture
def app(open_app: OpenApp) -> Flask:
    """A gateway with the defaults."""
    return filled(open_app())


@pytest.fixture
def strict(open_app: OpenApp) -> Flask:
    return filled(open_app(compat_clients=False))


@pytest.mark.parametrize("prefix", PREFIXES)
def test_status_with_undeclared_content_type(app: Flask, prefix: str) -> None:
    for transfer_id, bridge in ((ID, 1), (DEPOSIT, 2), (UNKNOWN, 0)):
        body = json.dumps({"transfer_id": transfer_id})
        for kind in (*UNDECLARED, "application/json"):
            response = app.test_client().post(prefix + "getTransferStatus", data=body, content_type=kind)
            document = parse(response.get_data())
            GO["getTransferStatus"](document, "go")
            ZOD["getTransferStatus"](document, "zod")
            assert document["bridge_type"] == bridge


@pytest.mark.parametrize("prefix", PREFIXES)
def test_quote_without_tolerance_is_read(app: Flask, prefix: str) -> None:
    client, path = app.test_client(), prefix + "estimateAmt"
    responses = [
        client.get(path, query_string=QUOTE),
        client.post(path, data=urlencode(QUOTE), content_type=FORM),
    ]
    responses += [client.post(path, data=json.dumps(QUOTE), content_type=kind) for kind in UNDECLARED[:2]]
    for response in responses:
        document = parse(response.get_data())
        GO["estimateAmt"](document, "go")
        ZOD["estimateAmt"](document, "zod")
        assert (document["err"], document["slippage_tolerance"]) == (None, 0)
        assert int(document["estimated_receive_amt"]) > 0
        assert response.get_data() == responses[0].get_data()


def test_zero_tolerance_is_refused(app: Flask) -> None:
    client = app.test_client()
    for zero in (0, "0"):
        body = QUOTE | {"slippage_tolerance": zero}
        for response in (
            client.get("/v2/estimateAmt", query_string=body),
            client.post("/v2/estimateAmt", json=body),
        ):
            assert response.get_json()["err"]["code"] == 1012


@pytest.mark.parametrize("prefix", PREFIXES)
def test_strict_gateway_refuses_all_three(strict: Flask, prefix: str) -> None:
    client = strict.test_client()
    status, quote = prefix + "getTransferStatus", prefix + "estimateAmt"
    response = client.post(status, json={"transfer_id": ID})
    go_struct(published_status(go_struct))(parse(response.get_data()), "go")
    zod_object(published_status(zod_object))(parse(response.get_data()), "zod")
    with pytest.raises(Refused):
        ZOD["getTransferStatus"](parse(response.get_data()), "zod")
    for kind in UNDECLARED:
        refused = client.post(status, data=json.dumps({"transfer_id": ID}), content_type=kind)
        assert refused.status_code == 415
        go_struct(published_status(go_struct))(parse(refused.get_data()), "go")
    for refused in (client.get(quote, query_string=QUOTE), client.post(quote, json=QUOTE)):
        assert refused.get_json()["err"]["msg"] == "slippage_tolerance: is missing"
        GO["estimateAmt"](parse(refused.get_data()), "go")
    assert client.post(quote, json=QUOTE | {"slippage_tolerance": 0}).get_json()["err"]["code"] == 1012


@pytest.mark.parametrize("changes", [{}, {"compat_clients": False}])
def test_setting_has_no_effect_on_grpc_web(open_app: OpenApp, changes: dict[str, bool]) -> None:
    """The type is a field of the message; a tolerance that is left out is a tolerance of 0."""
    client = filled(open_app(**changes)).test_client()
    for transfer_id, bridge in ((ID, 1), (DEPOSIT, 2), (UNKNOWN, 0)):
        answer = call(client, "GetTransferStatus", transfer_id=transfer_id)
        assert read(answer, "GetTransferStatus").bridge_type == bridge
    for tolerance, code in ((0, 1012), (3000, 0)):
        answer = call(client, "EstimateAmt", **QUOTE, slippage_tolerance=tolerance)
        assert read(answer, "EstimateAmt").err.code == code


def test_sandbox_configs_have_astar_and_shiden(open_sandbox: OpenSandbox) -> None:
    """It reads chains 592 and 336 of the configs without a check."""
    client = open_sandbox().test_client()
    configs = client.get("/v2/getTransferConfigsForAll").get_json()
    names = {chain["id"]: chain["name"] for chain in configs["chains"]}
    assert (names[592], names[336]) == ("Astar", "Shiden")
    (pair,) = [
        pair
        for pair in configs["pegged_pair_configs"]
        if (pair["org_chain_id"], pair["pegged_chain_id"]) == (336, 592)
    ]
    for chain_id, side in ((336, "org_token"), (592, "pegged_token")):
        (listed,) = [each["token"] for each in configs["chain_token"][str(chain_id)]["token"]]
        assert listed["address"] == pair[side]["token"]["address"]
        assert (listed["xfer_disabled"], pair[side]["token"]["xfer_disabled"]) == (True, False)
    for src, dst in ((336, 592), (592, 336)):
        body = {"src_chain_id": src, "dst_chain_id": dst, "token_symbol": "SDN", "amt": str(10**20)}
        assert client.get("/v2/estimateAmt", query_string=body).get_json()["err"] is None
