"""The sandbox's network document follows docs/network.md#rules and has all it should show."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from typing import Any

from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from app.network.document import read_rows
from app.sandbox.reports import PACES
from app.sandbox.transfer_builder import QUORUM, UNDER_QUORUM, VALIDATOR_KEYS

Document = dict[str, Any]

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


def test_document_can_be_imported(document: Document) -> None:
    """It passes each check of an import, shows each model of a rate, and every chain of it mines."""
    read_rows(document)
    assert {route["rate"]["model"] for route in document["routes"]} == {"fixed", "stableswap"}
    assert set(PACES) == {chain["id"] for chain in document["chains"]}


def addresses(value: Any) -> Iterator[str]:
    """Every address at any depth."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from addresses(inner)
    elif str(value).startswith("0x"):
        yield value


def test_document_addresses_have_checksums(document: Document) -> None:
    found = list(addresses(document))
    assert len(found) > 80
    assert found == [to_checksum_address(each) for each in found]


def test_real_chains_have_their_addresses(document: Document) -> None:
    chains = {chain["id"]: chain for chain in document["chains"]}
    enabled = {chain_id for chain_id, chain in chains.items() if not chain["disabled"]}
    assert enabled == {1, 10, 56, 137, 250, 336, 592, 8453, 42161, 43114}
    assert {c: chains[c]["contract_addr"] for c in KNOWN_BRIDGES} == KNOWN_BRIDGES
    assert (chains[250]["block_delay"], chains[250]["explore_url"]) == (30, "https://ftmscan.com/")
    assert chains[42161]["explore_url"] == "https://arbiscan.io/"
    tokens = {(t["chain_id"], t["symbol"]): (t["address"], t["decimal"]) for t in document["tokens"]}
    assert {key: tokens[key] for key in KNOWN_TOKENS} == KNOWN_TOKENS


def test_document_has_terms_of_recorded_estimate(document: Document) -> None:
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


def test_pegged_token_is_on_three_chains(document: Document) -> None:
    pairs = [pair for pair in document["pegged_pairs"] if pair["symbol"] == "AI"]
    assert {pair["org_chain_id"] for pair in pairs} == {56}
    assert {pair["pegged_chain_id"] for pair in pairs} == {42161, 43114}
    assert {(pair["vault_version"], pair["bridge_version"]) for pair in pairs} == {(2, 2)}
    assert len({pair["pegged_deposit_contract_addr"] for pair in pairs}) == 1, "one vault on one chain"


def test_astar_and_shiden_have_their_pair(document: Document) -> None:
    """One public client fails where the transfer configs do not have chains 592 and 336."""
    (pair,) = [pair for pair in document["pegged_pairs"] if pair["symbol"] == "SDN"]
    assert (pair["org_chain_id"], pair["pegged_chain_id"]) == (336, 592)


def test_document_shows_every_kind_of_stop(document: Document) -> None:
    assert [chain["id"] for chain in document["chains"] if chain["disabled"]] == [128]
    disabled = [(t["chain_id"], t["symbol"]) for t in document["tokens"] if t["xfer_disabled"]]
    assert disabled == [(56, "BUSD")]
    routes = {(r["symbol"], r["src_chain_id"], r["dst_chain_id"]) for r in document["routes"]}
    both, one_way = sorted(document["route_blocks"], key=lambda block: not block["both_directions"])
    assert both["both_directions"]
    assert not one_way["both_directions"]
    assert (one_way["symbol"], one_way["dst_chain_id"], one_way["src_chain_id"]) in routes
    for block in (both, one_way):
        assert (block["symbol"], block["src_chain_id"], block["dst_chain_id"]) in routes


def test_only_second_loopback_address_is_blocked(document: Document) -> None:
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
