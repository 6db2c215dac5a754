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
