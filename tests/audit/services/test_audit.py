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

from app.audit.keys import AuditKeys, AuditKeyUnusable
from app.audit.models import AuditRecord
from app.audit.rules.records import Actor, AuditedChange, Source, key_id
from app.audit.services import (
    AuditFilter,
    export_audit,
    list_audit,
    record,
    record_separately,
    show_audit,
)
from app.audit.verification import verify_audit
from app.db.engine import reading, writing
from app.feed.services.ingest import ingest_lines
from app.feed.services.reprojection import replay
from app.feed.services.retract import retract_ids
from app.network.document import export_network, import_network
from app.sandbox.services import ensure_sandbox, load_sandbox
from tests.actors import TESTER
from tests.audit.services.recorded import last, rows
from tests.gateway import Gateway, current_gateway, parts
from tests.network.services.network_kit import changed, network, text

NOON = datetime(2026, 11, 20, 12, 0, 0, 123456, tzinfo=UTC)
ALICE = Actor("alice@example.org", Source.CONSOLE, "192.0.2.7")
OLD_KEY, NEW_KEY = "o" * 32, "n" * 32


@pytest.fixture
def gateway(app: Flask) -> Gateway:
    return current_gateway().but(clock=lambda: NOON)


def with_keys(gateway: Gateway, present: str, *old: str) -> Gateway:
    return gateway.but(audit_keys=AuditKeys(present, old, Path("/nowhere/audit_key")))


def write(gateway: Gateway, count: int) -> None:
    for n in range(count):
        record_separately(*gateway.audited, ALICE, "test.deed", f"subject {n}", detail=f"deed {n}")


def tamper(gateway: Gateway, *statements: Any) -> None:
    with writing(gateway.engine) as connection:
        for statement in statements:
            connection.execute(statement)


def edit(record_id: int, **values: Any) -> Any:
    return update(AuditRecord).where(AuditRecord.id == record_id).values(values)


def drop(record_id: int) -> Any:
    return delete(AuditRecord).where(AuditRecord.id == record_id)


def test_an_untouched_log_verifies(gateway: Gateway) -> None:
    assert verify_audit(*gateway.audited).count == 0
    write(gateway, 5)
    found = verify_audit(*gateway.audited)
    assert (found.count, found.fault) == (5, None)
    assert found.head == f"5:{rows(gateway)[-1].mac.hex()}"


def test_more_records_than_a_chunk_verify(gateway: Gateway) -> None:
    with writing(gateway.engine) as connection:
        for n in range(230):
            record(connection, gateway.audit_keys, ALICE, "test.deed", str(n), now=NOON)
    assert verify_audit(*gateway.audited).count == 230
    tamper(gateway, edit(101, subject="x"))
    assert verify_audit(*gateway.audited).count == 100


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
def test_a_changed_field_is_found(gateway: Gateway, field: str) -> None:
    write(gateway, 4)
    tamper(gateway, edit(3, **{field: FIELDS[field]}))
    found = verify_audit(*gateway.audited)
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
    gateway: Gateway, statements: list[Any], count: int, fault: str
) -> None:
    write(gateway, 4)
    tamper(gateway, *statements)
    found = verify_audit(*gateway.audited)
    assert found.count == count
    assert (found.fault or "").startswith(fault)


def test_an_inserted_record_is_found(gateway: Gateway) -> None:
    """Also one that is sealed like the others, by who has no key but their own."""
    write(gateway, 2)
    forger = replace(with_keys(gateway, "f" * 32))
    write(forger, 1)
    tamper(gateway, edit(3, key_id=key_id(gateway.audit_keys.present)))
    assert (verify_audit(*gateway.audited).fault or "").startswith("record 3 does not match")


def test_a_record_of_another_past_is_found(gateway: Gateway) -> None:
    """One that was sealed with the key and has its number, but followed something else."""
    write(gateway, 3)
    kept = dict(rows(gateway)[2]._mapping)
    tamper(gateway, drop(3), drop(2))
    record_separately(*gateway.audited, ALICE, "test.deed", "something else")
    tamper(gateway, insert(AuditRecord).values(kept))
    assert (verify_audit(*gateway.audited).fault or "").startswith("record 3 does not match")


