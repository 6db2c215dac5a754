"""Rows and their history, earlier versions restored, and the configuration as it was at a time."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import delete

from app.accounts.rules.roles import Role
from app.audit.models import AuditRecord, AuditSubject
from app.audit.verification import archive_audit
from app.db.database import Database
from app.db.engine import writing
from app.network.document import export_network, import_network
from tests.actors import TESTER
from tests.applications import Audited, Editing
from tests.console.edits import CHANGES, NEW, key_of_last, new_page
from tests.console.forms import EVERYTHING, form_of, save, send
from tests.console.visitor import NOW, MovableClock, Visitor, add_account, signed_in
from tests.network.services.edits.kit import document, records, shown
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
    preview = send(operator, fees, dst_chain_id="56", symbol="", how="factor", factor="3")
    send(operator, fees, preview, confirm="1", change_reason="gas is dear")
    history = "/admin/history/?subject=route+of+USDT+from+1+to+56"
    assert history.replace("+", "%20") in operator.get(path).text.replace("+", "%20")
    page = operator.get(history).text
    assert page.count(">Restore this version<") == 2, "of the import and the first edit, not of what stands"
    assert "agreed with the treasury" in page
    assert "gas is dear" in page, "a change of many is in the history of each row"
    assert path in page
    record = last_record(database)
    assert record.detail.startswith("set base fees of ")
    told = operator.get(f"/admin/audit/{record.id}").text
    assert f"/admin/history/record/{record.id}/0" in told
    assert "Restore previous values" in told
    number = next(n for n, c in enumerate(json.loads(record.changes)) if "from 1 to 56" in c["subject"])
    assert operator.get(f"/admin/history/record/{record.id}/{number}").location == path
    for nowhere in (
        "/admin/history/?subject=chain+77",
        "/admin/history/",
        f"/admin/history/record/{record.id}/99",
    ):
        assert operator.get(nowhere).status_code == 404


@pytest.mark.parametrize("section", NEW)
def test_row_before_the_log_is_shown(operator: Visitor, database: Database, section: str) -> None:
    path = new_page(section)
    send(operator, path, send(operator, path, **NEW[section]), confirm="1")
    row = f"/admin/{section}/{key_of_last(database, section)}"
    subject = json.loads(last_record(database).changes)[0]["subject"]
    with writing(database.engine) as connection:
        connection.execute(delete(AuditSubject))
        connection.execute(delete(AuditRecord))
    page = operator.get("/admin/history/", query_string={"subject": subject})
    assert page.status_code == 200
    assert "No change of it is on record" in page.text
    assert row in page.text
    assert "This row was removed" not in page.text
    for nowhere in ({"subject": f"{subject}9"}, {"subject": subject, "before": "1"}):
        assert operator.get("/admin/history/", query_string=nowhere).status_code == 404, nowhere


@pytest.mark.parametrize("number", ["٣", "9" * 30, "x"])
def test_unknown_chain_has_no_history(operator: Visitor, number: str) -> None:
    assert operator.get("/admin/history/", query_string={"subject": f"chain {number}"}).status_code == 404


def test_records_link_accounts_and_tokens(app: Flask, network: Flask, database: Database) -> None:
    admin = signed_in(app, Role.ADMIN)
    admin.post("/admin/ingest_tokens/new", EVERYTHING | {"name": "relayer"})
    by_action = {row.action: row.id for row in records(database)}
    page = admin.get(f"/admin/audit/{by_action['sign_in']}").text
    assert '<a href="/admin/operators/1">operator admin@example.org</a>' in page
    page = admin.get(f"/admin/audit/{by_action['ingest_token.create']}").text
    assert '<a href="/admin/ingest_tokens/?search=relayer">' in page
    viewer = signed_in(app, Role.VIEWER)
    assert "/admin/operators/1" not in viewer.get(f"/admin/audit/{by_action['sign_in']}").text


def test_a_version_is_restored_through_the_preview(operator: Visitor, database: Database) -> None:
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


@pytest.mark.parametrize("section", NEW)
def test_removed_row_is_restored(operator: Visitor, database: Database, section: str) -> None:
    path = new_page(section)
    send(operator, path, send(operator, path, **NEW[section]), confirm="1")
    row = f"/admin/{section}/{key_of_last(database, section)}"
    save(operator, row, **CHANGES[section][0])
    changed = document(database)[section][-1]
    send(operator, f"{row}/remove", confirm="1")
    removal = last_record(database)
    subject = json.loads(removal.changes)[0]["subject"]
    page = operator.get("/admin/history/", query_string={"subject": subject})
    assert "This row was removed" in page.text
    restore = f"/admin/{section}/restore/{removal.id}/0?before=1"
    assert restore.replace("&", "&amp;") in operator.get(f"/admin/audit/{removal.id}").text
    preview = operator.get(restore)
    assert "Added" in preview.text, preview.text
    typed = CHANGES[section][0].get("typed", "")
    assert send(operator, restore, preview, confirm="1", typed=typed).status_code == 302
    assert document(database)[section][-1] == changed
    added = f"/admin/{section}/restore/{removal.id}/0"
    assert "/remove" in operator.get(added).location, "a version without the row is its removal"


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


def test_a_pool_keeps_its_opening_values(operator: Visitor, database: Database, editing: Editing) -> None:
    rows = small_network()
    rows["pools"][0] = pool(1, added="9")
    import_network(*editing, text(rows), actor=TESTER)
    path = f"/admin/pools/{shown(database, 'pools', 1, 'USDT').row_id}"
    save(operator, path, total_cap="5")
    send(operator, f"/admin/pools/restore/{last_record(database).id}/0?before=1", confirm="1")
    assert document(database)["pools"][0] == rows["pools"][0]


def test_viewer_and_proposal_offer_no_restore(app: Flask, operator: Visitor, database: Database) -> None:
    save(operator, route_path(database), base_fee="7", base_fee_unit="smallest")
    record = last_record(database).id
    viewer = signed_in(app, Role.VIEWER)
    assert "Restore" not in viewer.get("/admin/history/?subject=route+of+USDT+from+1+to+56").text
    assert "Restore" not in viewer.get(f"/admin/audit/{record}").text
    assert viewer.get(f"/admin/routes/restore/{record}/0").status_code == 403
    assert operator.get(f"/admin/chains/restore/{record}/0").status_code == 404, "a record of another section"
    assert operator.get("/admin/routes/restore/9999/0").status_code == 404


def test_change_applies_to_current_values(app: Flask, operator: Visitor, database: Database) -> None:
    add_account(app, Role.OPERATOR, "second@example.org")
    second = Visitor(app)
    second.sign_in("second@example.org")
    form = second.get("/admin/chains/1")
    save(operator, "/admin/chains/1", block_delay="99")
    conflict = send(second, "/admin/chains/1", form, name="Mainnet")
    assert "Apply my change to the current values" in conflict.text
    mine = form_of(conflict)
    assert mine["name"] == "Mainnet"
    assert "block_delay" not in mine, "theirs stays"
    preview = second.post("/admin/chains/1", mine)
    assert second.post("/admin/chains/1", form_of(preview) | {"confirm": "1"}).status_code == 302
    chain = document(database)["chains"][0]
    assert (chain["name"], chain["block_delay"]) == ("Mainnet", 99)


def test_the_configuration_as_it_was(operator: Visitor, database: Database, clock: MovableClock) -> None:
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
    assert operator.get("/admin/history/at.json", query_string={"time": at}).json == then
    later = operator.get("/admin/history/at.json", query_string={"time": f"{NOW:%Y-%m-%d} 12:15"}).json
    assert (later["chains"][0]["name"], later["routes"][0]["base_fee"]) == ("Ethereum", "7")
    assert later["route_blocks"] == [document(database)["route_blocks"][0]]
    before_all = operator.get("/admin/history/at.json", query_string={"time": "2020-01-01"}).json
    assert before_all["chains"] == []
    for wrong in ("yesterday", "2999-01-01", "2026-13-01"):
        assert "message-warning" in operator.get("/admin/history/at", query_string={"time": wrong}).text
        assert operator.get("/admin/history/at.json", query_string={"time": wrong}).status_code == 404


def test_a_change_past_the_log_is_told(operator: Visitor, database: Database, clock: MovableClock) -> None:
    clock.forward(minutes=1)
    save(operator, route_path(database), base_fee="7", base_fee_unit="smallest")
    with database.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE routes SET base_fee_max_age_seconds = 5")
    page = operator.get("/admin/history/at", query_string={"time": f"{NOW:%Y-%m-%dT%H:%M:%SZ}"}).text
    assert "may be wrong: route of USDT from 1 to 56" in page


def test_a_time_before_the_log_is_refused(
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
    assert operator.get("/admin/history/at.json", query_string=after).json["chains"][0]["name"] == "Main"


def test_a_reason_is_never_cut(operator: Visitor, database: Database) -> None:
    why = "n" * 500
    save(operator, "/admin/blocked_networks/new", text="198.51.100.0/24", reason="r" * 1000)
    save(operator, f"/admin/blocked_networks/{shown(database, 'blocked_networks', '198.51.100.0/24').row_id}",
         reason="s" * 1000, change_reason=why)  # fmt: skip
    detail = last_record(database).detail
    assert len(detail) <= 1000
    assert detail.endswith(f"; note: {why}")
