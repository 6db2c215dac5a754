"""Chain and token objects of transfers are those of the configs, also where these are of another gateway."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.network.snapshot import ConfigIndex
from app.values.codes import SendKind
from app.values.identifiers import ChainId

FIELDS = {
    "id", "name", "icon", "block_delay", "gas_token_symbol", "explore_url", "contract_addr", "drop_gas_amt",
    "drop_gas_cost_amt", "drop_gas_balance_alert", "suggested_gas_cost",
}  # fmt: skip
"""Those of the message: what else the configs have of a chain is for their readers."""

VECTORS = Path(__file__).parents[1] / "contract" / "vectors"


@pytest.fixture(scope="module")
def configs() -> dict[str, Any]:
    """The recorded configs, with pairs of a token that their chains do not list."""
    answer: dict[str, Any] = json.loads((VECTORS / "transfer_configs_testnet.json").read_text())
    tokens = [
        {"symbol": "OWN", "address": address, "decimal": 9, "xfer_disabled": False} for address in "abc"
    ]
    answer["pegged_pair_configs"] += [
        {
            "org_chain_id": 1,
            "org_token": {"token": tokens[0]},
            "pegged_chain_id": pegged,
            "pegged_token": {"token": tokens[n]},
        }
        for n, pegged in ((1, 2), (2, 3))
    ]
    return answer


@pytest.fixture(scope="module")
def index(configs: dict[str, Any]) -> ConfigIndex:
    return ConfigIndex(configs)


def tokens(index: ConfigIndex, kind: str | None, symbol: str | None, src: int, dst: int) -> tuple[Any, Any]:
    return index.tokens(kind, symbol, ChainId(src), ChainId(dst))


def test_config_index_returns_every_chain_and_token(configs: dict[str, Any], index: ConfigIndex) -> None:
    assert configs["chains"]
    for chain in configs["chains"]:
        assert index.chain(chain["id"]) == {name: chain[name] for name in FIELDS}
    for chain_id, listed in configs["chain_token"].items():
        for info in listed["token"]:
            symbol = info["token"]["symbol"]
            assert tokens(index, "pool", symbol, int(chain_id), 0)[0] is info["token"]
            assert tokens(index, None, symbol, 0, int(chain_id))[1] is info["token"]


def test_pegged_transfers_have_pair_tokens(index: ConfigIndex) -> None:
    def addresses(kind: SendKind, src: int, dst: int) -> list[str]:
        return [token["address"] for token in tokens(index, kind, "OWN", src, dst)]

    assert addresses(SendKind.DEPOSIT, 1, 2) == ["a", "b"]
    assert addresses(SendKind.BURN, 2, 1) == ["b", "a"]
    assert addresses(SendKind.BURN, 3, 2) == ["c", "b"]
    assert addresses(SendKind.POOL, 1, 2) == ["", ""]
    assert addresses(SendKind.DEPOSIT, 1, 9) == ["", ""]


def test_config_index_returns_zeroes_for_unknown_chain(index: ConfigIndex) -> None:
    for unknown in (index.chain(ChainId(424242)), index.chain(None)):
        assert unknown.keys() == FIELDS
        assert not any(value for name, value in unknown.items() if name != "id")
    assert index.chain(ChainId(424242))["id"] == 424242
    src, dst = index.tokens(None, None, None, None)
    assert src == dst == {"symbol": "", "address": "", "decimal": 0, "xfer_disabled": False}


def test_without_any_configuration() -> None:
    empty = ConfigIndex({"chains": [], "chain_token": {}, "pegged_pair_configs": []})
    assert empty.chain(ChainId(5))["id"] == 5
    assert empty.chain(ChainId(5))["drop_gas_amt"] == ""
    assert tokens(empty, "burn", "X", 1, 2)[1]["symbol"] == "X"
