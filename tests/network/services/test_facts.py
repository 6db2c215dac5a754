"""Which stored events a change of the network document validates again; and how addresses are written."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from app.db.database import Database
from app.feed.services.reprojection import ContractsChanged, FactsChanged
from app.network.changes import NETWORK_CHANGED
from app.network.document import import_network
from app.values.identifiers import ChainId
from tests.actors import TESTER
from tests.applications import Editing
from tests.network.services import network_kit as kit
from tests.network.services.edits.kit import document as exported
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


def changed_facts(**sets: Any) -> FactsChanged:
    nothing = FactsChanged(frozenset(), frozenset(), frozenset())
    return replace(nothing, **{name: frozenset(members) for name, members in sets.items()})


def of_celr(org: int, pegged: int, addresses: set[str] | None) -> dict[str, Any]:
    """What a change of the pair is about."""
    contracts = None if addresses is None else frozenset(addresses)
    return {
        "chain_ids": {org, pegged},
        "named": {(org, "CELR"), (pegged, "CELR")},
        "contracts": {ContractsChanged(frozenset({ChainId(org), ChainId(pegged)}), "CELR", contracts)},
    }


MOVED = ContractsChanged(frozenset({ETHEREUM}), None, frozenset({VAULT, CONTRACT[1]}))
SET = {"chain_id": 56, "signer": VILLAIN, "power": "1"}


@pytest.mark.parametrize(
    ("path", "value", "facts"),
    [
        ("chains.0.name", "Main", {}),
        ("chains.0.block_delay", 5, {}),
        ("routes.0.base_fee", "5", {}),
        ("pegged_pairs.0.deposit_base_fee", "5", {}),
        ("routes.0.rate", {"model": "fixed", "value": "1.2"}, {"routes": {("USDT", 1, 56)}}),
        ("blocked_networks.0", ..., {}),
        ("pools.0.liquidity_added", "5", {"pools": {(1, "USDT")}}),
        ("chains.0.contract_addr", VAULT, {"chain_ids": {1}, "contracts": {MOVED}}),
        ("tokens.0.decimal", 7, {"tokens": {(1, "USDT")}, "named": {(1, "USDT")}}),
        ("pegged_pairs.1", ..., of_celr(1, 56, None)),
        ("pegged_pairs.0.pegged_burn_contract_addr", VAULT, of_celr(1, 10, {BRIDGE})),
        ("validators.0.power", "1", {"chain_ids": {1}}),
        ("validators.2", SET, {"chain_ids": {56}}),
    ],
)
def test_changed_facts_validate_events_again(
    database: Database, editing: Editing, path: str, value: Any, facts: dict[str, Any]
) -> None:
    reported: list[FactsChanged] = []
    NETWORK_CHANGED.hand_in(
        database.engine, lambda _connection, changes, _now: reported.append(FactsChanged.by(changes))
    )
    import_network(*editing, text(changed(path, value)), dry_run=True, actor=TESTER)
    assert reported == []
    import_network(*editing, text(changed(path, value)), actor=TESTER)
    assert reported == [changed_facts(**facts)]


def test_long_list_is_imported_and_exported(database: Database, editing: Editing) -> None:
    document = network()
    document["blocked_networks"] = [
        {"cidr": f"10.{i >> 8}.{i & 255}.0/24", "reason": "", "expires_at": None} for i in range(3000)
    ]
    import_network(*editing, text(document), actor=TESTER)
    assert exported(database) == document
    document["tokens"].append(kit.token(1, "USDC"))
    assert import_network(*editing, text(document), actor=TESTER).changes == ("add token USDC on chain 1",)


def test_import_accepts_route_block_before_token(database: Database, editing: Editing) -> None:
    document = changed("route_blocks.0.dst_chain_id", 137)
    import_network(*editing, text(document), actor=TESTER)
    assert exported(database)["route_blocks"] == document["route_blocks"]
