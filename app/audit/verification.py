"""Verifies the chain of records, and archives its oldest records in files."""

from __future__ import annotations

import filecmp
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from hmac import compare_digest
from itertools import chain, takewhile
from pathlib import Path

from msgspec import Struct
from sqlalchemy import Connection, delete

from app.audit.keys import AuditKeys
from app.audit.models import AuditRecord, AuditSubject
from app.audit.queries import archived_head, audit_records, sealed_record
from app.audit.rules.records import (
    ARCHIVED,
    NO_MAC,
    UP_TO,
    Actor,
    RecordUnreadable,
    SealedRecord,
    export_line,
    head_text,
    read_exported,
    seal,
)
from app.audit.services import record
from app.db.database import Database
from app.db.engine import reading_consistently, writing

Heads = Mapping[int, bytes]
"""Heads noted earlier: the record's id and its MAC."""


class Verification(Struct, frozen=True):
    """How far the chain is intact. ``fault`` is None, or one line about the first broken link.

    ``head`` is the last intact record, in the form of a noted head: ``ID:MAC``. ``archived`` is how many
    records before the first of the log were not read: the head of their archive is sealed in the log.
    """

    count: int
    head: str
    fault: str | None
    archived: int = 0


def verify_audit(
    database: Database, audit_keys: AuditKeys, noted: Heads | None = None, archives: Sequence[Path] = ()
) -> Verification:
    """Follow the chain from its first record to its last and stop at the first broken link.

    :param noted: heads that must still be in the log. Without them, records cut off at its end are not
        detected.
    :param archives: files of the records before the first of the log, the oldest first. Without them the
        chain begins with the head of the last archive.
    :raises AuditKeyUnusable: there is no key to verify with.
    """
    with reading_consistently(database.engine) as connection:
        start = (0, NO_MAC) if archives else _start(connection)
        records = chain(_archived(archives), _of_log(connection))
        return _verify(records, audit_keys.by_id, noted or {}, start)


def _of_log(connection: Connection) -> Iterator[SealedRecord]:
    return map(sealed_record, audit_records(connection))


def _start(connection: Connection) -> tuple[int, bytes]:
    """Id and MAC of the record before the first of the log."""
    try:
        head = archived_head(connection)
        return (0, NO_MAC) if head is None else (head[0], bytes.fromhex(head[1]))
    except ValueError:  # a MAC that somebody changed: then no record fits
        return 0, NO_MAC


def _verify(
    records: Iterable[SealedRecord], keys: Mapping[str, bytes], noted: Heads, start: tuple[int, bytes]
) -> Verification:
    """Follow the records from ``start`` on.

    :param keys: by their names, the oldest first.
    """
    order = {name: number for number, name in enumerate(keys)}
    (last_id, last_mac), newest_key, archived = start, -1, start[0]
    fault = None
    try:
        for row in records:
            fault = _link_fault(row, last_id, last_mac, keys)
            if fault is None and order[row.key_id] < newest_key:
                fault = f"record {row.id} was sealed with an older key than the record before it"
            if fault is None and row.id in noted and not compare_digest(noted[row.id], row.mac):
                fault = f"record {row.id} does not match the given head: the log was rewritten"
            if fault is not None:
                break
            last_id, last_mac, newest_key = row.id, row.mac, order[row.key_id]
    except RecordUnreadable as unreadable:
        fault = str(unreadable)
    cut_off = max(noted, default=0)
    if fault is None and cut_off > last_id:
        fault = (
            f"records after {last_id} are missing: record {cut_off} is known: "
            "somebody removed records at the end, or restored an older backup"
        )
    return Verification(last_id - archived, head_text(last_id, last_mac), fault, archived)


def _link_fault(row: SealedRecord, last_id: int, last_mac: bytes, keys: Mapping[str, bytes]) -> str | None:
    if row.id != last_id + 1:
        return f"record {last_id + 1} is missing; record {row.id} follows record {last_id}"
    if row.key_id not in keys:
        return (
            f"record {row.id} was sealed with the key {row.key_id}, which is not one of the configured keys "
            f"({', '.join(keys)}); check AUDIT_KEY and AUDIT_KEYS_OLD"
        )
    try:
        intact = compare_digest(seal(keys[row.key_id], last_mac, row), row.mac)
    except TypeError:  # SQLite can also have bytes in a column of text
        intact = False
    if not intact:
        return f"record {row.id} does not match the record before it: it was changed, inserted or moved"
    return None


class ArchiveRefused(Exception):
    """Why no record was archived, in words for the operator. The log has not changed."""


def archive_audit(
    database: Database, audit_keys: AuditKeys, before: datetime, file: Path, *, actor: Actor
) -> Verification | None:
    """Move the oldest records, up to the first one from a time on, into a file.

    Once the file is on the disk and verified, one transaction removes them from the log and records that. An
    interrupted run can be repeated.

    :returns: what was verified in the file; None where there is no such record.
    :raises ArchiveRefused: the records are not intact, or the file exists and has others.
    :raises AuditKeyUnusable: there is no key to verify with.
    """
    draft = file.with_name(f".{file.name}.part")
    try:
        with reading_consistently(database.engine) as connection:
            start = _start(connection)
            old = takewhile(lambda each: each.at < before, _of_log(connection))
            _write(draft, map(export_line, old))
        found = _verify(_archived([draft]), audit_keys.by_id, {}, start)
        if found.fault is not None:
            raise ArchiveRefused(found.fault)
        if not found.count:
            return None
        if file.exists() and not filecmp.cmp(draft, file, shallow=False):
            raise ArchiveRefused(f"{file} exists and has other records; choose another name")
        draft.replace(file)
        _sync(file.parent)
    finally:
        draft.unlink(missing_ok=True)
    with writing(database.engine) as connection:
        subject, detail = f"{UP_TO}{found.head}", f"{found.count} records are in {file.name}"
        record(connection, audit_keys, actor, ARCHIVED, subject, now=database.clock(), detail=detail)
        if _delete_up_to(connection, found.archived + found.count) != found.count:
            raise ArchiveRefused("other records were archived meanwhile; run the command again")
    return found


def _delete_up_to(connection: Connection, last_id: int) -> int:
    """Delete the oldest records and the subjects that they are found by. Returns how many records."""
    connection.execute(delete(AuditSubject).where(AuditSubject.record_id <= last_id))
    return connection.execute(delete(AuditRecord).where(AuditRecord.id <= last_id)).rowcount


def _write(file: Path, lines: Iterable[bytes]) -> None:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as output:
        output.writelines(lines)
        output.flush()
        os.fsync(output.fileno())


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _archived(files: Iterable[Path]) -> Iterator[SealedRecord]:
    """The records in archives.

    :raises RecordUnreadable: a line is none.
    """
    for file in files:
        with file.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    yield read_exported(line)
                except ValueError:
                    raise RecordUnreadable(
                        f"line {number} of {file} is no record: give files of flask audit archive"
                    ) from None
