"""The contracts of pegged pairs: several at once, and none that changes under open transfers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from flask import Flask

from app.db.engine import reading
from app.network.document import NetworkRefused, export_network, import_network
from app.network.edits.entered import locked_fields, show_row
from app.network.edits.plan import Edit
from app.network.edits.refusals import Invalid
from app.network.edits.save import save_edit
from app.network.models import PeggedPair
from app.network.queries import load_rows
from app.transfers.models import Anomaly
from app.transfers.rules.anomalies import AnomalyKind
from tests.actors import TESTER
from tests.feed.services.world import about, address, feed, network, released, sent
from tests.gateway import Gateway, current_gateway
from tests.network.services.network_kit import text

VAULT, BRIDGE = address(3001), address(4002)
OLD, NEWER = address(3002), address(3003)


@pytest.fixture
def gateway(app: Flask) -> Gateway:
    gateway = current_gateway()
    put(gateway)
    return gateway


def document(**changes: Any) -> dict[str, Any]:
    """The network with the pair of chains 1 and 2 changed."""
    made = network()
    made["pegged_pairs"][0] |= changes
    return made


def put(gateway: Gateway, **changes: Any) -> tuple[str, ...]:
    return import_network(*gateway.editing, text(document(**changes)), actor=TESTER).changes


def refusal(gateway: Gateway, made: dict[str, Any]) -> str:
    before = export_network(gateway.database)
    with pytest.raises(NetworkRefused) as refused:
        import_network(*gateway.editing, text(made), actor=TESTER)
    assert export_network(gateway.database) == before
    return "; ".join(refused.value.errors)


def deposit(n: int = 1, **changes: Any) -> dict[str, Any]:
    return sent(n, kind="deposit", symbol="CELR", **changes)


def burn(n: int = 1, dst: int = 1, **changes: Any) -> dict[str, Any]:
    return sent(n, kind="burn", symbol="CELR", src_chain_id=2, dst_chain_id=dst, **changes)


def pair(gateway: Gateway) -> tuple[int, dict[str, Any]]:
    with reading(gateway.reads) as connection:
        row_id: int = load_rows(connection, PeggedPair)[0]["id"]
    shown = show_row(gateway.database, "pegged_pairs", row_id)
    assert shown is not None
    return row_id, dict(shown.values)


def unlisted(gateway: Gateway) -> list[str]:
    with reading(gateway.reads) as connection:
        rows = connection.execute(Anomaly.__table__.select()).all()
    return [row.subject for row in rows if row.kind == AnomalyKind.UNLISTED_CONTRACT]


# --- The document


def test_further_contracts_survive_export(gateway: Gateway) -> None:
    """Changes name them."""
    made = document(deposit_contracts=[NEWER.lower(), OLD], burn_contracts=[address(4004)])
    dry = import_network(*gateway.editing, text(made), actor=TESTER, dry_run=True).changes
    assert dry == (
        "change pegged pair of CELR, 1 to 2: "
        f'deposit_contracts from [] to ["{NEWER}","{OLD}"], burn_contracts from [] to ["{address(4004)}"]',
    )
    assert import_network(*gateway.editing, text(made), actor=TESTER).changes == dry
    exported = export_network(gateway.database)
    pairs = json.loads(exported)["pegged_pairs"]
    assert pairs[0]["deposit_contracts"] == [NEWER, OLD]
    assert "deposit_contracts" not in pairs[1], "gateways that do not know the key can read the rest"
    assert import_network(*gateway.editing, exported, actor=TESTER).changes == ()
    assert export_network(gateway.database) == exported
    (gone,) = put(gateway)
    assert f'deposit_contracts from ["{NEWER}","{OLD}"] to []' in gone


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"deposit_contracts": OLD}, "pegged_pairs[0].deposit_contracts: must be a list"),
        ({"deposit_contracts": None}, "pegged_pairs[0].deposit_contracts: must not be null"),
        ({"deposit_contracts": [OLD, "0x12"]}, "deposit_contracts[1]: must have 40 or 64"),
        ({"deposit_contracts": [OLD, 7]}, "deposit_contracts[1]: must be"),
        ({"deposit_contracts": [OLD, OLD.lower()]}, "deposit_contracts[1]: is given twice"),
        ({"burn_contracts": [address(n) for n in range(1, 34)]}, "burn_contracts: must have at most 32"),
        (
            {"deposit_contracts": [OLD, VAULT]},
            "deposit_contracts[1]: must not repeat the pair's pegged_deposit_contract_addr",
        ),
        (
            {"burn_contracts": [BRIDGE]},
            "burn_contracts[0]: must not repeat the pair's pegged_burn_contract_addr",
        ),
    ],
)
def test_lists_that_are_refused(gateway: Gateway, changes: dict[str, Any], words: str) -> None:
    assert words in refusal(gateway, document(**changes))


# --- The guard

GUARDED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (deposit(), {"pegged_deposit_contract_addr": NEWER}, "pegged_deposit_contract_addr"),
    (deposit(), {"pegged_deposit_contract_addr": NEWER, "deposit_contracts": [OLD, VAULT]},
     "pegged_deposit_contract_addr"),
    (deposit(), {"vault_version": 1}, "vault_version"),
    (deposit(contract=VAULT), {"pegged_deposit_contract_addr": NEWER}, "pegged_deposit_contract_addr"),
    (deposit(contract=VAULT), {"vault_version": 1}, "vault_version"),
    (deposit(contract=OLD), {"deposit_contracts": []}, "deposit_contracts"),
    (burn(), {"pegged_burn_contract_addr": NEWER}, "pegged_burn_contract_addr"),
    (burn(dst=3), {"pegged_burn_contract_addr": NEWER}, "pegged_burn_contract_addr"),
    (burn(), {"bridge_version": 1}, "bridge_version"),
]  # fmt: skip


@pytest.mark.parametrize(("send", "changes", "column"), GUARDED)
def test_what_open_transfers_use_cannot_change(
    gateway: Gateway, send: dict[str, Any], changes: dict[str, Any], column: str
) -> None:
    put(gateway, deposit_contracts=[OLD])
    feed(gateway, send)
    made = {"deposit_contracts": [OLD]} | changes
    before = document(deposit_contracts=[OLD])["pegged_pairs"][0][column]
    said = refusal(gateway, document(**made))
    assert said.startswith(f"pegged_pairs[0].{column}: open {send['kind']} transfers of CELR from chain")
    assert f"keep {before[0] if isinstance(before, list) else before}" in said

    row_id, values = pair(gateway)
    shown = show_row(gateway.database, "pegged_pairs", row_id)
    assert shown is not None
    edit = Edit("pegged_pairs", row_id, made, shown.fingerprint)
    with pytest.raises(Invalid) as refused:
        save_edit(*gateway.editing, edit, actor=TESTER)
    assert [error.path for error in refused.value.errors] == [column]
    locked = locked_fields(gateway.database, "pegged_pairs", values)
    assert (column in locked) is not isinstance(before, list), "a list can always grow"

    feed(gateway, released(1) if send["kind"] == "deposit" else about(1, "refund.completed"))
    assert put(gateway, **made) != (), "once the transfer is over, it can"


def test_what_no_open_transfer_uses_can_change(gateway: Gateway) -> None:
    put(gateway, deposit_contracts=[OLD])
    feed(gateway, deposit(1, contract=OLD), burn(2), sent(3))
    assert "pegged_burn_contract_addr" in refusal(gateway, document(pegged_burn_contract_addr=NEWER))
    assert put(gateway, deposit_contracts=[NEWER, OLD]), "one more, and another order"
    assert put(gateway, deposit_contracts=[OLD], pegged_deposit_contract_addr=NEWER), "no send used the vault"
    assert put(gateway, pegged_deposit_contract_addr=OLD), "the one that it was sent through goes on to serve"


def test_pair_with_open_transfers_stays(gateway: Gateway) -> None:
    feed(gateway, deposit())
    made = network()
    del made["pegged_pairs"][0]
    assert "pegged_pairs: open transfers use pegged pair of CELR, 1 to 2" in refusal(gateway, made)
    feed(gateway, released(1))
    assert import_network(*gateway.editing, text(made), actor=TESTER).changes == (
        "remove pegged pair of CELR, 1 to 2",
    )


# --- A contract that is not listed


@pytest.mark.parametrize("finished", [False, True])
def test_contract_is_anomaly_until_listed(gateway: Gateway, finished: bool) -> None:
    feed(gateway, deposit(1, contract=OLD), deposit(2, contract=VAULT), deposit(3))
    feed(gateway, *[about(1, "transfer.confirmed")])
    if finished:
        feed(gateway, released(1))
    (raised,) = unlisted(gateway)
    assert raised.endswith("01")
    put(gateway, deposit_contracts=[OLD])
    assert unlisted(gateway) == []
    if finished:
        put(gateway)
        assert unlisted(gateway) == [raised]


@pytest.mark.one_database
def test_contracts_of_pools_and_unknown_tokens(gateway: Gateway) -> None:
    other = address(9)
    feed(
        gateway, sent(1, contract=address(1001)), sent(2, contract=other.lower()), sent(3, contract="TBase58")
    )
    feed(gateway, sent(4, symbol="NEW", kind="deposit", contract=other))
    assert [subject[-1] for subject in sorted(unlisted(gateway))] == ["2", "3"], "of NEW nothing is known yet"


@pytest.mark.one_database
def test_a_pools_contract_that_becomes_known_later(gateway: Gateway) -> None:
    def with_contract(contract: str) -> bytes:
        made = network()
        made["chains"][0]["contract_addr"] = contract
        return text(made)

    import_network(*gateway.editing, with_contract(""), actor=TESTER)
    feed(gateway, sent(1, contract=address(1001)), sent(2, contract=address(9)))
    assert unlisted(gateway) == [], "nothing is listed that it could be compared with"
    import_network(*gateway.editing, with_contract(address(1001)), actor=TESTER)
    assert [subject[-1] for subject in unlisted(gateway)] == ["2"]


@pytest.mark.one_database
def test_sends_through_different_contracts_are_different_sends(gateway: Gateway) -> None:
    def kinds() -> list[str]:
        with reading(gateway.reads) as connection:
            return [row.kind for row in connection.execute(Anomaly.__table__.select())]

    feed(gateway, deposit(1, contract=VAULT), deposit(1, at=-99))
    assert kinds() == [], "one report names no contract"
    feed(gateway, deposit(1, at=-98, contract=OLD))
    assert kinds() == ["different_sends"]
