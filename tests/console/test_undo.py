"""An audit record is undone: one preview of all its rows, refused where later changes stand on it."""

from __future__ import annotations

from typing import Any

from flask import Flask

from app.accounts.rules.roles import Role
from app.accounts.rules.two_persons import TwoPersons
from app.db.database import Database
from app.http.application import add_part
from app.network.document import import_network
from app.network.edits.entered import Switch
from app.network.edits.save import preview_edit, save_edit
from tests.actors import TESTER
from tests.applications import Editing
from tests.console.documents import changed_file
from tests.console.edits import NEW
from tests.console.forms import form_of, save, send
from tests.console.visitor import Visitor, add_account, signed_in
from tests.network.services.edits.kit import add_transfer, document, records, shown
from tests.network.services.network_kit import text

FEES = "/admin/routes/base-fees"


def last(database: Database) -> Any:
    return [each for each in records(database) if each.action.startswith("network.")][-1]


def undo_page(database: Database) -> str:
    return f"/admin/history/undo/{last(database).id}"


def double_fees(visitor: Visitor) -> None:
    preview = send(visitor, FEES, dst_chain_id="56", symbol="", how="factor", factor="2")
    send(visitor, FEES, preview, confirm="1", change_reason="gas is dear")


def test_all_rows_are_restored_together(operator: Visitor, database: Database) -> None:
    before = document(database)
    double_fees(operator)
    doubled, record = document(database), last(database)
    assert doubled != before
    path = undo_page(database)
    assert f'<a class="button" href="{path}">Undo</a>' in operator.get(f"/admin/audit/{record.id}").text
    preview = operator.get(path)
    assert f"Undo record {record.id}?" in preview.text
    assert "USDT from Ethereum to BNB Chain" in preview.text
    assert document(database) == doubled
    done = operator.post(path, form_of(preview) | {"confirm": "1", "change_reason": "too much"})
    made = last(database)
    assert done.location == f"/admin/audit/{made.id}"
    assert document(database) == before
    assert made.action == "network.undo"
    assert made.detail == f"undo record {record.id}: {record.detail.partition(';')[0]}; note: too much"
    send(operator, undo_page(database), confirm="1")
    assert document(database) == doubled, "an undo is undone like any other record"


def test_changes_in_every_section_are_undone(
    app: Flask, network: Flask, database: Database, editing: Editing
) -> None:
    """Rows that were added, changed and removed."""
    before = document(database)
    import_network(*editing, text(changed_file()), actor=TESTER)
    after = document(database)
    refused = signed_in(app, Role.OPERATOR).get(undo_page(database))
    assert refused.location.startswith("/admin/audit/")
    assert document(database) == after, "validators are not the operators'"
    admin = signed_in(app, Role.ADMIN)
    send(admin, undo_page(database), confirm="1")
    assert by_key(document(database)) == by_key(before)
    send(admin, undo_page(database), confirm="1")
    assert by_key(document(database)) == by_key(after)


def test_document_changes_need_administrator(
    app: Flask, network: Flask, database: Database, editing: Editing
) -> None:
    before = document(database)
    import_network(*editing, text(before | {"validators": before["validators"][1:]}), actor=TESTER)
    after, operator = document(database), signed_in(app, Role.OPERATOR)
    assert after != before
    refused = operator.get(undo_page(database))
    assert "An administrator can undo it" in operator.get(refused.location).text
    send(signed_in(app, Role.ADMIN), undo_page(database), confirm="1")
    assert by_key(document(database)) == by_key(before)


def by_key(rows: dict[str, Any]) -> dict[str, Any]:
    """The rows of each section in one order: one that comes back is the last."""
    return {
        name: sorted(map(repr, section)) if isinstance(section, list) else section
        for name, section in rows.items()
    }


