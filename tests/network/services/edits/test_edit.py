"""One row created, changed or removed: checked like the document, live, recorded."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
from sqlalchemy import insert, select

from app.accounts.rules.two_persons import TwoPersons
from app.audit.services import NotConfirmed
from app.db.database import Database
from app.db.engine import reading, writing
from app.estimates.models import PoolCounter
from app.network.edits.entered import show_row
from app.network.edits.plan import EDITABLE, Edit
from app.network.edits.refusals import InUse, Invalid
from app.network.edits.save import preview_edit, save_edit
from app.network.sections import SECTIONS
from app.transfers.models import Anomaly
from tests.applications import Editing
from tests.network.services import network_kit as kit
from tests.network.services.edits.kit import (
    ALICE,
    add_transfer,
    document,
    edited,
    records,
    removed,
    shown,
    versions,
)
from tests.network.services.edits.new_rows import NEW_ROWS, STRANGER

EDITS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "chains": ((1,), {"name": "Mainnet"}),
    "tokens": ((1, "USDT"), {"xfer_disabled": True}),
    "pools": ((1, "USDT"), {"total_cap": None}),
    "routes": (("USDT", 1, 56), {"rate": {"model": "stableswap", "amplification": 100}}),
    "route_blocks": (("USDT", 10, 56), {"both_directions": False}),
    "pegged_pairs": (("CELR", 1, 10), {"deposit_base_fee": "9"}),
    "blocked_addresses": ((kit.VILLAIN,), {"expires_at": "2027-01-01T00:00:00Z"}),
    "blocked_networks": (("203.0.113.0/24",), {"reason": "no longer a VPN"}),
}


def anomaly_subjects(database: Database) -> list[str]:
    with reading(database.engine) as connection:
        return list(connection.scalars(select(Anomaly.subject)))


def test_every_section_is_tried() -> None:
    assert set(NEW_ROWS) == set(EDITS) == set(EDITABLE)
    assert {section.name for section in SECTIONS} - set(EDITABLE) == {"validators", "config_fields"}


@pytest.mark.parametrize("name", NEW_ROWS)
def test_a_row_comes_changes_and_goes(database: Database, editing: Editing, name: str) -> None:
    before, part = document(database), EDITABLE[name].part.value
    version = versions(database)[part]
    others = {key: value for key, value in versions(database).items() if key != part}

    saved = save_edit(*editing, Edit(name, values=NEW_ROWS[name]), actor=ALICE)
    assert document(database)[name] == [*before[name], NEW_ROWS[name]]
    assert versions(database) == others | {part: version + 1}
    (record,) = records(database)
    assert (record.id, record.action, record.actor) == (saved.record_id, "network.create", ALICE.name)
    assert json.loads(record.changes)[0]["before"] is None
    assert json.loads(record.changes)[0]["after"] == NEW_ROWS[name]

    with_it = document(database)
    key, values = EDITS[name]
    old = shown(database, name, *key).values
    # Only the new rate of the route is far from 1.
    save_edit(*editing, edited(database, name, *key, **values), actor=ALICE, typed="USDT")
    assert shown(database, name, *key).values == old | values
    assert versions(database)[part] == version + 2
    record = records(database)[-1]
    assert record.action == "network.edit"
    assert json.loads(record.changes)[0]["before"] == old
    assert json.loads(record.changes)[0]["after"] == old | values

    back = edited(database, name, *key, **{name: old[name] for name in values})
    save_edit(*editing, back, actor=ALICE, typed="USDT")
    assert document(database) == with_it
    of = EDITABLE[name]
    new_key = [of.schema.load(NEW_ROWS[name])[column] for column in of.key]
    save_edit(*editing, removed(database, name, *new_key), actor=ALICE)
    assert document(database) == before
    assert records(database)[-1].action == "network.remove"
    assert versions(database) == others | {part: version + 4}


def test_edit_without_change_writes_nothing(
    database: Database, two_persons: TwoPersons, editing: Editing
) -> None:
    before = versions(database)
    edit = edited(database, "chains", 1, name="Ethereum")
    assert preview_edit(database, two_persons, edit).changes == ()
    assert save_edit(*editing, edit, actor=ALICE).record_id is None
    assert (versions(database), records(database)) == (before, [])


def test_preview_only_shows_difference(database: Database, two_persons: TwoPersons) -> None:
    before = document(database), versions(database)
    preview = preview_edit(database, two_persons, edited(database, "routes", "USDT", 1, 56, base_fee="7"))
    assert preview.subject == "route of USDT from 1 to 56"
    assert [str(line) for line in preview.differences] == ["base_fee: 605437528092011966 → 7"]
    assert (document(database), versions(database)) == before
    assert records(database) == []


WRONG: list[tuple[str, tuple[Any, ...], dict[str, Any], dict[str, str]]] = [
    ("chains", (1,), {"surprise": 1}, {"surprise": "unknown key: remove it"}),
    ("chains", (1,), {"id": 2}, {"id": "cannot be changed (1)"}),
    ("chains", (1,), {"disabled": True}, {"disabled_reason": "Enter why the chain is stopped"}),
    ("chains", (1,), {"disabled": True, "disabled_reason": "  "}, {"disabled_reason": "Enter why"}),
    ("tokens", (1, "USDT"), {"symbol": "USDX"}, {"symbol": "cannot be changed (USDT)"}),
    ("pools", (1, "USDT"), {"liquidity_sent": "5"}, {"liquidity_sent": "cannot be changed: the event feed"}),
    ("routes", ("USDT", 1, 56), {"dst_chain_id": 10}, {"dst_chain_id": "cannot be changed (56)"}),
    (
        "routes",
        ("USDT", 1, 56),
        {"perc_fee_tiers": [{"from": "0", "ppm": 1}, {"from": "9", "ppm": 20001}], "base_fee": 7},
        {"perc_fee_tiers[1].ppm": "must be an integer from 0 to 20000", "base_fee": "must be a string"},
    ),
    ("blocked_networks", ("203.0.113.0/24",), {"expires_at": "soon"}, {"expires_at": "must be a time"}),
]


@pytest.mark.parametrize(("name", "key", "values", "errors"), WRONG)
def test_values_unfit_for_api_are_refused(
    database: Database,
    two_persons: TwoPersons,
    editing: Editing,
    name: str,
    key: tuple[Any, ...],
    values: dict[str, Any],
    errors: dict[str, str],
) -> None:
    before = document(database)
    edit = edited(database, name, *key, **values)
    for attempt in (
        lambda: preview_edit(database, two_persons, edit),
        lambda: save_edit(*editing, edit, actor=ALICE),
    ):
        with pytest.raises(Invalid) as refused:
            attempt()
        found = {error.path: error.message for error in refused.value.errors}
        assert found.keys() == errors.keys()
        assert all(found[path].startswith(message) for path, message in errors.items())
        assert {error.field for error in refused.value.errors} <= {*values, "disabled_reason"}
    assert (document(database), records(database)) == (before, [])


NEW_WRONG: list[tuple[str, dict[str, Any], dict[str, str]]] = [
    ("routes", NEW_ROWS["routes"] | {"dst_chain_id": 137}, {"dst_chain_id": "there is no token USDT"}),
    ("routes", kit.route(1, 56), {"": "route of USDT from 1 to 56 exists already"}),
    ("routes", {"symbol": "USDT"}, {"src_chain_id": "is missing"}),
    ("pools", kit.pool(1) | {"symbol": "DAI"}, {"": "there is no token DAI on chain 1"}),
    ("tokens", kit.token(1, "USDC") | {"chain_id": 5}, {"chain_id": "chain 5 is not among the chains"}),
    ("route_blocks", NEW_ROWS["route_blocks"] | {"dst_chain_id": 1}, {"dst_chain_id": "must be a different"}),
    ("pegged_pairs", kit.pair(56, 1), {"": "must not name chain 56 as the original of CELR for chain 1"}),
    ("blocked_addresses", {"address": kit.VILLAIN.lower()}, {"": "blocked address"}),
    ("blocked_networks", {"cidr": "203.0.113.0/24"}, {"": "blocked network 203.0.113.0/24 exists"}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "values", "errors"), NEW_WRONG)
def test_inconsistent_rows_are_refused(
    editing: Editing, name: str, values: dict[str, Any], errors: dict[str, str]
) -> None:
    with pytest.raises(Invalid) as refused:
        save_edit(*editing, Edit(name, values=values), actor=ALICE)
    found = [(error.path, error.message) for error in refused.value.errors]
    for path, message in errors.items():
        assert any(where == path and what.startswith(message) for where, what in found), found


def test_foreign_accounts_ignore_letter_case(editing: Editing) -> None:
    save_edit(*editing, Edit("blocked_addresses", values={"address": "cosmos1ABC"}), actor=ALICE)
    with pytest.raises(Invalid, match="exists already"):
        save_edit(*editing, Edit("blocked_addresses", values={"address": "COSMOS1abc"}), actor=ALICE)


def test_fields_that_transfers_use_stay(database: Database, editing: Editing) -> None:
    add_transfer(database, 1)
    for name, key, field, value in (
        ("chains", (1,), "contract_addr", STRANGER),
        ("tokens", (1, "USDT"), "decimal", 8),
        ("tokens", (56, "USDT"), "address", STRANGER),
    ):
        with pytest.raises(Invalid) as refused:
            save_edit(*editing, edited(database, name, *key, **{field: value}), actor=ALICE)
        assert [error.path for error in refused.value.errors] == [field]
        assert "transfers use" in str(refused.value)
    save_edit(*editing, edited(database, "tokens", 10, "USDT", decimal=8), actor=ALICE)


USED: list[tuple[str, tuple[Any, ...], list[tuple[str, int]]]] = [
    (
        "chains", (1,),
        [("token", 2), ("pool", 1), ("route", 3), ("pegged pair", 2), ("validator", 2), ("transfer", 1)],
    ),
    (
        "chains", (56,),
        [("token", 2), ("pool", 1), ("route", 2), ("route block", 1), ("pegged pair", 1), ("transfer", 1)],
    ),
    ("tokens", (1, "USDT"), [("pool", 1), ("route", 3), ("transfer", 1)]),
    ("tokens", (10, "CELR"), [("pegged pair", 1)]),
    ("pools", (10, "USDT"), [("route", 1)]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "key", "users"), USED)
def test_removing_used_row_names_users(
    database: Database,
    two_persons: TwoPersons,
    editing: Editing,
    name: str,
    key: tuple[Any, ...],
    users: list[tuple[str, int]],
) -> None:
    add_transfer(database, 7)
    before = document(database)
    for attempt in (
        partial(preview_edit, database, two_persons),
        partial(save_edit, *editing, actor=ALICE),
    ):
        with pytest.raises(InUse) as refused:
            attempt(removed(database, name, *key))
        assert [(of.kind, of.count) for of in refused.value.users] == users
    assert document(database) == before
    if ("transfer", 1) in users:
        assert f"1 transfer (0x{7:064x})" in str(refused.value)


def test_of_many_users_ten_are_named(database: Database, editing: Editing) -> None:
    for n in range(12):
        add_transfer(database, n)
    with pytest.raises(InUse) as refused:
        save_edit(*editing, removed(database, "tokens", 1, "USDT"), actor=ALICE)
    transfers = refused.value.users[-1]
    assert (transfers.count, len(transfers.names)) == (12, 10)
    assert str(transfers).endswith("and 2 more)")


def test_stopping_chain_needs_name_and_reason(
    database: Database, two_persons: TwoPersons, editing: Editing
) -> None:
    edit = edited(database, "chains", 1, disabled=True, disabled_reason="node is down")
    assert preview_edit(database, two_persons, edit).needs_typed == "Ethereum"
    for typed in ("", "ether", "1"):
        with pytest.raises(NotConfirmed) as refused:
            save_edit(*editing, edit, actor=ALICE, typed=typed)
        assert refused.value.needs_typed == "Ethereum"
    assert (document(database)["chains"][0]["disabled"], records(database)) == (False, [])
    save_edit(*editing, edit, actor=ALICE, typed=" ethereum ")
    chain = document(database)["chains"][0]
    assert (chain["disabled"], chain["disabled_reason"]) == (True, "node is down")

    other = edited(database, "chains", 1, disabled_reason="node is still down")
    assert preview_edit(database, two_persons, other).needs_typed is None
    back = edited(database, "chains", 1, disabled=False)
    assert preview_edit(database, two_persons, back).needs_typed is None
    save_edit(*editing, back, actor=ALICE)
    chain = document(database)["chains"][0]
    assert (chain["disabled"], chain["disabled_reason"]) == (False, "")


def test_edit_validates_stored_events_again(database: Database, editing: Editing) -> None:
    with writing(database.engine) as connection:
        reported = {"chain_id": 1, "symbol": "CELR", "added": 0, "sent": 0, "relayed": 0, "withdrawn": 5}
        connection.execute(insert(PoolCounter).values(reported))
    assert anomaly_subjects(database) == []
    pool = NEW_ROWS["pools"] | {"liquidity_added": "3"}
    save_edit(*editing, Edit("pools", values=pool), actor=ALICE)
    assert anomaly_subjects(database) == ["pool:1:CELR"]


def test_what_is_gone_has_no_form(database: Database) -> None:
    assert show_row(database, "chains", 4711) is None
