"""Archives of the audit log: the chain goes through them, and a run may end at any moment."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from flask import Flask
from msgspec.structs import replace
from sqlalchemy import delete, select, update

from app.audit import verification
from app.audit.keys import AuditKeys
from app.audit.models import AuditRecord, AuditSubject
from app.audit.rules.records import ARCHIVED, Actor, AuditedChange, Source
from app.audit.services import export_audit, record, record_separately
from app.audit.verification import ArchiveRefused, Verification, archive_audit, verify_audit
from app.db.database import Database
from app.db.engine import reading, writing
from app.http.application import part_of
from tests.actors import TESTER
from tests.applications import Audited, audited_of, change_part

NOON = datetime(2026, 11, 20, 12, 0, 0, 123456, tzinfo=UTC)
ALICE = Actor("älice\N{LINE SEPARATOR}@example.org", Source.CONSOLE, "192.0.2.7")


@pytest.fixture
def app(app: Flask) -> Flask:
    """With records 1 to 3 of one day, 4 and 5 of the next."""
    change_part(app, Database, clock=lambda: NOON)
    change = AuditedChange(
        "chain 1", {"id": 2**70, "name": "Ä\x7f", "on": True}, {"id": 1, "list": [None, {}]}
    )
    with writing(part_of(app, Database).engine) as connection:
        record(
            connection, part_of(app, AuditKeys), ALICE, "test.action", "chain 1", now=NOON, changes=[change]
        )
    write(audited_of(app), 2)
    change_part(app, Database, clock=lambda: NOON + timedelta(days=1))
    write(audited_of(app), 2)
    return app


def after(days: int, audited: Audited) -> Audited:
    """As of so many days after the first."""
    database, audit_keys = audited
    return replace(database, clock=lambda: NOON + timedelta(days=days)), audit_keys


def write(audited: Audited, count: int) -> None:
    for n in range(count):
        record_separately(*audited, ALICE, "test.action", f"subject {n}", detail=f"action {n}")


def archive(audited: Audited, file: Path, days: int = 1) -> Verification | None:
    return archive_audit(*audited, NOON + timedelta(days=days), file, actor=TESTER)


def ids(database: Database) -> list[int]:
    with reading(database.engine) as connection:
        subjects = set(connection.scalars(select(AuditSubject.record_id)))
        records = list(connection.scalars(select(AuditRecord.id).order_by(AuditRecord.id)))
    assert subjects == set(records)
    return records


def fault(audited: Audited, *files: Path) -> str:
    return verify_audit(*audited, archives=files).fault or ""


def test_chain_goes_through_the_archives(database: Database, audited: Audited, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    exported = list(export_audit(database))
    before = verify_audit(*audited)
    assert archive(audited, one) is not None
    assert one.read_bytes() == b"".join(exported[:3])
    assert one.stat().st_mode & 0o777 == 0o600
    assert ids(database) == [4, 5, 6]
    assert before.head.startswith("5:")
    noted = {5: bytes.fromhex(before.head.partition(":")[2])}
    short, whole = (verify_audit(*audited, noted, files) for files in ((), (one,)))
    assert (short.count, short.archived, short.fault) == (3, 3, None)
    assert (whole.count, whole.archived, whole.head) == (6, 0, short.head)
    later = after(2, audited)
    write(later, 1)
    assert archive(later, two, 2) == Verification(3, short.head, None, 3)
    assert ids(database) == [7, 8]
    assert verify_audit(*later, archives=[one, two]).count == 8
    assert verify_audit(*later).archived == 6
    assert fault(later, two).startswith("record 1 is missing")
    assert fault(later, two, one).startswith("record 1 is missing")
    assert fault(later, one).startswith("record 4 is missing; record 7 follows record 3")


def test_whole_log_is_archived(database: Database, audited: Audited, tmp_path: Path) -> None:
    archive(audited, tmp_path / "all", 2)
    assert ids(database) == [6]
    assert not fault(audited)
    assert not fault(audited, tmp_path / "all")


def test_archive_that_was_changed_is_found(audited: Audited, tmp_path: Path) -> None:
    file = tmp_path / "one"
    archive(audited, file)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([lines[0], lines[1].replace(b"action 0", b"action 9"), lines[2]]))
    assert fault(audited, file).startswith("record 2 does not match")
    file.write_bytes(b"".join(lines[:2]))
    assert fault(audited, file).startswith("record 3 is missing; record 4 follows record 2")
    values = json.loads(lines[2])
    for broken in (b"{\n", b"[]\n", b"{}\n", json.dumps(values | {"mac": "x"}).encode(), b"\xff\n"):
        file.write_bytes(lines[0] + lines[1] + broken)
        assert fault(audited, file) == f"line 3 of {file} is no record: give files of flask audit archive"


def test_beginning_is_not_moved_without_the_key(database: Database, audited: Audited, tmp_path: Path) -> None:
    with writing(database.engine) as connection:
        connection.execute(delete(AuditRecord).where(AuditRecord.id <= 2))
        mac = connection.scalar(select(AuditRecord.mac).where(AuditRecord.id == 3))
    assert mac is not None
    assert fault(audited).startswith("record 1 is missing; record 3 follows")
    with writing(database.engine) as connection:  # a record of an archive that the key did not seal
        values = {"action": ARCHIVED, "subject": f"records up to 2:{mac.hex()}"}
        connection.execute(update(AuditRecord).where(AuditRecord.id == 5).values(values))
    assert fault(audited).startswith("record 3 does not match")
    for claimed in (None, "records up to 2:nothing", "records up to 2"):
        with writing(database.engine) as connection:
            changed = update(AuditRecord).where(AuditRecord.id == 5)
            connection.execute(changed.values(subject=claimed or "x"))
        assert fault(audited)


def test_only_archive_record_moves_log_start(database: Database, audited: Audited) -> None:
    with reading(database.engine) as connection:
        mac = connection.scalar(select(AuditRecord.mac).where(AuditRecord.id == 2))
    assert mac is not None
    record_separately(*audited, ALICE, "test.action", f"records up to 2:{mac.hex()}")
    with writing(database.engine) as connection:
        connection.execute(delete(AuditRecord).where(AuditRecord.id <= 2))
    assert fault(audited).startswith("record 1 is missing; record 3 follows")


def test_forged_archive_end_is_found(database: Database, audited: Audited, tmp_path: Path) -> None:
    """The chain fits from record 5 on, but the record of where it begins is not the sealed one."""
    archive(audited, tmp_path / "one")
    with writing(database.engine) as connection:
        connection.execute(delete(AuditRecord).where(AuditRecord.id == 4))
        mac = connection.scalar(select(AuditRecord.mac).where(AuditRecord.id == 5))
        real = connection.execute(select(AuditRecord.__table__).where(AuditRecord.id == 6)).one()
        assert mac is not None
        connection.execute(
            update(AuditRecord).where(AuditRecord.id == 6).values(subject=f"records up to 4:{mac.hex()}")
        )
    assert fault(audited).startswith("record 5 does not match")
    with writing(database.engine) as connection:
        connection.execute(update(AuditRecord).where(AuditRecord.id == 6).values(subject=real.subject))
    assert fault(audited).startswith("record 1 is missing; record 5 follows")


@pytest.mark.parametrize("last_done", ["_write", "_sync", "_delete_up_to"])
def test_interrupted_run_can_be_repeated(
    database: Database, audited: Audited, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last_done: str
) -> None:
    really = getattr(verification, last_done)

    def ended(*arguments: object) -> None:
        really(*arguments)
        raise KeyboardInterrupt

    file = tmp_path / "one"
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(verification, last_done, ended)
        archive(audited, file)
    assert ids(database) == [1, 2, 3, 4, 5]
    (tmp_path / ".one.part").write_bytes(b"of a run that was killed, longer than what is written next" * 99)
    assert archive(audited, file) is not None
    assert ids(database) == [4, 5, 6]
    assert not fault(audited, file)
    assert archive(audited, file) is None, "it was done already"
    assert [each.name for each in tmp_path.iterdir()] == ["one"]
    assert not fault(audited, file)


def test_broken_log_is_not_archived(database: Database, audited: Audited, tmp_path: Path) -> None:
    with writing(database.engine) as connection:
        connection.execute(update(AuditRecord).where(AuditRecord.id == 2).values(detail="nothing"))
    with pytest.raises(ArchiveRefused, match="record 2 does not match"):
        archive(audited, tmp_path / "one")
    assert ids(database) == [1, 2, 3, 4, 5]
    assert list(tmp_path.iterdir()) == []


def test_another_file_is_not_overwritten(database: Database, audited: Audited, tmp_path: Path) -> None:
    file = tmp_path / "one"
    archive(audited, file)
    held = file.read_bytes()
    with pytest.raises(ArchiveRefused, match="exists and has other records"):
        archive(after(2, audited), file, 2)
    assert file.read_bytes() == held
    assert ids(database) == [4, 5, 6]


def test_two_at_once_archive_once(
    database: Database, audited: Audited, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sync_and_let_another(folder: Path) -> None:
        monkeypatch.undo()
        archive(audited, tmp_path / "another")

    monkeypatch.setattr(verification, "_sync", sync_and_let_another)
    with pytest.raises(ArchiveRefused, match="meanwhile"):
        archive(audited, tmp_path / "one")
    assert ids(database) == [4, 5, 6]
    assert not fault(audited, tmp_path / "another")
