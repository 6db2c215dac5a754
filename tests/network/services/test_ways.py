"""Which ways the transfer configs offer: none without a route, and no pegged token as one of a pool."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from flask import Flask

from app.http.application import part_of
from app.network.configs import MAX_WITHOUT_ROUTE
from app.network.document import NetworkRefused, import_network
from app.network.services import transfer_configs
from app.network.snapshot import SnapshotSource
from tests.actors import TESTER
from tests.applications import editing_of
from tests.builders import network as build
from tests.contract.ways import burn_mint_ways, pegged_ways, pool_ways
from tests.network.services.network_kit import network, text

TOKEN = "0x1619DE6B6B20eD217a58d00f37B9d47C7663feca"
pytestmark = pytest.mark.one_database


def served(app: Flask, document: dict[str, Any]) -> Any:
    import_network(*editing_of(app), text(document), actor=TESTER)
    return transfer_configs(part_of(app, SnapshotSource)).answer


def flags(configs: Any, symbol: str) -> dict[str, bool]:
    return {
        chain_id: info["token"]["xfer_disabled"]
        for chain_id, listed in configs["chain_token"].items()
        for info in listed["token"]
        if info["token"]["symbol"] == symbol
    }


def routes(document: dict[str, Any]) -> set[tuple[str, int, int]]:
    return {(row["symbol"], row["src_chain_id"], row["dst_chain_id"]) for row in document["routes"]}


def test_pegged_tokens_are_no_pool_tokens(app: Flask) -> None:
    document = network()
    ours = served(app, document)
    assert flags(ours, "CELR") == {"1": True, "10": True, "56": True}
    assert flags(ours, "USDT") == {"1": False, "10": False, "56": False}
    assert pool_ways(ours) == routes(document)
    assert set(pegged_ways(ours)) == {("CELR", *way) for way in [(1, 10), (10, 1), (1, 56), (56, 1)]}
    assert set(burn_mint_ways(ours)) == {("CELR", 10, 56), ("CELR", 56, 10)}


@pytest.mark.parametrize("switch", ["pool_disabled", "xfer_disabled"])
def test_a_switched_token(app: Flask, switch: str) -> None:
    """``pool_disabled`` stops only the pool, ``xfer_disabled`` the pairs too."""
    document = network()
    for row in document["tokens"]:
        if row["chain_id"] == 10:
            row[switch] = True
    ours = served(app, document)
    assert flags(ours, "USDT") == {"1": False, "10": True, "56": False}
    assert pool_ways(ours) == {("USDT", 1, 56), ("USDT", 56, 1)}
    pegged = {("CELR", 1, 56), ("CELR", 56, 1)}
    if switch == "pool_disabled":
        pegged |= {("CELR", 1, 10), ("CELR", 10, 1)}
    assert set(pegged_ways(ours)) == pegged


@pytest.mark.parametrize("side", ["org_token", "pegged_token"])
def test_a_switched_pair(app: Flask, side: str) -> None:
    document = network()
    document["pegged_pairs"][0][side] = {"xfer_disabled": True}
    ours = served(app, document)
    assert set(pegged_ways(ours)) == {("CELR", 1, 56), ("CELR", 56, 1)}
    assert list(burn_mint_ways(ours)) == []


def test_disabled_chain_closes_tokens_and_pairs(app: Flask) -> None:
    document = network()
    document["chains"][1]["disabled"] = True
    ours = served(app, document)
    assert {row["token"]["xfer_disabled"] for row in ours["chain_token"]["10"]["token"]} == {True}
    assert {row["transfer_disabled"] for row in ours["chain_token"]["10"]["token"]} == {True}
    stopped, works = ours["pegged_pair_configs"]
    for pair, flag in ((stopped, True), (works, False)):
        assert [pair[side]["token"]["xfer_disabled"] for side in ("org_token", "pegged_token")] == [flag] * 2
    assert [stopped[side]["transfer_disabled"] for side in ("org_token", "pegged_token")] == [False, True]
    assert pool_ways(ours) == {("USDT", 1, 56), ("USDT", 56, 1)}


def test_pair_tokens_of_their_own(app: Flask) -> None:
    document = network()
    document["pegged_pairs"][0]["org_token"] = {"name": " Pegged Celer ", "address": TOKEN.lower()}
    document["tokens"] = [r for r in document["tokens"] if (r["chain_id"], r["symbol"]) != (56, "CELR")]
    with pytest.raises(NetworkRefused, match=r'pegged_pairs\[1\].pegged_chain_id: .* under "pegged_token"'):
        served(app, document)
    document["pegged_pairs"][1]["pegged_token"] = {"address": TOKEN, "decimal": 9}
    ours = served(app, document)
    org, unlisted = (
        ours["pegged_pair_configs"][0]["org_token"],
        ours["pegged_pair_configs"][1]["pegged_token"],
    )
    assert (org["name"], org["token"]["address"], org["token"]["decimal"]) == (" Pegged Celer ", TOKEN, 18)
    assert unlisted["token"] == {"symbol": "CELR", "address": TOKEN, "decimal": 9, "xfer_disabled": False}
    assert (unlisted["name"], unlisted["icon"]) == ("CELR", "")
    assert "CELR" not in {row["token"]["symbol"] for row in ours["chain_token"]["56"]["token"]}


def everywhere(chains: int, symbols: int, ways_of: int) -> dict[str, Any]:
    """Tokens on every chain, each with routes between the first few chains."""
    ids, names = range(1, chains + 1), [f"T{n}" for n in range(symbols)]
    return build.document(
        chains=[build.chain(n, f"Chain {n}") for n in ids],
        tokens=[build.token(n, name, TOKEN, 18) for n in ids for name in names],
        pools=[build.pool(n, name, "1") for n in range(1, ways_of + 1) for name in names],
        routes=[
            build.route(src, dst, name)
            for name in names
            for src, dst in permutations(range(1, ways_of + 1), 2)
        ],
    )


def test_the_list_of_blocked_ways_is_bounded(app: Flask) -> None:
    """Where it would be longer, tokens are closed at their chains: first those without any route."""
    document = everywhere(chains=60, symbols=5, ways_of=3)
    ours = served(app, document)
    assert pool_ways(ours) == routes(document), "all that have a route, and nothing else"
    assert 0 < len(ours["blocked_bridge_direct"]) <= MAX_WITHOUT_ROUTE
    few = served(app, everywhere(chains=12, symbols=5, ways_of=3))
    assert len(few["blocked_bridge_direct"]) == 5 * (12 * 11 - 3 * 2)
    assert set(flags(few, "T0").values()) == {False}


def test_routed_way_is_closed_last(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.network.configs.MAX_WITHOUT_ROUTE", 10)
    document = everywhere(chains=4, symbols=2, ways_of=4)
    document["routes"] = [
        row for row in document["routes"] if {row["src_chain_id"], row["dst_chain_id"]} == {1, 2}
    ]
    ours = served(app, document)
    assert pool_ways(ours) == routes(document)
    ring = [
        row for row in everywhere(4, 2, 4)["routes"] if row["dst_chain_id"] == row["src_chain_id"] % 4 + 1
    ]
    document["routes"] = ring
    ours = served(app, document)
    assert pool_ways(ours) < routes(document)
    assert len(ours["blocked_bridge_direct"]) <= 10
