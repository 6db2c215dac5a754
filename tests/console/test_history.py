"""Rows and their history: earlier versions restored, records undone, and the configuration at a time."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

from flask import Flask
from sqlalchemy import delete

from app.accounts.rules.roles import Role
from app.accounts.rules.two_persons import TwoPersons
from app.audit.models import AuditRecord, AuditSubject
from app.audit.verification import archive_audit
from app.db.database import Database
from app.db.engine import writing
from app.http.application import add_part
from app.network.document import export_network, import_network
from app.network.edits.entered import Switch
from app.network.edits.save import preview_edit, save_edit
from tests.actors import TESTER
from tests.applications import Audited, Editing
from tests.builders.clock import MovableClock
from tests.console.edits import NEW, changed_file, key_of_last, new_page
from tests.console.forms import EVERYTHING, form_of, save, send
from tests.console.visitor import NOW, Visitor, signed_in, visitor_of
from tests.network.services.edits.kit import add_transfer, document, records, shown
from tests.network.services.network_kit import network as small_network
from tests.network.services.network_kit import pool, text


def route_path(database: Database) -> str:
    return f"/admin/routes/{shown(database, 'routes', 'USDT', 1, 56).row_id}"


def last_record(database: Database) -> Any:
    return [each for each in records(database) if each.action.startswith("network.")][-1]


def fee(database: Database) -> str:
    return str(document(database)["routes"][0]["base_fee"])


def test_row_and_history_link_each_other(operator: Visitor, database: Database) -> None:
    path = route_path(database)
    save(operator, path, base_fee="7", change_reason="agreed with the\ttreasury")
    fees = "/admin/routes/base-fees"
    save(operator, fees, dst_chain_id="56", symbol="", how="factor", factor="3", change_reason="gas is dear")
    history = "/admin/history/?subject=route+of+USDT+from+1+to+56"
    assert history.replace("+", "%20") in operator.get(path).text.replace("+", "%20")
    page = operator.get(history).text
    assert page.count(">Restore this version<") == 2, "of the import and the first edit, not of what stands"
    assert "agreed with the treasury" in page
    assert "gas is dear" in page, "a change of many is in the history of each row"
    assert path in page
    record = last_record(database)
    assert record.detail.startswith("set base fees of ")
    reported = operator.get(f"/admin/audit/{record.id}").text
    assert f"/admin/history/record/{record.id}/0" in reported
    assert "Restore previous values" in reported
    number = next(n for n, c in enumerate(json.loads(record.changes)) if "from 1 to 56" in c["subject"])
    assert operator.get(f"/admin/history/record/{record.id}/{number}").location == path
    for nowhere in (
        "/admin/history/?subject=chain+77",
        "/admin/history/?subject=chain+٣",
        f"/admin/history/?subject=chain+{'9' * 30}",
        "/admin/history/",
        f"/admin/history/record/{record.id}/99",
    ):
        assert operator.get(nowhere).status_code == 404


def test_row_before_the_log_is_shown(operator: Visitor, database: Database) -> None:
    rows = {}
    for section, new in NEW.items():
        save(operator, new_page(section), **new)
        subject = json.loads(last_record(database).changes)[0]["subject"]
        rows[subject] = f"/admin/{section}/{key_of_last(database, section)}"
    with writing(database.engine) as connection:
        connection.execute(delete(AuditSubject))
        connection.execute(delete(AuditRecord))
    for subject, row in rows.items():
        page = operator.get("/admin/history/", query_string={"subject": subject})
        assert page.status_code == 200, subject
        assert "No recorded changes" in page.text
        assert row in page.text
        assert "This row was removed" not in page.text
        for nowhere in ({"subject": f"{subject}9"}, {"subject": subject, "before": "1"}):
            assert operator.get("/admin/history/", query_string=nowhere).status_code == 404, nowhere


def test_records_link_accounts_and_tokens(
    app: Flask, network: Flask, database: Database, admin: Visitor
) -> None:
    admin.post("/admin/ingest_tokens/new", EVERYTHING | {"name": "relayer"})
    by_action = {row.action: row.id for row in records(database)}
    page = admin.get(f"/admin/audit/{by_action['sign_in']}").text
    assert '<a href="/admin/operators/1">operator admin@example.org</a>' in page
    page = admin.get(f"/admin/audit/{by_action['ingest_token.create']}").text
    assert '<a href="/admin/ingest_tokens/?search=relayer">' in page
    viewer = signed_in(app, Role.VIEWER)
    assert "/admin/operators/1" not in viewer.get(f"/admin/audit/{by_action['sign_in']}").text


def test_version_is_restored_after_preview(operator: Visitor, database: Database) -> None:
    path, before = route_path(database), fee(database)
    save(operator, path, base_fee="7", base_fee_unit="smallest")
    save(operator, path, base_fee="8", base_fee_unit="smallest")
    first = records(database)[-2].id
    restore = f"/admin/routes/restore/{first}/0?before=1"
    preview = operator.get(restore)
    assert "Back to form" not in preview.text
    assert fee(database) == "8"
    assert send(operator, restore, preview, confirm="1").location == "/admin/routes/"
    assert fee(database) == before
    again = operator.get(restore)
    assert again.location.startswith("/admin/history/"), "nothing is different"
    stale = operator.get(f"/admin/routes/restore/{first}/0")
    save(operator, path, base_fee="9", base_fee_unit="smallest")
    conflict = send(operator, f"/admin/routes/restore/{first}/0", stale, confirm="1")
    assert "Changed while you were editing" in conflict.text
    preview = operator.post(f"/admin/routes/restore/{first}/0", form_of(conflict))
    assert send(operator, f"/admin/routes/restore/{first}/0", preview, confirm="1").status_code == 302
    assert fee(database) == "7"


def test_fields_without_form_are_restored(operator: Visitor, database: Database, editing: Editing) -> None:
    rows = small_network()
    rows["chains"][0] |= {"suggested_gas_cost": "12", "extra": {"tag": 1}}
    import_network(*editing, text(rows), actor=TESTER)
    known = last_record(database).id
    import_network(*editing, text(small_network()), actor=TESTER)
    restore = f"/admin/chains/restore/{known}/0"
    send(operator, restore, confirm="1")
    chain = document(database)["chains"][0]
    assert (chain["suggested_gas_cost"], chain["extra"]) == ("12", {"tag": 1})


def test_ended_pin_is_not_restored(operator: Visitor, database: Database, clock: MovableClock) -> None:
    path = route_path(database)
    save(operator, path, pinned_base_fee="0.7", pinned_until=f"{NOW:%Y-%m-%d} 12:05")
    restore = f"/admin/routes/restore/{last_record(database).id}/0"
    for minutes, pin in ((1, "700000000000000000"), (5, None)):
        save(operator, path, pinned_base_fee="", pinned_until="", base_fee=str(minutes))
        clock.forward(minutes=minutes)
        assert send(operator, restore, confirm="1").status_code == 302
        route = document(database)["routes"][0]
        assert route.get("pinned_base_fee") == pin
        assert route["base_fee"] == "605437528092011966"


def test_restored_pool_keeps_opening_values(operator: Visitor, database: Database, editing: Editing) -> None:
    rows = small_network()
    rows["pools"][0] = pool(1, added="9")
    import_network(*editing, text(rows), actor=TESTER)
    path = f"/admin/pools/{shown(database, 'pools', 1, 'USDT').row_id}"
    save(operator, path, total_cap="5")
    send(operator, f"/admin/pools/restore/{last_record(database).id}/0?before=1", confirm="1")
    assert document(database)["pools"][0] == rows["pools"][0]


def test_restore_is_refused_to_viewer(app: Flask, operator: Visitor, database: Database) -> None:
    save(operator, route_path(database), base_fee="7", base_fee_unit="smallest")
    record = last_record(database).id
    viewer = signed_in(app, Role.VIEWER)
    assert "Restore" not in viewer.get("/admin/history/?subject=route+of+USDT+from+1+to+56").text
    assert "Restore" not in viewer.get(f"/admin/audit/{record}").text
    assert viewer.get(f"/admin/routes/restore/{record}/0").status_code == 403
    assert operator.get(f"/admin/chains/restore/{record}/0").status_code == 404, "a record of another section"
    assert operator.get("/admin/routes/restore/9999/0").status_code == 404


def test_past_configuration_is_shown(operator: Visitor, database: Database, clock: MovableClock) -> None:
    then = json.loads(export_network(database))
    clock.forward(minutes=10)
    save(operator, route_path(database), base_fee="7", base_fee_unit="smallest")
    save(operator, "/admin/route_blocks/new", **NEW["route_blocks"])
    block = shown(database, "route_blocks", "USDT", 10, 56).row_id
    send(operator, f"/admin/route_blocks/{block}/remove", confirm="1")
    clock.forward(minutes=10)
    save(operator, "/admin/chains/1", name="Mainnet")
    at = f"{NOW:%Y-%m-%d} 12:05"
    page = operator.get("/admin/history/at", query_string={"time": at}).text
    assert "<strong>4</strong> rows differ" in page
    assert "Mainnet" in page
    assert "not certain" not in page
    assert operator.get("/admin/history/at.json", query_string={"time": at}).get_json() == then
    later = operator.get("/admin/history/at.json", query_string={"time": f"{NOW:%Y-%m-%d} 12:15"}).get_json()
    assert (later["chains"][0]["name"], later["routes"][0]["base_fee"]) == ("Ethereum", "7")
    assert later["route_blocks"] == [document(database)["route_blocks"][0]]
    before_all = operator.get("/admin/history/at.json", query_string={"time": "2020-01-01"}).get_json()
    assert before_all["chains"] == []
    for wrong in ("yesterday", "2999-01-01", "2026-13-01"):
        assert "message-warning" in operator.get("/admin/history/at", query_string={"time": wrong}).text
        assert operator.get("/admin/history/at.json", query_string={"time": wrong}).status_code == 404


def test_change_past_the_log_is_reported(operator: Visitor, database: Database, clock: MovableClock) -> None:
    clock.forward(minutes=1)
    save(operator, route_path(database), base_fee="7", base_fee_unit="smallest")
    with database.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE routes SET base_fee_max_age_seconds = 5")
    page = operator.get("/admin/history/at", query_string={"time": f"{NOW:%Y-%m-%dT%H:%M:%SZ}"}).text
    assert "may be wrong: route of USDT from 1 to 56" in page


def test_time_before_the_log_is_refused(
    operator: Visitor, audited: Audited, clock: MovableClock, tmp_path: Path
) -> None:
    """What was archived cannot be taken back, so what is left of the log would show later values."""
    clock.forward(minutes=10)
    save(operator, "/admin/chains/1", name="Mainnet")
    clock.forward(minutes=10)
    archive_audit(*audited, NOW + timedelta(minutes=15), tmp_path / "archive", actor=TESTER)
    save(operator, "/admin/chains/1", name="Main")
    before = {"time": f"{NOW:%Y-%m-%d} 12:05"}
    page = operator.get("/admin/history/at", query_string=before).text
    assert "The audit log goes back to" in page
    assert "differs" not in page
    assert operator.get("/admin/history/at.json", query_string=before).status_code == 404
    assert operator.get("/admin/document/at", query_string=before).status_code == 302
    clock.forward(minutes=10)
    after = {"time": f"{NOW:%Y-%m-%d} 12:21"}
    assert (
        operator.get("/admin/history/at.json", query_string=after).get_json()["chains"][0]["name"] == "Main"
    )


def test_reason_is_never_cut(operator: Visitor, database: Database) -> None:
    why = "n" * 500
    save(operator, "/admin/blocked_networks/new", text="198.51.100.0/24", reason="r" * 1000)
    save(operator, f"/admin/blocked_networks/{shown(database, 'blocked_networks', '198.51.100.0/24').row_id}",
         reason="s" * 1000, change_reason=why)  # fmt: skip
    detail = last_record(database).detail
    assert len(detail) <= 1000
    assert detail.endswith(f"; note: {why}")


FEES = "/admin/routes/base-fees"


def undo_page(database: Database) -> str:
    return f"/admin/history/undo/{last_record(database).id}"


def double_fees(visitor: Visitor) -> None:
    save(visitor, FEES, dst_chain_id="56", symbol="", how="factor", factor="2", change_reason="gas is dear")


def test_all_rows_are_restored_together(operator: Visitor, database: Database) -> None:
    before = document(database)
    double_fees(operator)
    doubled, record = document(database), last_record(database)
    assert doubled != before
    path = undo_page(database)
    assert f'<a class="button" href="{path}">Undo</a>' in operator.get(f"/admin/audit/{record.id}").text
    preview = operator.get(path)
    assert f"Undo record {record.id}?" in preview.text
    assert "USDT from Ethereum to BNB Chain" in preview.text
    assert document(database) == doubled
    done = operator.post(path, form_of(preview) | {"confirm": "1", "change_reason": "too much"})
    made = last_record(database)
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
    later, changed = last_record(database), document(database)
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
    save(operator, path, **NEW["tokens"])
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


def test_guarded_rows_are_proposed(app: Flask, database: Database, operator: Visitor) -> None:
    before = document(database)
    double_fees(operator)
    doubled, path = document(database), undo_page(database)
    add_part(app, TwoPersons, TwoPersons(frozenset({"routes"})))
    preview = operator.get(path)
    assert "Propose to undo record" in preview.text
    proposed = operator.post(path, form_of(preview) | {"confirm": "1", "change_reason": "too much"})
    assert proposed.location == "/admin/proposals/1"
    assert document(database) == doubled
    second = signed_in(app, Role.ADMIN)
    assert "USDT from Ethereum to BNB Chain" in second.get(proposed.location).text
    second.post(f"{proposed.location}/approve")
    assert document(database) == before
    shown_text = last_record(database).detail
    assert "approved by admin@example.org (proposal 1): undo record" in shown_text


def test_only_operators_undo_network_changes(app: Flask, network: Flask, database: Database) -> None:
    double_fees(signed_in(app, Role.OPERATOR))
    path, viewer = undo_page(database), signed_in(app, Role.VIEWER)
    assert viewer.get(path).status_code == 403
    assert path not in viewer.get(f"/admin/audit/{last_record(database).id}").text
    sign_in = next(row.id for row in records(database) if row.action == "sign_in")
    other = visitor_of(app, "operator@example.org")
    for missing in (sign_in, 999):
        assert other.get(f"/admin/history/undo/{missing}").status_code == 404
    assert "/admin/history/undo/" not in other.get(f"/admin/audit/{sign_in}").text