def test_later_changes_prevent_undo(operator: Visitor, database: Database) -> None:
    double_fees(operator)
    path, preview = undo_page(database), operator.get(undo_page(database))
    row = f"/admin/routes/{shown(database, 'routes', 'USDT', 1, 56).row_id}"
    save(operator, row, base_fee="7")
    later, changed = last(database), document(database)
    for page in (operator.get(path), operator.post(path, form_of(preview) | {"confirm": "1"})):
        assert "cannot be undone" in page.text
        assert "USDT from Ethereum to BNB Chain" in page.text
        assert f'<a href="/admin/audit/{later.id}">Record {later.id}</a>' in page.text
        assert "operator@example.org" in page.text
        assert 'name="confirm"' not in page.text
    assert document(database) == changed


def test_rows_restored_singly_stay(app: Flask, network: Flask, database: Database, editing: Editing) -> None:
    before, operator = document(database), signed_in(app, Role.ADMIN)
    import_network(*editing, text(changed_file()), actor=TESTER)
    path = undo_page(database)
    stale = operator.get(path)
    restore = f"/admin/chains/restore/{path.rpartition('/')[2]}/0?before=1"
    send(operator, restore, operator.get(restore), confirm="1")
    page = operator.post(path, form_of(stale) | {"confirm": "1"})
    assert "were changed while you were looking" in page.text
    operator.post(path, form_of(page) | {"confirm": "1"})
    assert by_key(document(database)) == by_key(before)
    nothing = operator.get(path)
    assert nothing.location.startswith("/admin/audit/")
    assert "nothing to undo" in operator.get(nothing.location).text


def test_row_in_use_is_not_removed(operator: Visitor, database: Database) -> None:
    path = "/admin/tokens/new"
    send(operator, path, send(operator, path, **NEW["tokens"]), confirm="1")
    add_transfer(database, 7, symbol="USDC")
    page = operator.get(undo_page(database))
    assert "It is in use" in page.text
    assert "1 transfer" in page.text


def test_what_stops_chains_has_to_be_typed(
    operator: Visitor, database: Database, two_persons: TwoPersons, editing: Editing
) -> None:
    chains = frozenset({1, 10})
    save_edit(*editing, Switch(chains, True, "leak"), actor=TESTER, typed="stop 2 chains")
    seen = preview_edit(database, two_persons, Switch(chains, False)).fingerprint
    save_edit(*editing, Switch(chains, False, shown=seen), actor=TESTER)
    path = undo_page(database)
    refused = send(operator, path, confirm="1")
    assert "Type “stop 2 chains” to confirm" in refused.text
    operator.post(path, form_of(refused) | {"confirm": "1", "typed": "stop 2 chains"})
    assert [row["disabled"] for row in document(database)["chains"][:2]] == [True, True]


def test_guarded_rows_are_proposed(app: Flask, network: Flask, database: Database) -> None:
    operator = signed_in(app, Role.OPERATOR)
    before = document(database)
    double_fees(operator)
    doubled, path = document(database), undo_page(database)
    add_part(app, TwoPersons, TwoPersons(frozenset({"routes"})))
    preview = operator.get(path)
    assert "Propose to undo record" in preview.text
    proposed = operator.post(path, form_of(preview) | {"confirm": "1", "change_reason": "too much"})
    assert proposed.location == "/admin/proposals/1"
    assert document(database) == doubled
    add_account(app, Role.ADMIN)
    second = Visitor(app)
    second.sign_in("admin@example.org")
    assert "USDT from Ethereum to BNB Chain" in second.get(proposed.location).text
    second.post(f"{proposed.location}/approve")
    assert document(database) == before
    said = last(database).detail
    assert "approved by admin@example.org (proposal 1): undo record" in said


def test_only_operators_undo_network_changes(app: Flask, network: Flask, database: Database) -> None:
    double_fees(signed_in(app, Role.OPERATOR))
    path, viewer = undo_page(database), signed_in(app, Role.VIEWER)
    assert viewer.get(path).status_code == 403
    assert path not in viewer.get(f"/admin/audit/{last(database).id}").text
    sign_in = next(row.id for row in records(database) if row.action == "sign_in")
    other = Visitor(app)
    other.sign_in("operator@example.org")
    for missing in (sign_in, 999):
        assert other.get(f"/admin/history/undo/{missing}").status_code == 404
    assert "/admin/history/undo/" not in other.get(f"/admin/audit/{sign_in}").text
