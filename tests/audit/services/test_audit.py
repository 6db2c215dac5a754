"""The audit log: every change is in it, nothing secret is, and a broken chain shows where it broke."""

from __future__ import annotations

import json
import logging
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from msgspec.structs import replace
from sqlalchemy import delete, func, insert, select, update

from app.accounts.rules.two_persons import TwoPersons
from app.audit.keys import AuditKeys, AuditKeyUnusable
from app.audit.models import AuditRecord
from app.audit.rules.records import HEADS_LOGGER, Actor, AuditedChange, AuditFilter, Source, key_id
from app.audit.services import export_audit, list_audit, record, record_separately, show_audit
from app.audit.verification import verify_audit
from app.db.database import Database
from app.db.engine import reading, writing
from app.feed.services.ingest import Intake, ingest_lines
from app.feed.services.reprojection import replay
from app.feed.services.retract import retract_ids
from app.network.document import export_network, import_network
from app.sandbox.services import ensure_sandbox
from tests.actors import TESTER
from tests.applications import Audited, Editing, change_part
from tests.audit.services.recorded import last, rows
from tests.network.services.network_kit import changed, network, text
from tests.sandboxes import load_into

NOON = datetime(2026, 11, 20, 12, 0, 0, 123456, tzinfo=UTC)
ALICE = Actor("alice@example.org", Source.CONSOLE, "192.0.2.7")
OLD_KEY, NEW_KEY = "o" * 32, "n" * 32


@pytest.fixture
def app(app: Flask) -> Flask:
    change_part(app, Database, clock=lambda: NOON)
    return app


def keys(present: str, *old: str) -> AuditKeys:
    return AuditKeys(present, old, Path("/nowhere/audit_key"))


def write(audited: Audited, count: int) -> None:
    for n in range(count):
        record_separately(*audited, ALICE, "test.action", f"subject {n}", detail=f"action {n}")


def tamper(database: Database, *statements: Any) -> None:
    with writing(database.engine) as connection:
        for statement in statements:
            connection.execute(statement)


def edit(record_id: int, **values: Any) -> Any:
    return update(AuditRecord).where(AuditRecord.id == record_id).values(values)


def drop(record_id: int) -> Any:
    return delete(AuditRecord).where(AuditRecord.id == record_id)


def test_untouched_log_verifies(database: Database, audited: Audited) -> None:
    assert verify_audit(*audited).count == 0
    write(audited, 5)
    found = verify_audit(*audited)
    assert (found.count, found.fault) == (5, None)
    assert found.head == f"5:{rows(database)[-1].mac.hex()}"


@pytest.mark.one_database
def test_more_records_than_a_chunk_verify(
    database: Database, audit_keys: AuditKeys, audited: Audited
) -> None:
    with writing(database.engine) as connection:
        for n in range(230):
            record(connection, audit_keys, ALICE, "test.action", str(n), now=NOON)
    assert verify_audit(*audited).count == 230
    tamper(database, edit(101, subject="x"))
    assert verify_audit(*audited).count == 100


FIELDS = {
    "at": NOON + timedelta(microseconds=1),
    "actor": "mallory@example.org",
    "source": "cli",
    "address": None,
    "action": "test.other",
    "subject": "another",
    "detail": "",
    "changes": '[{"subject": "x", "before": null, "after": null}]',
    "mac": bytes(32),
}


@pytest.mark.parametrize("field", FIELDS)
def test_changed_field_is_found(database: Database, audited: Audited, field: str) -> None:
    write(audited, 4)
    tamper(database, edit(3, **{field: FIELDS[field]}))
    found = verify_audit(*audited)
    assert found.count == 2
    assert found.fault is not None
    assert found.fault.startswith("record 3 does not match")


def test_every_field_but_the_id_is_tried() -> None:
    assert {*FIELDS, "id", "key_id"} == {column.name for column in AuditRecord.__table__.c}


@pytest.mark.parametrize(
    ("statements", "count", "fault"),
    [
        ([drop(1)], 0, "record 1 is missing"),
        ([drop(3)], 2, "record 3 is missing; record 4 follows record 2"),
        ([drop(3), edit(4, id=3)], 2, "record 3 does not match"),
        ([edit(2, id=99), edit(3, id=2), edit(99, id=3)], 1, "record 2 does not match"),
        ([edit(4, key_id="0123456789ab")], 3, "record 4 was sealed with the key 0123456789ab"),
    ],
)
def test_removed_and_moved_records_are_found(
    database: Database, audited: Audited, statements: list[Any], count: int, fault: str
) -> None:
    write(audited, 4)
    tamper(database, *statements)
    found = verify_audit(*audited)
    assert found.count == count
    assert (found.fault or "").startswith(fault)


def test_inserted_record_is_found(database: Database, audit_keys: AuditKeys, audited: Audited) -> None:
    """Also one that is sealed like the others, with another key."""
    write(audited, 2)
    write((database, keys("f" * 32)), 1)
    tamper(database, edit(3, key_id=key_id(audit_keys.present)))
    assert (verify_audit(*audited).fault or "").startswith("record 3 does not match")


