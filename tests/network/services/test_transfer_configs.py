"""The transfer configs, against a recorded answer of a production gateway of this kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson

from app.network.document import import_network
from app.network.from_configs import differences, document_from_configs
from app.network.services import transfer_configs
from app.network.snapshot import SnapshotSource
from tests.actors import TESTER
from tests.applications import Editing
from tests.builders import network as build
from tests.network.services.network_kit import changed, network, text

RECORDED = json.loads(Path("tests/contract/vectors/transfer_configs_testnet.json").read_text())


def answer(snapshots: SnapshotSource) -> dict[str, Any]:
    configs = transfer_configs(snapshots)
    assert orjson.loads(configs.body) == configs.answer
    decoded: dict[str, Any] = orjson.loads(configs.body)
    return decoded


def test_recorded_answer_is_reproduced(snapshots: SnapshotSource, editing: Editing) -> None:
    """Field by field; only fields younger than the recording are added."""
    made = document_from_configs(json.dumps(RECORDED).encode())
    assert made.different == ()
    import_network(*editing, text(made.document), actor=TESTER)
    ours = answer(snapshots)
    assert list(differences(RECORDED, ours)) == []
    assert ours["blocked_bridge_direct"] == []
    assert {chain["disabled"] for chain in ours["chains"]} == {False}


def test_limits_blocks_and_chains_without_tokens(snapshots: SnapshotSource, editing: Editing) -> None:
    configured = network()
    configured["chains"].append(configured["chains"][0] | {"id": 2**32 - 1, "name": "Last"})
    configured["chains"][2]["disabled"] = True
    configured["pools"][0] |= {"total_cap": str(2**256 - 1), "epoch_cap": "0"}
    one_way = build.block(56, 1, "CELR", reason="secret")
    configured["route_blocks"].append(one_way)
    import_network(*editing, text(configured), actor=TESTER)
    ours = answer(snapshots)
    assert [chain["id"] for chain in ours["chains"]] == [1, 10, 56, 2**32 - 1]
    assert ours["chain_token"][str(2**32 - 1)] == {"token": []}
    celr, usdt = ours["chain_token"]["1"]["token"]
    assert (celr["inbound_lmt"], celr["inbound_epoch_cap"]) == ("", "")
    assert (usdt["inbound_lmt"], usdt["inbound_epoch_cap"]) == (str(2**256 - 1), "0")
    assert {row["transfer_disabled"] for row in ours["chain_token"]["56"]["token"]} == {True}
    assert usdt["transfer_disabled"] is False
    assert ours["blocked_bridge_direct"] == [
        {"symbol": "CELR", "src_chain_id": "56", "dst_chain_id": "1"},
        {"symbol": "USDT", "src_chain_id": "10", "dst_chain_id": "1"},
        {"symbol": "USDT", "src_chain_id": "10", "dst_chain_id": "56"},
        {"symbol": "USDT", "src_chain_id": "56", "dst_chain_id": "10"},
    ], "what is blocked, and the one way between chains in service that has no route"
    assert b"secret" not in transfer_configs(snapshots).body


def test_etag_depends_only_on_content(snapshots: SnapshotSource, editing: Editing) -> None:
    first = transfer_configs(snapshots)
    assert transfer_configs(snapshots) is first
    import_network(*editing, text(changed("routes.0.base_fee", "1")), actor=TESTER)
    assert transfer_configs(snapshots).etag == first.etag
    import_network(*editing, text(changed("tokens.0.xfer_disabled", True)), actor=TESTER)
    assert transfer_configs(snapshots).etag != first.etag
    import_network(*editing, text(network()), actor=TESTER)
    assert transfer_configs(snapshots).body == first.body
