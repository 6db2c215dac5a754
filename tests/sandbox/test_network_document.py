"""The sandbox's network document follows docs/interface.md#network-document and has all it should show."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from ipaddress import ip_address, ip_network
from typing import Any

import pytest
from eth_utils import keccak, to_checksum_address

from app.sandbox.reports import PACES
from app.sandbox.transfer_builder import QUORUM, UNDER_QUORUM, VALIDATOR_KEYS

Document = dict[str, Any]

KEYS = {
    "chains": "id name icon block_delay gas_token_symbol explore_url contract_addr drop_gas_amt"
    " minimal_max_slippage disabled disabled_reason",
    "tokens": "chain_id symbol name icon address decimal xfer_disabled",
    "pools": "chain_id symbol liquidity_added liquidity_sent liquidity_relayed liquidity_withdrawn"
    " total_cap epoch_cap epoch_seconds",
    "routes": "symbol src_chain_id dst_chain_id rate base_fee base_fee_max_age_seconds perc_fee_tiers",
    "route_blocks": "symbol src_chain_id dst_chain_id both_directions reason",
    "pegged_pairs": "symbol org_chain_id pegged_chain_id pegged_deposit_contract_addr"
    " pegged_burn_contract_addr canonical_token_contract_addr vault_version bridge_version"
    " deposit_base_fee burn_base_fee perc_fee_tiers",
    "blocked_addresses": "address reason source expires_at",
    "blocked_networks": "cidr reason expires_at",
    "validators": "chain_id signer power",
}
IDENTITY = {
    "chains": ("id",),
    "tokens": ("chain_id", "symbol"),
    "pools": ("chain_id", "symbol"),
    "routes": ("symbol", "src_chain_id", "dst_chain_id"),
    "route_blocks": ("symbol", "src_chain_id", "dst_chain_id"),
    "pegged_pairs": ("symbol", "org_chain_id", "pegged_chain_id"),
    "blocked_addresses": ("address",),
    "blocked_networks": ("cidr",),
    "validators": ("chain_id", "signer"),
}

# Public addresses of real contracts that the document must have.
KNOWN_BRIDGES = {
    1: "0x5427FEFA711Eff984124bFBB1AB6fbf5E3DA1820",
    10: "0x9D39Fc627A6d9d9F8C831c16995b209548cc3401",
    56: "0xdd90E5E87A2081Dcf0391920868eBc2FFB81a1aF",
    137: "0x88DCDC47D2f83a99CF0000FDF667A468bB958a78",
    42161: "0x1619DE6B6B20eD217a58d00f37B9d47C7663feca",
}
KNOWN_TOKENS = {
    (1, "USDT"): ("0xdAC17F958D2ee523a2206206994597C13D831ec7", 6),
    (56, "USDT"): ("0x55d398326f99059fF775485246999027B3197955", 18),
    (137, "USDT"): ("0xc2132D05D31c914a87C6611C10748AEb04B58e8F", 6),
    (10, "USDT"): ("0x94b008aA00579c1307B0EF2c499aD98a8ce58e58", 6),
    (42161, "USDT"): ("0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9", 6),
    (1, "USDC"): ("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", 6),
    (56, "USDC"): ("0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d", 18),
    (1, "WETH"): ("0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2", 18),
}


def scalars(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from scalars(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from scalars(inner, f"{path}[{index}]")
    else:
        yield path, value


def test_document_has_exactly_the_format_keys(document: Document) -> None:
    assert document["version"] == 1
    assert set(document) == {"version", *KEYS}
    for name, keys in KEYS.items():
        for item in document[name]:
            assert set(item) == set(keys.split()), name


@pytest.mark.parametrize("name", KEYS)
def test_nothing_is_there_twice(document: Document, name: str) -> None:
    counted = Counter(tuple(item[key] for key in IDENTITY[name]) for item in document[name])
    assert [identity for identity, times in counted.items() if times > 1] == []


def test_every_address_has_its_checksum(document: Document) -> None:
    addresses = [(path, value) for path, value in scalars(document) if str(value).startswith("0x")]
    assert len(addresses) > 80
    for path, value in addresses:
        assert value == to_checksum_address(value), path


def test_amounts_are_uint256_strings(document: Document) -> None:
    names = re.compile(r"\.(liquidity_\w+|total_cap|epoch_cap|\w*base_fee|from|power|drop_gas_amt)$")
    amounts = [(path, value) for path, value in scalars(document) if names.search(path) and value is not None]
    assert len(amounts) > 200
    for path, value in amounts:
        assert isinstance(value, str), path
        assert re.fullmatch("0|[1-9][0-9]*", value), path
        assert int(value) < 2**256, path


def test_numbers_are_in_their_ranges(document: Document) -> None:
    for chain in document["chains"]:
        assert 1 <= chain["id"] < 2**32
        assert chain["block_delay"] >= 0
        assert 0 <= chain["minimal_max_slippage"] < 10**6
        assert re.fullmatch(r"https://[a-z.]+", chain["explore_url"])
        assert chain["disabled"] or not chain["disabled_reason"]
    assert all(0 <= token["decimal"] <= 36 for token in document["tokens"])
    assert all(pool["epoch_seconds"] > 0 for pool in document["pools"])


def test_fee_tiers_ascend_from_zero(document: Document) -> None:
    for route_key in document["routes"] + document["pegged_pairs"]:
        starts = [int(tier["from"]) for tier in route_key["perc_fee_tiers"]]
        assert starts[0] == 0
        assert starts == sorted(set(starts))
        assert all(0 <= tier["ppm"] <= 20_000 for tier in route_key["perc_fee_tiers"])


def test_rates_are_of_a_known_model(document: Document) -> None:
    models = Counter(route["rate"]["model"] for route in document["routes"])
    assert set(models) == {"fixed", "stableswap"}
    assert min(models.values()) > 5
    for rate in (route["rate"] for route in document["routes"]):
        if rate["model"] == "fixed":
            assert set(rate) == {"model", "value"}
            assert Decimal(rate["value"]) > 0
        else:
            assert set(rate) == {"model", "amplification"}
            assert rate["amplification"] > 0


def test_references_hold(document: Document) -> None:
    chains = {chain["id"] for chain in document["chains"]}
    tokens = {(token["chain_id"], token["symbol"]) for token in document["tokens"]}
    pools = {(pool["chain_id"], pool["symbol"]) for pool in document["pools"]}
    routes = {(r["symbol"], r["src_chain_id"], r["dst_chain_id"]) for r in document["routes"]}
    assert {chain_id for chain_id, _ in tokens} <= chains
    assert pools <= tokens
    for symbol, src, dst in routes:
        assert src != dst
        assert {(src, symbol), (dst, symbol)} <= pools
    assert {(c, s) for s, src, dst in routes for c in (src, dst)} == pools, "a pool that no route uses"
    for block in document["route_blocks"]:
        assert (block["symbol"], block["src_chain_id"], block["dst_chain_id"]) in routes
    for pair in document["pegged_pairs"]:
        assert pair["org_chain_id"] != pair["pegged_chain_id"]
        assert {(pair[side], pair["symbol"]) for side in ("org_chain_id", "pegged_chain_id")} <= tokens
    assert {member["chain_id"] for member in document["validators"]} <= chains
    assert set(PACES) == chains, "every chain mines"


def test_shows_real_chains_as_they_are_known(document: Document) -> None:
    chains = {chain["id"]: chain for chain in document["chains"]}
    enabled = {chain_id for chain_id, chain in chains.items() if not chain["disabled"]}
    assert enabled == {1, 10, 56, 137, 250, 336, 592, 8453, 42161, 43114}
    assert {c: chains[c]["contract_addr"] for c in KNOWN_BRIDGES} == KNOWN_BRIDGES
    assert (chains[250]["block_delay"], chains[250]["explore_url"]) == (30, "https://ftmscan.com")
    assert chains[42161]["explore_url"] == "https://arbiscan.io"
    tokens = {(t["chain_id"], t["symbol"]): (t["address"], t["decimal"]) for t in document["tokens"]}
    assert {key: tokens[key] for key in KNOWN_TOKENS} == KNOWN_TOKENS


def test_the_recorded_estimate_finds_its_terms(document: Document) -> None:
    (route,) = [
        route
        for route in document["routes"]
        if (route["symbol"], route["src_chain_id"], route["dst_chain_id"]) == ("USDT", 1, 56)
    ]
    assert route["rate"] == {"model": "fixed", "value": "1.000001"}
    assert route["base_fee"] == "605437528092011966"
    assert route["base_fee_max_age_seconds"] is None
    assert route["perc_fee_tiers"] == [{"from": "0", "ppm": 0}]
    (ethereum, bnb) = (chain for chain in document["chains"] if chain["id"] in (1, 56))
    assert ethereum["minimal_max_slippage"] <= 608_436
    assert bnb["drop_gas_amt"] == "0"


def test_a_pegged_token_is_on_three_chains(document: Document) -> None:
    pairs = [pair for pair in document["pegged_pairs"] if pair["symbol"] == "AI"]
    assert {pair["org_chain_id"] for pair in pairs} == {56}
    assert {pair["pegged_chain_id"] for pair in pairs} == {42161, 43114}
    assert {(pair["vault_version"], pair["bridge_version"]) for pair in pairs} == {(2, 2)}
    assert len({pair["pegged_deposit_contract_addr"] for pair in pairs}) == 1, "one vault on one chain"


def test_astar_and_shiden_have_their_pair(document: Document) -> None:
    """One public client fails where the transfer configs do not have chains 592 and 336."""
    (pair,) = [pair for pair in document["pegged_pairs"] if pair["symbol"] == "SDN"]
    assert (pair["org_chain_id"], pair["pegged_chain_id"]) == (336, 592)


def test_something_is_disabled_or_blocked_each_way(document: Document) -> None:
    assert [chain["id"] for chain in document["chains"] if chain["disabled"]] == [128]
    disabled = [(t["chain_id"], t["symbol"]) for t in document["tokens"] if t["xfer_disabled"]]
    assert disabled == [(56, "BUSD")]
    routes = {(r["symbol"], r["src_chain_id"], r["dst_chain_id"]) for r in document["routes"]}
    both, one_way = sorted(document["route_blocks"], key=lambda block: not block["both_directions"])
    assert both["both_directions"]
    assert not one_way["both_directions"]
    assert (one_way["symbol"], one_way["dst_chain_id"], one_way["src_chain_id"]) in routes


def test_only_the_second_loopback_address_is_blocked(document: Document) -> None:
    networks = [ip_network(each["cidr"]) for each in document["blocked_networks"]]
    assert any(ip_address("127.0.0.2") in network for network in networks)
    for open_address in ("127.0.0.1", "::1", "192.168.1.1", "10.0.0.1"):
        assert not any(ip_address(open_address) in network for network in networks)


def test_enabled_chains_share_public_validators(document: Document) -> None:
    from_seed = [keccak(text=f"sandbox validator {number}") for number in range(1, 6)]
    assert list(VALIDATOR_KEYS) == from_seed
    sets: dict[int, list[tuple[str, int]]] = {}
    for member in document["validators"]:
        sets.setdefault(member["chain_id"], []).append((member["signer"], int(member["power"])))
    assert set(sets) == {chain["id"] for chain in document["chains"] if not chain["disabled"]}
    assert len({tuple(members) for members in sets.values()}) == 1
    powers = [power for _, power in sets[1]]
    assert len(set(powers)) == len(powers) >= 4
    assert powers == sorted(powers, reverse=True)
    quorum = sum(powers) * 2 // 3 + 1
    assert sum(powers[:UNDER_QUORUM]) < quorum <= sum(powers[:QUORUM])
