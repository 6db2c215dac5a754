"""GET /v2/getTransferConfigs and …ForAll."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.network.schemas import ConfigsAnswer
from tests.api.shapes import CONFIGS, CONFIGS_FOR_ALL, ZEROES
from tests.api.world import ADDRESS, configure, network, vector
from tests.builders import network as build
from tests.contract.recorded_answers import own_of_tokens

pytestmark = pytest.mark.both_interfaces

PATHS = [CONFIGS, CONFIGS_FOR_ALL, "/v1" + CONFIGS[3:], "/v1" + CONFIGS_FOR_ALL[3:]]


def with_pair() -> dict[str, Any]:
    document = network()
    document["pegged_pairs"] = [build.pair(1, 250, "USDT", ADDRESS, ADDRESS)]
    document["route_blocks"] = [build.block(1, 137, both=True, reason="secret")]
    return document


@pytest.mark.parametrize("path", PATHS)
def test_configs_are_answered_at_every_path(app: Flask, client: FlaskClient, path: str) -> None:
    configure(app, with_pair())
    response = client.get(path)
    assert response.status_code == 200
    assert response.content_type == "application/json"
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    assert "no-store" not in response.headers["Cache-Control"]
    body = response.get_json()
    assert list(body) == ["err", *ZEROES[CONFIGS]]
    assert [chain["id"] for chain in body["chains"]] == [1, 56, 137, 250, 42161]
    assert set(body["chain_token"]) == {"1", "56", "137", "250", "42161"}
    assert len(body["pegged_pair_configs"]) == 1
    blocked = {tuple(row.values()) for row in body["blocked_bridge_direct"]}
    assert {("USDT", "1", "137"), ("USDT", "137", "1")} <= blocked, "64-bit numbers are texts in JSON"
    assert "reason" not in response.get_data(as_text=True)


def assert_has(shape: Any, recorded: Any, where: str) -> None:
    """Everything that is served has, where the recorded answer has it too, the same type of value."""
    if isinstance(shape, dict) and isinstance(recorded, dict):
        for name in shape.keys() & recorded.keys():
            assert_has(shape[name], recorded[name], f"{where}.{name}")
    elif isinstance(shape, list) and isinstance(recorded, list) and shape and recorded:
        assert_has(shape[0], recorded[0], f"{where}[0]")
    else:
        assert type(shape) is type(recorded), where


def test_configs_have_the_recorded_shape(app: Flask, client: FlaskClient) -> None:
    """Every field of ours is one of the recorded answers', with its type, in their order."""
    configure(app, with_pair())
    ours, recorded = client.get(CONFIGS).get_json(), vector("transfer_configs_mainnet")
    assert_has(ours, recorded, "")
    assert_has(ours, vector("transfer_configs_testnet"), "")
    assert list(ours) == list(recorded)
    assert list(ours["chains"][0]) == [*recorded["chains"][0], "native_wrap"]
    assert list(ours["pegged_pair_configs"][0]) == list(recorded["pegged_pair_configs"][0])
    theirs, token = (answer["chain_token"]["1"]["token"][0] for answer in (recorded, ours))
    assert list(token) == [*theirs, *own_of_tokens()]
    assert list(token["token"]) == list(theirs["token"])


def test_schema_describes_the_answer(app: Flask, client: FlaskClient) -> None:
    configure(app, with_pair())
    body = client.get(CONFIGS).get_json()
    assert ConfigsAnswer().dump(body) == body


@pytest.mark.parametrize("spelling", ['"{}"', 'W/"{}"', '"other", "{}"', "*"])
def test_not_modified(client: FlaskClient, spelling: str) -> None:
    tag = client.get(CONFIGS).headers["ETag"].strip('"')
    response = client.get(CONFIGS, headers={"If-None-Match": spelling.format(tag)})
    assert (response.status_code, response.get_data()) == (304, b"")
    assert response.headers["ETag"] == f'"{tag}"'
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    assert "Content-Type" not in response.headers


@pytest.mark.parametrize("spelling", ['"other"', "", "garbage", '"'])
def test_modified(client: FlaskClient, spelling: str) -> None:
    assert client.get(CONFIGS, headers={"If-None-Match": spelling}).status_code == 200


def test_empty_network_has_empty_configs(open_app: Any) -> None:
    body = open_app().test_client().get(CONFIGS).get_json()
    assert body == {"err": None} | ZEROES[CONFIGS]