def test_record_of_another_past_is_found(database: Database, audited: Audited) -> None:
    """One that was sealed with the key and has its number, but followed something else."""
    write(audited, 3)
    removed = dict(rows(database)[2]._mapping)
    tamper(database, drop(3), drop(2))
    record_separately(*audited, ALICE, "test.action", "something else")
    tamper(database, insert(AuditRecord).values(removed))
    assert (verify_audit(*audited).fault or "").startswith("record 3 does not match")


def test_noted_head_reveals_cut_tail(database: Database, audited: Audited) -> None:
    write(audited, 3)
    noted = {row.id: row.mac for row in rows(database)}
    tamper(database, drop(3))
    assert verify_audit(*audited).fault is None
    assert "somebody removed records at the end" in (verify_audit(*audited, noted).fault or "")
    write(audited, 1)
    assert "rewritten" not in (verify_audit(*audited, {2: noted[2]}).fault or "")
    # The same action at the same time gives the same record; another one shows.
    tamper(database, drop(3))
    record_separately(*audited, ALICE, "test.action", "something else")
    assert "record 3 does not match the given head" in (verify_audit(*audited, noted).fault or "")


def test_keys_follow_each_other(database: Database) -> None:
    write((database, keys(OLD_KEY)), 2)
    write((database, keys(NEW_KEY, OLD_KEY)), 2)
    assert verify_audit(database, keys(NEW_KEY, OLD_KEY)).count == 4
    without = verify_audit(database, keys(NEW_KEY))
    assert (without.fault or "").startswith("record 1 was sealed with the key")
    write((database, keys(OLD_KEY)), 1)
    stale = verify_audit(database, keys(NEW_KEY, OLD_KEY))
    assert (stale.fault or "").startswith("record 5 was sealed with an older key")


def test_key_is_made_outside_the_database(database: Database, tmp_path: Path) -> None:
    file = tmp_path / "deep" / "audit_key"
    audit_keys = AuditKeys("", (), file)
    assert not file.exists()
    write((database, audit_keys), 1)
    assert file.stat().st_mode & 0o777 == 0o600
    assert verify_audit(database, AuditKeys("", (), file)).count == 1
    assert verify_audit(database, keys(file.read_text().strip())).count == 1
    assert [path.name for path in file.parent.iterdir()] == ["audit_key"]


def test_concurrent_processes_agree_on_key(tmp_path: Path) -> None:
    file, start, seen = tmp_path / "audit_key", threading.Barrier(8), []

    def make() -> None:
        start.wait()
        seen.append(AuditKeys("", (), file).present)

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 8
    assert len(set(seen)) == 1


