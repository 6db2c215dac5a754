"""Exports of the audit log: read slowly, while records are added, and while records are archived."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from threading import get_ident

import pytest
from flask import Flask
from sqlalchemy import event, text

from app.audit import queries
from app.audit.keys import AuditKeys
from app.audit.rules.records import (
    EVERYTHING,
    NO_MAC,
    Actor,
    AuditFilter,
    RecordUnreadable,
    Source,
    export_line,
    read_exported,
    seal,
)
from app.audit.services import ArchivedMeanwhile, export_audit, record_separately
from app.audit.verification import archive_audit
from app.db.database import Database
from app.db.engine import reading
from app.http.application import part_of
from tests.actors import TESTER
from tests.applications import Audited, OpenApp, audited_of, change_part

NOON = datetime(2026, 11, 20, 12, 0, 0, 123456, tzinfo=UTC)
ALICE = Actor("alice@example.org", Source.CONSOLE, "192.0.2.7")
OF_ALICE = AuditFilter(actor=ALICE.name)


@pytest.fixture
def app(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Flask:
    """With records 1 to 6 of one day, read two at a time. The odd ones are Alice's."""
    monkeypatch.setattr(queries, "CHUNK", 2)
    change_part(app, Database, clock=lambda: NOON)
    write(audited_of(app), *range(1, 7))
    return app


def write(audited: Audited, *numbers: int) -> None:
    for number in numbers:
        actor = ALICE if number % 2 else TESTER
        record_separately(*audited, actor, "test.action", f"subject {number}")


def archive_all(audited: Audited, file: Path) -> None:
    archive_audit(*audited, NOON + timedelta(days=1), file, actor=TESTER)


def whole(database: Database, wanted: AuditFilter = EVERYTHING) -> list[bytes]:
    """The lines of the records, read in one transaction."""
    with reading(database.engine) as connection:
        rows = list(queries.audit_records(connection, wanted))
    return [export_line(queries.sealed_record(row)) for row in rows]


def holds(audit_keys: AuditKeys, lines: Sequence[bytes]) -> bool:
    """Whether each record matches the one before it: what verification of an export needs."""
    macs = [NO_MAC]
    for record in map(read_exported, lines):
        macs.append(seal(audit_keys.present, macs[-1], record))
        if macs[-1] != record.mac:
            return False
    return True


@pytest.fixture
def held(database: Database) -> Iterator[Counter[int]]:
    """How many connections each thread has: one of an earlier test may still follow the journal."""
    counts: Counter[int] = Counter()

    def take(*_: object) -> None:
        counts[get_ident()] += 1

    def give_back(*_: object) -> None:
        counts[get_ident()] -= 1

    for engine in database.engines:
        event.listen(engine, "checkout", take)
        event.listen(engine, "checkin", give_back)
    yield counts
    for engine in database.engines:
        event.remove(engine, "checkout", take)
        event.remove(engine, "checkin", give_back)


@pytest.mark.every_database
def test_slow_reader_holds_no_connection(database: Database, held: Counter[int]) -> None:
    for wanted in (EVERYTHING, OF_ALICE, AuditFilter(subject="subject 4"), AuditFilter(action="no")):
        expected, lines = whole(database, wanted), []
        for line in export_audit(database, wanted):
            assert held[get_ident()] == 0
            lines.append(line)
        assert lines == expected
    assert held == {get_ident(): 0}, "it read by this thread"


@pytest.mark.every_database
def test_records_added_meanwhile_are_left_out(
    database: Database, audit_keys: AuditKeys, audited: Audited
) -> None:
    """So an export ends, and its chain holds, however many are added while it is read."""
    for wanted in (EVERYTHING, OF_ALICE):
        expected, lines = whole(database, wanted), []
        for number, line in enumerate(islice(export_audit(database, wanted), 50), 100):
            write(audited, number)
            lines.append(line)
        assert lines == expected
    assert holds(audit_keys, list(export_audit(database)))
    assert not list(export_audit(database, AuditFilter(since=NOON + timedelta(days=1))))


def test_no_record_is_no_line(open_app: OpenApp) -> None:
    assert not list(export_audit(part_of(open_app(), Database)))


@pytest.mark.parametrize("wanted", [EVERYTHING, OF_ALICE])
def test_export_lacks_no_archived_records(
    database: Database, audited: Audited, tmp_path: Path, wanted: AuditFilter
) -> None:
    expected, lines = whole(database, wanted), export_audit(database, wanted)
    begun = [next(lines)]
    archive_all(audited, tmp_path / "one")
    with pytest.raises(ArchivedMeanwhile, match="export them again"):
        begun.extend(lines)
    assert begun == expected[:2]
    assert len(list(export_audit(database))) == 1, "the record of the archive"


def test_archive_of_exported_records_is_harmless(
    database: Database, audited: Audited, tmp_path: Path
) -> None:
    expected, lines = whole(database), export_audit(database)
    begun = [next(lines) for _ in range(5)]
    archive_all(audited, tmp_path / "one")
    assert [*begun, *lines] == expected
    assert (tmp_path / "one").read_bytes() == b"".join(expected)


def test_records_before_unreadable_are_exported(database: Database) -> None:
    expected = whole(database)
    with database.engine.begin() as connection:
        infinite = {"sqlite": "soon", "postgresql": "infinity"}[database.engine.dialect.name]
        connection.execute(text(f"UPDATE audit_records SET at = '{infinite}' WHERE id = 4"))
    lines: list[bytes] = []
    with pytest.raises(RecordUnreadable, match="record 4 cannot be read"):
        lines.extend(export_audit(database))
    assert lines == expected[:3]