def test_noted_head_reveals_cut_tail(gateway: Gateway) -> None:
    write(gateway, 3)
    noted = {row.id: row.mac for row in rows(gateway)}
    tamper(gateway, drop(3))
    assert verify_audit(*gateway.audited).fault is None
    assert "records were removed at the end" in (verify_audit(*gateway.audited, noted).fault or "")
    write(gateway, 1)
    assert "rewritten" not in (verify_audit(*gateway.audited, {2: noted[2]}).fault or "")
    # The same deed at the same time gives the same record; another one shows.
    tamper(gateway, drop(3))
    record_separately(*gateway.audited, ALICE, "test.deed", "something else")
    assert "record 3 does not match the given head" in (verify_audit(*gateway.audited, noted).fault or "")


def test_keys_follow_each_other(gateway: Gateway) -> None:
    write(with_keys(gateway, OLD_KEY), 2)
    write(with_keys(gateway, NEW_KEY, OLD_KEY), 2)
    assert verify_audit(*parts(with_keys(gateway, NEW_KEY, OLD_KEY), "database", "audit_keys")).count == 4
    without = verify_audit(*parts(with_keys(gateway, NEW_KEY), "database", "audit_keys"))
    assert (without.fault or "").startswith("record 1 was sealed with the key")
    write(with_keys(gateway, OLD_KEY), 1)
    stale = verify_audit(*parts(with_keys(gateway, NEW_KEY, OLD_KEY), "database", "audit_keys"))
    assert (stale.fault or "").startswith("record 5 was sealed with an older key")


def test_key_is_made_outside_the_database(gateway: Gateway, tmp_path: Path) -> None:
    file = tmp_path / "deep" / "audit_key"
    gateway = gateway.but(audit_keys=AuditKeys("", (), file))
    assert not file.exists()
    write(gateway, 1)
    assert file.stat().st_mode & 0o777 == 0o600
    assert (
        verify_audit(*parts(gateway.but(audit_keys=AuditKeys("", (), file)), "database", "audit_keys")).count
        == 1
    )
    assert (
        verify_audit(*parts(with_keys(gateway, file.read_text().strip()), "database", "audit_keys")).count
        == 1
    )
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


