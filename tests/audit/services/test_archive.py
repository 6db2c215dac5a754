"""Archives of the audit log: the chain goes through them, and a run may end at any moment."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import delete, select, update

from app.audit import verification
from app.audit.models import AuditRecord, AuditSubject
from app.audit.rules.records import ARCHIVED, Actor, AuditedChange, Source
from app.audit.services import export_audit, record, record_separately
from app.audit.verification import ArchiveRefused, Verification, archive_audit, verify_audit
from app.db.engine import reading, writing
from tests.actors import TESTER
from tests.gateway import Gateway, current_gateway

NOON = datetime(2026, 11, 20, 12, 0, 0, 123456, tzinfo=UTC)
ALICE = Actor("älice\N{LINE SEPARATOR}@example.org", Source.CONSOLE, "192.0.2.7")


@pytest.fixture
def gateway(app: Flask) -> Gateway:
    """With records 1 to 3 of one day, 4 and 5 of the next."""
    today = current_gateway().but(clock=lambda: NOON)
    change = AuditedChange(
        "chain 1", {"id": 2**70, "name": "Ä\x7f", "on": True}, {"id": 1, "list": [None, {}]}
    )
    with writing(today.engine) as connection:
        record(connection, today.audit_keys, ALICE, "test.deed", "chain 1", now=NOON, changes=[change])
    write(today, 2)
    write(tomorrow(today), 2)
    return tomorrow(today)


def tomorrow(gateway: Gateway, days: int = 1) -> Gateway:
    return gateway.but(clock=lambda: NOON + timedelta(days=days))


def write(gateway: Gateway, count: int) -> None:
    for n in range(count):
        record_separately(*gateway.audited, ALICE, "test.deed", f"subject {n}", detail=f"deed {n}")


def archive(gateway: Gateway, file: Path, days: int = 1) -> Verification | None:
    return archive_audit(*gateway.audited, NOON + timedelta(days=days), file, actor=TESTER)


def ids(gateway: Gateway) -> list[int]:
    with reading(gateway.engine) as connection:
        subjects = set(connection.scalars(select(AuditSubject.record_id)))
        records = list(connection.scalars(select(AuditRecord.id).order_by(AuditRecord.id)))
    assert subjects == set(records)
    return records


def fault(gateway: Gateway, *files: Path) -> str:
    return verify_audit(*gateway.audited, archives=files).fault or ""


def test_the_chain_goes_through_the_archives(gateway: Gateway, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    exported = list(export_audit(gateway.database))
    before = verify_audit(*gateway.audited)
    assert archive(gateway, one) is not None
    assert one.read_bytes() == b"".join(exported[:3])
    assert one.stat().st_mode & 0o777 == 0o600
    assert ids(gateway) == [4, 5, 6]
    assert before.head.startswith("5:")
    noted = {5: bytes.fromhex(before.head.partition(":")[2])}
    short, whole = (verify_audit(*gateway.audited, noted, files) for files in ((), (one,)))
    assert (short.count, short.archived, short.fault) == (3, 3, None)
    assert (whole.count, whole.archived, whole.head) == (6, 0, short.head)
    later = tomorrow(gateway, 2)
    write(later, 1)
    assert archive(later, two, 2) == Verification(3, short.head, None, 3)
    assert ids(later) == [7, 8]
    assert verify_audit(*later.audited, archives=[one, two]).count == 8
    assert verify_audit(*later.audited).archived == 6
    assert fault(later, two).startswith("record 1 is missing")
    assert fault(later, two, one).startswith("record 1 is missing")
    assert fault(later, one).startswith("record 4 is missing; record 7 follows record 3")


def test_the_whole_log_may_be_archived(gateway: Gateway, tmp_path: Path) -> None:
    archive(gateway, tmp_path / "all", 2)
    assert ids(gateway) == [6]
    assert not fault(gateway)
    assert not fault(gateway, tmp_path / "all")


def test_an_archive_that_was_changed_is_found(gateway: Gateway, tmp_path: Path) -> None:
    file = tmp_path / "one"
    archive(gateway, file)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([lines[0], lines[1].replace(b"deed 0", b"deed 9"), lines[2]]))
    assert fault(gateway, file).startswith("record 2 does not match")
    file.write_bytes(b"".join(lines[:2]))
    assert fault(gateway, file).startswith("record 3 is missing; record 4 follows record 2")
    values = json.loads(lines[2])
    for broken in (b"{\n", b"[]\n", b"{}\n", json.dumps(values | {"mac": "x"}).encode(), b"\xff\n"):
        file.write_bytes(lines[0] + lines[1] + broken)
        assert fault(gateway, file) == f"line 3 of {file} is no record"


def test_nobody_without_the_key_moves_the_beginning(gateway: Gateway, tmp_path: Path) -> None:
    with writing(gateway.engine) as connection:
        connection.execute(delete(AuditRecord).where(AuditRecord.id <= 2))
        mac = connection.scalar(select(AuditRecord.mac).where(AuditRecord.id == 3))
    assert mac is not None
    assert fault(gateway).startswith("record 1 is missing; record 3 follows")
    with writing(gateway.engine) as connection:  # a record of an archive that the key did not seal
        values = {"action": ARCHIVED, "subject": f"records up to 2:{mac.hex()}"}
        connection.execute(update(AuditRecord).where(AuditRecord.id == 5).values(values))
    assert fault(gateway).startswith("record 3 does not match")
    for claimed in (None, "records up to 2:nothing", "records up to 2"):
        with writing(gateway.engine) as connection:
            changed = update(AuditRecord).where(AuditRecord.id == 5)
            connection.execute(changed.values(subject=claimed or "x"))
        assert fault(gateway)


def test_only_archive_record_moves_log_start(gateway: Gateway) -> None:
    with reading(gateway.engine) as connection:
        mac = connection.scalar(select(AuditRecord.mac).where(AuditRecord.id == 2))
    assert mac is not None
    record_separately(*gateway.audited, ALICE, "test.deed", f"records up to 2:{mac.hex()}")
    with writing(gateway.engine) as connection:
        connection.execute(delete(AuditRecord).where(AuditRecord.id <= 2))
    assert fault(gateway).startswith("record 1 is missing; record 3 follows")


def test_forged_archive_end_is_found(gateway: Gateway, tmp_path: Path) -> None:
    """The chain fits from record 5 on, but the record that says where it begins is not the sealed one."""
    archive(gateway, tmp_path / "one")
    with writing(gateway.engine) as connection:
        connection.execute(delete(AuditRecord).where(AuditRecord.id == 4))
        mac = connection.scalar(select(AuditRecord.mac).where(AuditRecord.id == 5))
        real = connection.execute(select(AuditRecord.__table__).where(AuditRecord.id == 6)).one()
        assert mac is not None
        connection.execute(
            update(AuditRecord).where(AuditRecord.id == 6).values(subject=f"records up to 4:{mac.hex()}")
        )
    assert fault(gateway).startswith("record 5 does not match")
    with writing(gateway.engine) as connection:
        connection.execute(update(AuditRecord).where(AuditRecord.id == 6).values(subject=real.subject))
    assert fault(gateway).startswith("record 1 is missing; record 5 follows")


@pytest.mark.parametrize("last_done", ["_write", "_sync", "delete_up_to"])
def test_interrupted_run_can_be_repeated(
    gateway: Gateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last_done: str
) -> None:
    really = getattr(verification, last_done)

    def ended(*arguments: object) -> None:
        really(*arguments)
        raise KeyboardInterrupt

    file = tmp_path / "one"
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(verification, last_done, ended)
        archive(gateway, file)
    assert ids(gateway) == [1, 2, 3, 4, 5]
    (tmp_path / ".one.part").write_bytes(b"of a run that was killed, longer than what is written next" * 99)
    assert archive(gateway, file) is not None
    assert ids(gateway) == [4, 5, 6]
    assert not fault(gateway, file)
    assert archive(gateway, file) is None, "it was done already"
    assert [each.name for each in tmp_path.iterdir()] == ["one"]
    assert not fault(gateway, file)


def test_what_is_not_intact_stays(gateway: Gateway, tmp_path: Path) -> None:
    with writing(gateway.engine) as connection:
        connection.execute(update(AuditRecord).where(AuditRecord.id == 2).values(detail="nothing"))
    with pytest.raises(ArchiveRefused, match="record 2 does not match"):
        archive(gateway, tmp_path / "one")
    assert ids(gateway) == [1, 2, 3, 4, 5]
    assert list(tmp_path.iterdir()) == []


def test_another_file_is_not_overwritten(gateway: Gateway, tmp_path: Path) -> None:
    file = tmp_path / "one"
    archive(gateway, file)
    held = file.read_bytes()
    with pytest.raises(ArchiveRefused, match="exists and has other records"):
        archive(tomorrow(gateway, 2), file, 2)
    assert file.read_bytes() == held
    assert ids(gateway) == [4, 5, 6]


def test_two_at_once_archive_once(gateway: Gateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def sync_and_let_another(folder: Path) -> None:
        monkeypatch.undo()
        archive(gateway, tmp_path / "another")

    monkeypatch.setattr(verification, "_sync", sync_and_let_another)
    with pytest.raises(ArchiveRefused, match="meanwhile"):
        archive(gateway, tmp_path / "one")
    assert ids(gateway) == [4, 5, 6]
    assert not fault(gateway, tmp_path / "another")
