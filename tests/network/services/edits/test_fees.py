"""Base fees of many routes at once."""

from __future__ import annotations

import json
from datetime import timedelta
from fractions import Fraction
from functools import partial

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from app.accounts.rules.two_persons import TwoPersons
from app.audit.keys import AuditKeys
from app.audit.previews import Preview, Severity
from app.audit.services import Conflict
from app.console.shell.formats import units
from app.db.database import Database
from app.network.edits.fees import FeeEdit, FeeEffect, multiplied_up
from app.network.edits.plan import Edit
from app.network.edits.refusals import Invalid
from app.network.edits.save import preview_edit, save_edit
from app.network.snapshot import SnapshotSource
from app.values.identifiers import RouteKey
from tests.applications import Editing, editing_of
from tests.network.services import network_kit as kit
from tests.network.services.edits.kit import ALICE, BOB, document, edited, records, versions


@pytest.fixture
def app(app: Flask) -> Flask:
    """With USDC, so that two tokens go from 1 to 56, and USDT from 10 there."""
    for chain_id in (1, 56):
        save_edit(*editing_of(app), Edit("tokens", values=kit.token(chain_id, "USDC", 6)), actor=ALICE)
        save_edit(
            *editing_of(app), Edit("pools", values=kit.pool(chain_id) | {"symbol": "USDC"}), actor=ALICE
        )
    new = kit.route(1, 56) | {"symbol": "USDC", "base_fee": "3"}
    save_edit(*editing_of(app), Edit("routes", values=new), actor=ALICE)
    save_edit(*editing_of(app), Edit("routes", values=kit.route(10, 56) | {"base_fee": "0"}), actor=ALICE)
    return app


def fees(database: Database) -> dict[tuple[str, int, int], str]:
    return {
        (route["symbol"], route["src_chain_id"], route["dst_chain_id"]): route["base_fee"]
        for route in document(database)["routes"]
    }


def effects(preview: Preview) -> list[FeeEffect]:
    """What the new fees mean, a route each."""
    return [effect for effect in preview.effects if isinstance(effect, FeeEffect)]


def test_fees_are_multiplied_and_rounded_up(
    database: Database, two_persons: TwoPersons, editing: Editing
) -> None:
    edit = FeeEdit(56, factor=Fraction(3, 2))
    preview = preview_edit(database, two_persons, edit)
    routes = effects(preview)
    assert [(row.route_key, row.before, row.after, row.decimals) for row in effects(preview)] == [
        (("USDC", 1, 56), 3, 5, 6),
        (("USDT", 1, 56), 605437528092011966, 908156292138017949, 18),
        (("USDT", 10, 56), 0, 0, 18),
    ]
    assert len(preview.changes) == 2
    assert routes[0].times == "about 1.667 times the old one"
    assert tuple(units(fee, 6) for fee in (routes[0].before, routes[0].after)) == (
        "0.000003",
        "0.000005",
    )
    assert routes[1].text.startswith("USDT from Ethereum to BNB Chain: base fee 1.5 times")
    before, version, count = fees(database), versions(database)["core"], len(records(database))

    save_edit(*editing, replace(edit, shown=preview.fingerprint), actor=BOB)
    assert fees(database) == before | {("USDC", 1, 56): "5", ("USDT", 1, 56): "908156292138017949"}
    assert versions(database)["core"] == version + 1
    record = records(database)[-1]
    assert len(records(database)) == count + 1
    assert (record.action, record.subject, record.actor) == ("network.base_fees", "2 routes", BOB.name)
    changes = json.loads(record.changes)
    assert [change["after"]["base_fee"] for change in changes] == ["5", "908156292138017949"]
    assert [change["before"]["base_fee"] for change in changes] == ["3", "605437528092011966"]


