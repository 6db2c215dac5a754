"""GET /v2/getTokenInfo."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.api.shapes import CONFIGS, TOKEN_INFO, ZEROES, assert_refused
from tests.api.world import configure, network

pytestmark = pytest.mark.both_interfaces

UNKNOWN_CHAIN = 9


def get(client: FlaskClient, path: str = TOKEN_INFO, **query: Any) -> dict[str, Any]:
    response = client.get(path, query_string=query)
    assert response.status_code == 200
    body: dict[str, Any] = response.get_json()
    assert list(body) == ["err", *ZEROES[TOKEN_INFO]]
    return body


@pytest.mark.parametrize("path", [TOKEN_INFO, "/v1/getTokenInfo"])
def test_token_is_that_of_the_configs(app: Flask, client: FlaskClient, path: str) -> None:
    document = network()
    document["tokens"][0] |= {"xfer_disabled": True, "extra": {"rank": 1}}
    configure(app, document)
    for chain_id, listed in client.get(CONFIGS).get_json()["chain_token"].items():
        for each in listed["token"]:
            body = get(client, path, chain_id=chain_id, token_symbol=each["token"]["symbol"])
            assert body == {"err": None, "token_info": each}


@pytest.mark.parametrize(
    ("chain_id", "symbol", "reason", "code", "hint"),
    [
        (UNKNOWN_CHAIN, "USDT", "chain_unknown", 500, "choose one of the chains in /v2/getTransferConfigs"),
        (1, "usdt", "token_not_on_src", 1002, "letter case matters, send token_symbol=USDT"),
        (1, "<b>", "token_not_on_src", 1002, "choose one of its tokens in /v2/getTransferConfigs"),
    ],
)
def test_unknown_token_is_refused_with_a_hint(
    app: Flask, client: FlaskClient, chain_id: int, symbol: str, reason: str, code: int, hint: str
) -> None:
    configure(app)
    response = client.get(TOKEN_INFO, query_string={"chain_id": chain_id, "token_symbol": symbol})
    message = assert_refused(response, 200, reason, TOKEN_INFO, code)
    assert message.endswith(hint)
    assert "<" not in message


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ("token_symbol=USDT", "chain_id: is missing"),
        ("chain_id=1", "token_symbol: is missing"),
        ("chain_id=4294967296&token_symbol=USDT", "chain_id: must be at most 4294967295"),
        (f"chain_id=1&token_symbol={'x' * 129}", "token_symbol: must have at most 128 characters"),
    ],
)
def test_malformed_token_request_is_refused(client: FlaskClient, query: str, fault: str) -> None:
    assert assert_refused(client.get(f"{TOKEN_INFO}?{query}"), 400, "bad_request", TOKEN_INFO) == fault
