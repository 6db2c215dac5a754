"""Which stored events a change of the network document validates again; and how addresses are written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from app.db.database import Database
from app.feed.services.reprojection import ContractsChanged, FactsChanged
from app.network.changes import NETWORK_CHANGED
from app.network.document import NetworkRefused, export_network, import_network
from app.values.identifiers import ChainId
from tests.actors import TESTER
from tests.applications import Editing
from tests.network.services import network_kit as kit
from tests.network.services.network_kit import (
    BRIDGE,
    CONTRACT,
    ETHEREUM,
    VAULT,
    VILLAIN,
    changed,
    network,
    text,
)


def exported(database: Database) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(export_network(database))
    return document


NOTHING = FactsChanged(frozenset(), frozenset(), frozenset())


def of_celr(org: int, pegged: int, addresses: set[str] | None) -> frozenset[ContractsChanged]:
    contracts = None if addresses is None else frozenset(addresses)
    return frozenset({ContractsChanged(frozenset({ChainId(org), ChainId(pegged)}), "CELR", contracts)})


@pytest.mark.parametrize(
    ("path", "value", "facts"),
    [
        ("chains.0.name", "Main", NOTHING),
        ("chains.0.block_delay", 5, NOTHING),
        ("routes.0.base_fee", "5", NOTHING),
        ("pegged_pairs.0.deposit_base_fee", "5", NOTHING),
        (
            "routes.0.rate",
            {"model": "fixed", "value": "1.2"},
            replace(NOTHING, routes=frozenset({("USDT", 1, 56)})),
        ),
        ("blocked_networks.0", ..., NOTHING),
        ("pools.0.liquidity_added", "5", replace(NOTHING, pools=frozenset({(1, "USDT")}))),
        (
            "chains.0.contract_addr",
            VAULT,
            replace(
                NOTHING,
                chain_ids=frozenset({1}),
                contracts=frozenset(
                    {ContractsChanged(frozenset({ETHEREUM}), None, frozenset({VAULT, CONTRACT[1]}))}
                ),
            ),
        ),
        (
            "tokens.0.decimal",
            7,
            replace(NOTHING, tokens=frozenset({(1, "USDT")}), named=frozenset({(1, "USDT")})),
        ),
        (
            "pegged_pairs.1",
            ...,
            replace(
                NOTHING,
                chain_ids=frozenset({1, 56}),
                named=frozenset({(1, "CELR"), (56, "CELR")}),
                contracts=of_celr(1, 56, None),
            ),
        ),
        (
            "pegged_pairs.0.pegged_burn_contract_addr",
            VAULT,
            replace(
                NOTHING,
                chain_ids=frozenset({1, 10}),
                named=frozenset({(1, "CELR"), (10, "CELR")}),
                contracts=of_celr(1, 10, {BRIDGE}),
            ),
        ),
        ("validators.0.power", "1", replace(NOTHING, chain_ids=frozenset({1}))),
        (
            "validators.2",
            {"chain_id": 56, "signer": VILLAIN, "power": "1"},
            replace(NOTHING, chain_ids=frozenset({56})),
        ),
    ],
)
def test_changed_facts_validate_events_again(
    database: Database, editing: Editing, path: str, value: Any, facts: FactsChanged
) -> None:
    reported: list[FactsChanged] = []
    NETWORK_CHANGED.hand_in(
        database.engine, lambda _connection, changes, _now: reported.append(FactsChanged.by(changes))
    )
    import_network(*editing, text(changed(path, value)), dry_run=True, actor=TESTER)
    assert reported == []
    import_network(*editing, text(changed(path, value)), actor=TESTER)
    assert reported == [facts]


def test_foreign_accounts_are_compared_caselessly(editing: Editing) -> None:
    document = network()
    document["blocked_addresses"] = [
        {"address": address, "reason": "", "source": "", "expires_at": None}
        for address in ("TBase58Account", "tbase58account")
    ]
    with pytest.raises(NetworkRefused, match=r"blocked_addresses\[1\]: .* must not be given twice"):
        import_network(*editing, text(document), actor=TESTER)


def test_long_list_is_imported_and_exported(database: Database, editing: Editing) -> None:
    document = network()
    document["blocked_networks"] = [
        {"cidr": f"10.{i >> 8}.{i & 255}.0/24", "reason": "", "expires_at": None} for i in range(3000)
    ]
    import_network(*editing, text(document), actor=TESTER)
    assert exported(database) == document
    document["tokens"].append(kit.token(1, "USDC"))
    assert import_network(*editing, text(document), actor=TESTER).changes == ("add token USDC on chain 1",)


def test_addresses_export_with_checksum(database: Database, editing: Editing) -> None:
    odd = "0x" + "".join(c.upper() if i % 2 else c.lower() for i, c in enumerate(VAULT[2:]))
    import_network(*editing, text(changed("tokens.0.address", odd)), actor=TESTER)
    assert exported(database)["tokens"][0]["address"] == VAULT


def test_import_accepts_route_block_before_token(database: Database, editing: Editing) -> None:
    document = changed("route_blocks.0.dst_chain_id", 137)
    import_network(*editing, text(document), actor=TESTER)
    assert exported(database)["route_blocks"] == document["route_blocks"]