def test_without_a_key_nothing_is_changed(gateway: Gateway, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    gateway = gateway.but(audit_keys=AuditKeys("", (), tmp_path / "file" / "audit_key"))
    with pytest.raises(AuditKeyUnusable, match="AUDIT_KEY is not set, and"):
        import_network(*gateway.editing, text(network()), actor=TESTER)
    with reading(gateway.engine) as connection:
        assert connection.scalar(select(func.count()).select_from(AuditRecord)) == 0
    assert json.loads(export_network(gateway.database))["chains"] == []


def test_a_change_that_fails_leaves_no_record(gateway: Gateway, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "app.services.audit.record")
    with pytest.raises(RuntimeError), writing(gateway.engine) as connection:
        record(connection, gateway.audit_keys, ALICE, "test.deed", "x", now=NOON)
        raise RuntimeError
    assert rows(gateway) == []
    assert caplog.messages == []
    write(gateway, 1)
    assert caplog.messages == [f"audit head 1:{rows(gateway)[0].mac.hex()} test.deed by {ALICE.name}"]


def test_writers_at_once_make_one_chain(gateway: Gateway) -> None:
    threads = [threading.Thread(target=write, args=(gateway, 5)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert verify_audit(*gateway.audited).count == 20


def test_unstorable_texts_are_kept_altered(gateway: Gateway) -> None:
    """Of what a database cannot keep."""
    odd = Actor("a\0b\ud800" + "x" * 300, Source.CONSOLE, "1" * 100)
    record_separately(*gateway.audited, odd, "sign_in.failed", "s" * 300, detail="d" * 2000)
    (row,) = rows(gateway)
    assert row.actor.startswith("a\N{REPLACEMENT CHARACTER}b?xxx")
    assert (len(row.actor), len(row.address), len(row.subject), len(row.detail)) == (255, 64, 256, 1000)
    assert verify_audit(*gateway.audited).fault is None


def test_pages_filters_and_export(gateway: Gateway) -> None:
    for n, action in enumerate(["network.edit", "network.import", "networks", "sign_in"], 1):
        later = gateway.but(clock=lambda n=n: NOON + timedelta(hours=n))
        record_separately(*later.audited, ALICE if n % 2 else TESTER, action, f"s{n}")

    def ids(**wanted: Any) -> list[int]:
        return [row.id for row in list_audit(gateway.database, AuditFilter(**wanted))]

    assert ids() == [4, 3, 2, 1]
    assert ids(action="network") == [2, 1]
    assert ids(action="network.edit") == [1]
    assert ids(actor=ALICE.name) == [3, 1]
    assert ids(subject="s4") == [4]
    assert ids(since=NOON + timedelta(hours=2), until=NOON + timedelta(hours=4)) == [3, 2]
    assert [row.id for row in list_audit(gateway.database, before=4, limit=2)] == [3, 2]
    lines = [json.loads(line) for line in export_audit(gateway.database, AuditFilter(actor=ALICE.name))]
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
        "mac": rows(gateway)[0].mac.hex(),
        "key_id": key_id(gateway.audit_keys.present),
    }


def test_part_of_name_finds_every_row(gateway: Gateway) -> None:
    routes = [AuditedChange(f"route {token} 1 -> 56", None, {}) for token in ("USDC", "USDT")]
    with writing(gateway.engine) as connection:
        for subject, changes in (("2 routes", routes), ("chain 5", []), ("chain 56", [])):
            keys = gateway.audit_keys
            record(connection, keys, ALICE, "network.edit", subject, now=NOON, changes=changes)

    def ids(**wanted: Any) -> list[int]:
        return [row.id for row in list_audit(gateway.database, AuditFilter(**wanted))]

    assert ids(subject="usdc") == [1]
    assert ids(subject="USDT 1") == [1]
    assert ids(subject="56") == [3, 1]
    assert ids(subject="chain 5") == [3, 2]
    assert ids(subject='"Chain 5"') == [2]
    assert ids(subject="2 routes") == [1]
    assert ids(subject="_") == [], "no wildcard of the database"
    assert ids(actor="ALICE@") == [3, 2, 1]
    assert [
        json.loads(line)["id"] for line in export_audit(gateway.database, AuditFilter(subject="usdc"))
    ] == [1]


def test_import_is_one_record(gateway: Gateway) -> None:
    import_network(*gateway.editing, text(network()), actor=ALICE)
    import_network(*gateway.editing, text(network()), actor=ALICE)
    import_network(*gateway.editing, text(changed("chains.0.disabled", True)), actor=ALICE, dry_run=True)
    assert len(rows(gateway)) == 1
    row, changes = last(gateway)
    assert (row.actor, row.source, row.address) == (ALICE.name, "console", "192.0.2.7")
    assert (row.action, row.subject, row.at) == ("network.import", "network document", NOON)
    assert row.detail == f"{len(changes)} added, 0 changed, 0 removed"
    assert {"subject": "chain 1", "before": None, "after": network()["chains"][0]} in changes

    import_network(*gateway.editing, text(changed("chains.0.disabled", True)), actor=TESTER)
    entry = show_audit(gateway.database, 2)
    assert entry is not None
    assert entry.record.detail == "changed chain 1: stopped"
    before = network()["chains"][0]
    assert entry.changes == (AuditedChange("chain 1", before, before | {"disabled": True}),)
    assert show_audit(gateway.database, 3) is None


def chain_head(event_id: str) -> bytes:
    event = {"id": event_id, "type": "chain.head", "at": NOON.isoformat(), "chain_id": 1, "block": 5}
    return json.dumps(event).encode()


def test_commands_on_the_log_are_recorded(gateway: Gateway) -> None:
    ingest_lines(gateway.database, gateway.intake, [chain_head("a"), chain_head("b")], "cli")
    ids = retract_ids(*gateway.audited, ["a", "b"], "wrong node", actor=TESTER)
    row, changes = last(gateway)
    recorded = (row.action, row.subject, row.detail)
    assert recorded == ("events.retract", "2 events", "retracted 2 events: wrong node")
    assert changes[0]["after"] == {
        "events": ["a", "b"],
        "subjects": ["chain:1", "chain:1"],
        "retractions": ids,
        "reason": "wrong node",
    }
    replay(*gateway.audited, actor=TESTER)
    assert last(gateway)[0].action == "events.replay"


def test_the_sandbox_is_recorded(gateway: Gateway) -> None:
    load_sandbox(*gateway.audited, gateway.intake, actor=TESTER)
    row, changes = last(gateway)
    assert (row.id, row.action) == (1, "sandbox.load")
    assert len(changes) > 20
    again = ensure_sandbox(*gateway.audited, gateway.intake, actor=TESTER)
    assert (again, len(rows(gateway))) == ("sandbox is up to date", 1)
    week_later = gateway.but(clock=lambda: NOON + timedelta(days=7))
    ensure_sandbox(*week_later.audited, week_later.intake, actor=TESTER)
    assert last(gateway)[0].action == "sandbox.freshen"