def test_fee_edit_sets_all_routes_of_token(
    database: Database, two_persons: TwoPersons, editing: Editing
) -> None:
    edit = FeeEdit(56, "USDT", amount=7 * 10**18)
    preview = preview_edit(database, two_persons, edit)
    assert [units(row.after, row.decimals) for row in effects(preview)] == ["7", "7"]
    assert max(row.severity for row in effects(preview)) is Severity.GRAVE
    save_edit(*editing, replace(edit, shown=preview.fingerprint), actor=ALICE)
    assert fees(database)["USDT", 1, 56] == fees(database)["USDT", 10, 56] == str(7 * 10**18)
    assert fees(database)["USDC", 1, 56] == "3"
    again = preview_edit(database, two_persons, edit)
    assert again.changes == ()
    assert save_edit(*editing, replace(edit, shown=again.fingerprint), actor=ALICE).record_id is None


@pytest.mark.parametrize("what", ["fee", "new", "gone"])
def test_what_was_not_seen_is_not_overwritten(
    database: Database, two_persons: TwoPersons, editing: Editing, what: str
) -> None:
    edit = FeeEdit(56, factor=Fraction(2))
    seen = preview_edit(database, two_persons, edit).fingerprint
    if what == "fee":
        save_edit(*editing, edited(database, "routes", "USDC", 1, 56, base_fee="4"), actor=ALICE)
    elif what == "new":
        save_edit(*editing, Edit("pools", values=kit.pool(10) | {"symbol": "CELR"}), actor=ALICE)
        save_edit(*editing, Edit("pools", values=kit.pool(56) | {"symbol": "CELR"}), actor=ALICE)
        save_edit(*editing, Edit("routes", values=kit.route(10, 56) | {"symbol": "CELR"}), actor=ALICE)
    else:
        row = edited(database, "routes", "USDC", 1, 56)
        save_edit(*editing, Edit("routes", row.row_id, None, row.shown), actor=ALICE)
    before = fees(database)
    with pytest.raises(Conflict) as refused:
        save_edit(*editing, replace(edit, shown=seen), actor=BOB)
    assert len(refused.value.meanwhile) == 1
    assert fees(database) == before


WRONG = [
    (FeeEdit(56), "amount"),
    (FeeEdit(56, "USDT", amount=1, factor=Fraction(1)), "amount"),
    (FeeEdit(56, amount=1), "symbol"),
    (FeeEdit(56, "USDT", amount=-1), "amount"),
    (FeeEdit(56, "USDT", amount=2**256), "amount"),
    (FeeEdit(56, factor=Fraction(0)), "factor"),
    (FeeEdit(56, factor=Fraction(-1)), "factor"),
    (FeeEdit(56, factor=Fraction(2**256)), "factor"),
    (FeeEdit(137, factor=Fraction(1)), "dst_chain_id"),
    (FeeEdit(56, "DAI", amount=1), "dst_chain_id"),
]


def test_invalid_edit_of_fees_is_refused(
    database: Database, two_persons: TwoPersons, editing: Editing
) -> None:
    for edit, field in WRONG:
        for attempt in (
            partial(preview_edit, database, two_persons),
            partial(save_edit, *editing, actor=ALICE),
        ):
            with pytest.raises(Invalid) as refused:
                attempt(edit)
            assert [error.field for error in refused.value.errors] == [field], edit


def test_age_of_changed_fees_begins_again(
    database: Database, snapshots: SnapshotSource, audit_keys: AuditKeys, two_persons: TwoPersons
) -> None:
    edit = FeeEdit(56, factor=Fraction(2))

    later = replace(database, clock=lambda: database.clock() + timedelta(hours=1))
    save_edit(
        later,
        audit_keys,
        two_persons,
        replace(edit, shown=preview_edit(database, two_persons, edit).fingerprint),
        actor=ALICE,
    )
    routes = snapshots.current().terms.routes
    ends = ((kit.ETHEREUM, kit.BNB_CHAIN), (kit.BNB_CHAIN, kit.ETHEREUM))
    changed, other = (routes[RouteKey("USDT", *each)].base_fee for each in ends)
    assert changed and changed.since == later.clock()
    assert other and other.since == database.clock()


@given(st.integers(0, 2**256), st.fractions(min_value=Fraction(1, 1000), max_value=1000))
def test_multiplied_fee_is_rounded_up(amount: int, factor: Fraction) -> None:
    product = multiplied_up(amount, factor)
    assert product - 1 < amount * factor <= product
