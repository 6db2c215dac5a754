"""The contracts of pegged pairs: several at once, and none that changes under open transfers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from flask import Flask

from app.db.database import Database
from app.db.engine import reading
from app.http.application import part_of
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
from tests.applications import Editing, editing_of
from tests.feed.services.world import about, address, feed, network, released, sent
from tests.network.services.network_kit import text

VAULT, BRIDGE = address(3001), address(4002)
OLD, NEWER = address(3002), address(3003)


@pytest.fixture
def app(app: Flask) -> Flask:
    put(editing_of(app))
    return app


def document(**changes: Any) -> dict[str, Any]:
    """The network with the pair of chains 1 and 2 changed."""
    made = network()
    made["pegged_pairs"][0] |= changes
    return made


def put(editing: Editing, **changes: Any) -> tuple[str, ...]:
    return import_network(*editing, text(document(**changes)), actor=TESTER).changes


def refusal(app: Flask, made: dict[str, Any]) -> str:
    before = export_network(part_of(app, Database))
    with pytest.raises(NetworkRefused) as refused:
        import_network(*editing_of(app), text(made), actor=TESTER)
    assert export_network(part_of(app, Database)) == before
    return "; ".join(refused.value.errors)


def deposit(n: int = 1, **changes: Any) -> dict[str, Any]:
    return sent(n, kind="deposit", symbol="CELR", **changes)


def burn(n: int = 1, dst: int = 1, **changes: Any) -> dict[str, Any]:
    return sent(n, kind="burn", symbol="CELR", src_chain_id=2, dst_chain_id=dst, **changes)


def pair(database: Database) -> tuple[int, dict[str, Any]]:
    with reading(database.reads) as connection:
        row_id: int = load_rows(connection, PeggedPair)[0]["id"]
    shown = show_row(database, "pegged_pairs", row_id)
    assert shown is not None
    return row_id, dict(shown.values)


def unlisted(database: Database) -> list[str]:
    with reading(database.reads) as connection:
        rows = connection.execute(Anomaly.__table__.select()).all()
    return [row.subject for row in rows if row.kind == AnomalyKind.UNLISTED_CONTRACT]


# --- The document


def test_further_contracts_survive_export(database: Database, editing: Editing) -> None:
    """Changes name them."""
    made = document(deposit_contracts=[NEWER.lower(), OLD], burn_contracts=[address(4004)])
    dry = import_network(*editing, text(made), actor=TESTER, dry_run=True).changes
    assert dry == (
        "change pegged pair of CELR, 1 to 2: "
        f'deposit_contracts from [] to ["{NEWER}","{OLD}"], burn_contracts from [] to ["{address(4004)}"]',
    )
    assert import_network(*editing, text(made), actor=TESTER).changes == dry
    exported = export_network(database)
    pairs = json.loads(exported)["pegged_pairs"]
    assert pairs[0]["deposit_contracts"] == [NEWER, OLD]
    assert "deposit_contracts" not in pairs[1], "gateways that do not know the key can read the rest"
    assert import_network(*editing, exported, actor=TESTER).changes == ()
    assert export_network(database) == exported
    (gone,) = put(editing)
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
def test_lists_that_are_refused(app: Flask, changes: dict[str, Any], words: str) -> None:
    assert words in refusal(app, document(**changes))


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


@pytest.mark.one_database  # test_what_no_open_transfer_uses_can_change reads the transfers of both
@pytest.mark.parametrize(("send", "changes", "column"), GUARDED)
def test_what_open_transfers_use_cannot_change(
    app: Flask,
    database: Database,
    editing: Editing,
    send: dict[str, Any],
    changes: dict[str, Any],
    column: str,
) -> None:
    put(editing, deposit_contracts=[OLD])
    feed(app, send)
    made = {"deposit_contracts": [OLD]} | changes
    before = document(deposit_contracts=[OLD])["pegged_pairs"][0][column]
    reason = refusal(app, document(**made))
    assert reason.startswith(f"pegged_pairs[0].{column}: open {send['kind']} transfers of CELR from chain")
    assert f"keep {before[0] if isinstance(before, list) else before}" in reason

    row_id, values = pair(database)
    shown = show_row(database, "pegged_pairs", row_id)
    assert shown is not None
    edit = Edit("pegged_pairs", row_id, made, shown.fingerprint)
    with pytest.raises(Invalid) as refused:
        save_edit(*editing, edit, actor=TESTER)
    assert [error.path for error in refused.value.errors] == [column]
    locked = locked_fields(database, "pegged_pairs", values)
    assert (column in locked) is not isinstance(before, list), "a list can always grow"

    feed(app, released(1) if send["kind"] == "deposit" else about(1, "refund.completed"))
    assert put(editing, **made) != (), "once the transfer is over, it can"


def test_what_no_open_transfer_uses_can_change(app: Flask, editing: Editing) -> None:
    put(editing, deposit_contracts=[OLD])
    feed(app, deposit(1, contract=OLD), burn(2), sent(3))
    assert "pegged_burn_contract_addr" in refusal(app, document(pegged_burn_contract_addr=NEWER))
    assert put(editing, deposit_contracts=[NEWER, OLD]), "one more, and another order"
    assert put(editing, deposit_contracts=[OLD], pegged_deposit_contract_addr=NEWER), "no send used the vault"
    assert put(editing, pegged_deposit_contract_addr=OLD), "the one that it was sent through goes on to serve"


def test_pair_with_open_transfers_stays(app: Flask, editing: Editing) -> None:
    feed(app, deposit())
    made = network()
    del made["pegged_pairs"][0]
    assert "pegged_pairs: open transfers use pegged pair of CELR, 1 to 2" in refusal(app, made)
    feed(app, released(1))
    assert import_network(*editing, text(made), actor=TESTER).changes == (
        "remove pegged pair of CELR, 1 to 2",
    )


# --- A contract that is not listed


@pytest.mark.parametrize("finished", [False, True])
def test_contract_is_anomaly_until_listed(
    app: Flask, database: Database, editing: Editing, finished: bool
) -> None:
    feed(app, deposit(1, contract=OLD), deposit(2, contract=VAULT), deposit(3))
    feed(app, *[about(1, "transfer.confirmed")])
    if finished:
        feed(app, released(1))
    (raised,) = unlisted(database)
    assert raised.endswith("01")
    put(editing, deposit_contracts=[OLD])
    assert unlisted(database) == []
    if finished:
        put(editing)
        assert unlisted(database) == [raised]


@pytest.mark.one_database
def test_contracts_of_pools_and_unknown_tokens(app: Flask, database: Database) -> None:
    other = address(9)
    feed(app, sent(1, contract=address(1001)), sent(2, contract=other.lower()), sent(3, contract="TBase58"))
    feed(app, sent(4, symbol="NEW", kind="deposit", contract=other))
    assert [subject[-1] for subject in sorted(unlisted(database))] == ["2", "3"], (
        "of NEW nothing is known yet"
    )


@pytest.mark.one_database
def test_later_pool_contract_raises_anomaly(app: Flask, database: Database, editing: Editing) -> None:
    def with_contract(contract: str) -> bytes:
        made = network()
        made["chains"][0]["contract_addr"] = contract
        return text(made)

    import_network(*editing, with_contract(""), actor=TESTER)
    feed(app, sent(1, contract=address(1001)), sent(2, contract=address(9)))
    assert unlisted(database) == [], "nothing is listed that it could be compared with"
    import_network(*editing, with_contract(address(1001)), actor=TESTER)
    assert [subject[-1] for subject in unlisted(database)] == ["2"]


@pytest.mark.one_database
def test_different_contracts_are_different_sends(app: Flask, database: Database) -> None:
    def kinds() -> list[str]:
        with reading(database.reads) as connection:
            return [row.kind for row in connection.execute(Anomaly.__table__.select())]

    feed(app, deposit(1, contract=VAULT), deposit(1, at=-99))
    assert kinds() == [], "one report names no contract"
    feed(app, deposit(1, at=-98, contract=OLD))
    assert kinds() == ["different_sends"]