def test_nothing_is_changed_without_key(database: Database, two_persons: TwoPersons, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    audit_keys = AuditKeys("", (), tmp_path / "file" / "audit_key")
    with pytest.raises(AuditKeyUnusable, match="AUDIT_KEY is not set, and"):
        import_network(database, audit_keys, two_persons, text(network()), actor=TESTER)
    with reading(database.engine) as connection:
        assert connection.scalar(select(func.count()).select_from(AuditRecord)) == 0
    assert json.loads(export_network(database))["chains"] == []


def test_change_that_fails_leaves_no_record(
    database: Database, audit_keys: AuditKeys, audited: Audited, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, HEADS_LOGGER)
    with pytest.raises(RuntimeError), writing(database.engine) as connection:
        record(connection, audit_keys, ALICE, "test.action", "x", now=NOON)
        raise RuntimeError
    assert rows(database) == []
    assert caplog.messages == []
    write(audited, 1)
    assert caplog.messages == [f"audit head 1:{rows(database)[0].mac.hex()} test.action by {ALICE.name}"]


def test_concurrent_audit_writes_form_one_chain(audited: Audited) -> None:
    threads = [threading.Thread(target=write, args=(audited, 5)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert verify_audit(*audited).count == 20


def test_unstorable_texts_are_stored_altered(database: Database, audited: Audited) -> None:
    """Characters that no database stores."""
    odd = Actor("a\0b\ud800" + "x" * 300, Source.CONSOLE, "1" * 100)
    record_separately(*audited, odd, "sign_in.failed", "s" * 300, detail="d" * 2000)
    (row,) = rows(database)
    assert row.actor.startswith("a\N{REPLACEMENT CHARACTER}b?xxx")
    assert (len(row.actor), len(row.address), len(row.subject), len(row.detail)) == (255, 64, 256, 1000)
    assert verify_audit(*audited).fault is None


def test_pages_filters_and_export(database: Database, audit_keys: AuditKeys) -> None:
    for n, action in enumerate(["network.edit", "network.import", "networks", "sign_in"], 1):
        later = replace(database, clock=lambda n=n: NOON + timedelta(hours=n))
        record_separately(later, audit_keys, ALICE if n % 2 else TESTER, action, f"s{n}")

    def ids(**wanted: Any) -> list[int]:
        return [row.id for row in list_audit(database, AuditFilter(**wanted))]

    assert ids() == [4, 3, 2, 1]
    assert ids(action="network") == [2, 1]
    assert ids(action="network.edit") == [1]
    assert ids(actor=ALICE.name) == [3, 1]
    assert ids(subject="s4") == [4]
    assert ids(since=NOON + timedelta(hours=2), until=NOON + timedelta(hours=4)) == [3, 2]
    assert [row.id for row in list_audit(database, before=4, limit=2)] == [3, 2]
    lines = [json.loads(line) for line in export_audit(database, AuditFilter(actor=ALICE.name))]
    assert [line["id"] for line in lines] == [1, 3]
    assert lines[0] == {
        "id": 1,
        "at": "2026-11-20T13:00:00.123456+00:00",
        "actor": "alice@example.org",
        "source": "console",
        "address": "192.0.2.7",
        "action": "network.edit",
        "subject": "s1",
        "detail": "",
        "changes": [],
        "mac": rows(database)[0].mac.hex(),
        "key_id": key_id(audit_keys.present),
    }


def test_part_of_name_finds_every_row(database: Database, audit_keys: AuditKeys) -> None:
    routes = [AuditedChange(f"route {token} 1 -> 56", None, {}) for token in ("USDC", "USDT")]
    with writing(database.engine) as connection:
        for subject, changes in (("2 routes", routes), ("chain 5", []), ("chain 56", [])):
            keys = audit_keys
            record(connection, keys, ALICE, "network.edit", subject, now=NOON, changes=changes)

    def ids(**wanted: Any) -> list[int]:
        return [row.id for row in list_audit(database, AuditFilter(**wanted))]

    assert ids(subject="usdc") == [1]
    assert ids(subject="USDT 1") == [1]
    assert ids(subject="56") == [3, 1]
    assert ids(subject="chain 5") == [3, 2]
    assert ids(subject='"Chain 5"') == [2]
    assert ids(subject="2 routes") == [1]
    assert ids(subject="_") == [], "no wildcard of the database"
    assert ids(actor="ALICE@") == [3, 2, 1]
    assert [json.loads(line)["id"] for line in export_audit(database, AuditFilter(subject="usdc"))] == [1]


def test_network_import_writes_one_audit_record(database: Database, editing: Editing) -> None:
    import_network(*editing, text(network()), actor=ALICE)
    import_network(*editing, text(network()), actor=ALICE)
    import_network(*editing, text(changed("chains.0.disabled", True)), actor=ALICE, dry_run=True)
    assert len(rows(database)) == 1
    row, changes = last(database)
    assert (row.actor, row.source, row.address) == (ALICE.name, "console", "192.0.2.7")
    assert (row.action, row.subject, row.at) == ("network.import", "network document", NOON)
    assert row.detail == f"{len(changes)} added, 0 changed, 0 removed"
    assert {"subject": "chain 1", "before": None, "after": network()["chains"][0]} in changes

    import_network(*editing, text(changed("chains.0.disabled", True)), actor=TESTER)
    entry = show_audit(database, 2)
    assert entry is not None
    assert entry.record.detail == "changed chain 1: stopped"
    before = network()["chains"][0]
    assert entry.changes == (AuditedChange("chain 1", before, before | {"disabled": True}),)
    assert show_audit(database, 3) is None


def chain_head(event_id: str) -> bytes:
    event = {"id": event_id, "type": "chain.head", "at": NOON.isoformat(), "chain_id": 1, "block": 5}
    return json.dumps(event).encode()


@pytest.mark.one_database
def test_commands_on_the_log_are_recorded(database: Database, intake: Intake, audited: Audited) -> None:
    ingest_lines(database, intake, [chain_head("a"), chain_head("b")], "cli")
    ids = retract_ids(*audited, ["a", "b"], "wrong node", actor=TESTER)
    row, changes = last(database)
    recorded = (row.action, row.subject, row.detail)
    assert recorded == ("events.retract", "2 events", "retracted 2 events: wrong node")
    assert changes[0]["after"] == {
        "events": ["a", "b"],
        "subjects": ["chain:1", "chain:1"],
        "retractions": ids,
        "reason": "wrong node",
    }
    replay(*audited, actor=TESTER)
    assert last(database)[0].action == "events.replay"


@pytest.mark.one_database
def test_sandbox_is_recorded(
    app: Flask, database: Database, intake: Intake, audit_keys: AuditKeys, audited: Audited
) -> None:
    load_into(app)
    row, changes = last(database)
    assert (row.id, row.action) == (1, "sandbox.load")
    assert len(changes) > 20
    working: list[str] = []
    again = ensure_sandbox(*audited, intake, actor=TESTER, working=working.append)
    assert (again, len(rows(database)), working) == ("sandbox is up to date", 1, [])
    week_later = replace(database, clock=lambda: NOON + timedelta(days=7))
    ensure_sandbox(week_later, audit_keys, intake, actor=TESTER, working=working.append)
    assert working == ["refreshing the sandbox"]
    assert last(database)[0].action == "sandbox.freshen"
