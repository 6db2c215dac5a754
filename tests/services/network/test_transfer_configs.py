"""The transfer configs, against a recorded answer of a production gateway of this kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from flask import Flask

from app.runtime.gateway import Gateway, current_gateway
from app.services.network.document import import_network
from app.services.network.transfer_configs import transfer_configs
from tests.actors import TESTER
from tests.services.network.network_kit import changed, network, text

RECORDED = json.loads(Path("tests/contract/vectors/transfer_configs_testnet.json").read_text())

CHAIN_KEYS = (
    "id",
    "name",
    "icon",
    "block_delay",
    "gas_token_symbol",
    "explore_url",
    "contract_addr",
    "drop_gas_amt",
)
TOKEN_KEYS = ("symbol", "address", "decimal", "xfer_disabled")
INFO_KEYS = ("name", "icon", "inbound_lmt", "inbound_epoch_cap", "transfer_disabled")
PAIR_KEYS = (
    "org_chain_id", "pegged_chain_id", "pegged_deposit_contract_addr", "pegged_burn_contract_addr",
    "canonical_token_contract_addr", "vault_version", "bridge_version",
)  # fmt: skip


def picked(row: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: row[key] for key in keys}


def info(row: dict[str, Any]) -> dict[str, Any]:
    return picked(row, INFO_KEYS) | {"token": picked(row["token"], TOKEN_KEYS)}


def document() -> dict[str, Any]:
    """A network document that says what the recorded answer says."""
    tokens = [
        {
            "chain_id": int(chain_id),
            "name": row["name"],
            "icon": row["icon"],
            **picked(row["token"], TOKEN_KEYS),
        }
        for chain_id, listed in RECORDED["chain_token"].items()
        for row in listed["token"]
    ]
    pools = [
        {
            "chain_id": int(chain_id),
            "symbol": row["token"]["symbol"],
            "liquidity_added": "0",
            "total_cap": row["inbound_lmt"] or None,
            "epoch_cap": row["inbound_epoch_cap"] or None,
            "epoch_seconds": 3600,
        }
        for chain_id, listed in RECORDED["chain_token"].items()
        for row in listed["token"]
    ]
    pairs = [
        picked(pair, PAIR_KEYS)
        | {"symbol": pair["org_token"]["token"]["symbol"], "perc_fee_tiers": [{"from": "0", "ppm": 0}]}
        for pair in RECORDED["pegged_pair_configs"]
    ]
    chains = [picked(chain, CHAIN_KEYS) | {"minimal_max_slippage": 1} for chain in RECORDED["chains"]]
    return {
        "version": 1,
        "chains": chains[::-1],
        "tokens": tokens[::-1],
        "pools": pools,
        "pegged_pairs": pairs,
    }


@pytest.fixture
def gateway(app: Flask) -> Gateway:
    return current_gateway()


def answer(gateway: Gateway) -> dict[str, Any]:
    configs = transfer_configs(gateway)
    assert orjson.loads(configs.body) == configs.answer
    decoded: dict[str, Any] = orjson.loads(configs.body)
    return decoded


def test_every_named_field_is_as_recorded(gateway: Gateway) -> None:
    import_network(gateway, text(document()), actor=TESTER)
    ours = answer(gateway)
    assert ours["err"] is None
    assert ours["chains"] == [picked(chain, CHAIN_KEYS) for chain in RECORDED["chains"]]
    assert ours["chain_token"] == {
        chain_id: {"token": [info(row) for row in listed["token"]]}
        for chain_id, listed in RECORDED["chain_token"].items()
    }
    assert ours["farming_reward_contract_addr"] == RECORDED["farming_reward_contract_addr"]
    assert ours["blocked_bridge_direct"] == []


def test_pairs_are_as_recorded_but_for_what_a_token_says_once(gateway: Gateway) -> None:
    """The recorded pair keeps copies of its tokens' names, icons and switches; here they stand once."""
    import_network(gateway, text(document()), actor=TESTER)
    (ours,) = answer(gateway)["pegged_pair_configs"]
    (recorded,) = RECORDED["pegged_pair_configs"]
    assert picked(ours, PAIR_KEYS) == picked(recorded, PAIR_KEYS)
    assert set(ours) == {*PAIR_KEYS, "org_token", "pegged_token"}
    assert ours["org_token"] == info(recorded["org_token"])
    (listed,) = (row for row in RECORDED["chain_token"]["71401"]["token"] if row["token"]["symbol"] == "USDC")
    assert ours["pegged_token"] == info(listed)
    limits = {"inbound_lmt": "", "inbound_epoch_cap": ""}
    for side in ("org_token", "pegged_token"):
        assert picked(ours[side], tuple(limits)) == picked(recorded[side], tuple(limits)) == limits
        for key in ("symbol", "address", "decimal"):
            assert ours[side]["token"][key] == recorded[side]["token"][key]


def test_an_empty_network_has_every_field(gateway: Gateway) -> None:
    assert answer(gateway) == {
        "err": None,
        "chains": [],
        "chain_token": {},
        "farming_reward_contract_addr": "",
        "pegged_pair_configs": [],
        "blocked_bridge_direct": [],
    }


def test_limits_blocks_and_chains_without_tokens(gateway: Gateway) -> None:
    configured = network()
    configured["chains"].append(configured["chains"][0] | {"id": 2**32 - 1, "name": "Last"})
    configured["chains"][2]["disabled"] = True
    configured["pools"][0] |= {"total_cap": str(2**256 - 1), "epoch_cap": "0"}
    one_way = {
        "symbol": "CELR",
        "src_chain_id": 56,
        "dst_chain_id": 1,
        "both_directions": False,
        "reason": "secret",
    }
    configured["route_blocks"].append(one_way)
    import_network(gateway, text(configured), actor=TESTER)
    ours = answer(gateway)
    assert [chain["id"] for chain in ours["chains"]] == [1, 10, 56, 2**32 - 1]
    assert ours["chain_token"][str(2**32 - 1)] == {"token": []}
    celr, usdt = ours["chain_token"]["1"]["token"]
    assert (celr["inbound_lmt"], celr["inbound_epoch_cap"]) == ("", "")
    assert (usdt["inbound_lmt"], usdt["inbound_epoch_cap"]) == (str(2**256 - 1), "0")
    assert {row["transfer_disabled"] for row in ours["chain_token"]["56"]["token"]} == {True}
    assert usdt["transfer_disabled"] is False
    assert ours["blocked_bridge_direct"] == [
        {"symbol": "CELR", "src_chain_id": 56, "dst_chain_id": 1},
        {"symbol": "USDT", "src_chain_id": 10, "dst_chain_id": 56},
        {"symbol": "USDT", "src_chain_id": 56, "dst_chain_id": 10},
    ]
    assert b"secret" not in transfer_configs(gateway).body


def test_the_etag_follows_the_content_alone(gateway: Gateway) -> None:
    import_network(gateway, text(network()), actor=TESTER)
    first = transfer_configs(gateway)
    assert transfer_configs(gateway) is first
    import_network(gateway, text(changed("routes.0.base_fee", "1")), actor=TESTER)
    assert transfer_configs(gateway).etag == first.etag
    import_network(gateway, text(changed("tokens.0.xfer_disabled", True)), actor=TESTER)
    assert transfer_configs(gateway).etag != first.etag
    import_network(gateway, text(network()), actor=TESTER)
    assert transfer_configs(gateway).body == first.body
