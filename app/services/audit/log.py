"""Reads the audit log: pages, one record, an export, and the verification of its chain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC
from hmac import compare_digest
from typing import Final

import orjson

from app.db.engine import reading, reading_consistently
from app.domain.audit import NO_MAC, AuditedChange, AuditRecord, head_text, read_changes, seal
from app.queries.audit import (
    EVERYTHING,
    AuditFilter,
    AuditRow,
    RecordUnreadable,
    audit_page,
    audit_record,
    audit_records,
)
from app.runtime.gateway import Gateway

__all__ = [
    "EVERYTHING", "AuditEntry", "AuditFilter", "AuditRow", "RecordUnreadable", "Verification",
    "export_audit", "list_audit", "show_audit", "verify_audit",
]  # fmt: skip

Heads = Mapping[int, bytes]
"""Heads noted earlier: the record's id and its MAC."""

_SEALED: Final = tuple(field.name for field in fields(AuditRecord))


@dataclass(frozen=True, slots=True)
class Verification:
    """How far the chain is intact. ``fault`` is None, or one line about the first broken link.

    ``head`` is the last record that was found good, as it would be noted: ``ID:MAC``.
    """

    count: int
    head: str
    fault: str | None


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One record: its columns, and its changes read from their text."""

    record: AuditRow
    changes: tuple[AuditedChange, ...]


def verify_audit(gateway: Gateway, noted: Heads | None = None) -> Verification:
    """Follow the chain from its first record to its last and stop at the first broken link.

    :param noted: heads that must still be in the log. Without any, records cut off at its end go unnoticed.
    :raises AuditKeyUnusable: there is no key to verify with.
    """
    with reading_consistently(gateway.engine) as connection:
        return _verify(audit_records(connection), gateway.audit_keys.by_id, noted or {})


def _verify(records: Iterator[AuditRow], keys: Mapping[str, bytes], noted: Heads) -> Verification:
    order = {name: number for number, name in enumerate(keys)}
    last_id, last_mac, newest_key = 0, NO_MAC, -1
    try:
        for row in records:
            fault = _link_fault(row, last_id, last_mac, keys)
            if fault is None and order[row.key_id] < newest_key:
                fault = f"record {row.id} was sealed with an older key than the record before it"
            if fault is None and row.id in noted and not compare_digest(noted[row.id], row.mac):
                fault = f"record {row.id} does not match the given head: the log was rewritten"
            if fault is not None:
                return Verification(last_id, head_text(last_id, last_mac), fault)
            last_id, last_mac, newest_key = row.id, row.mac, order[row.key_id]
    except RecordUnreadable as unreadable:
        return Verification(last_id, head_text(last_id, last_mac), str(unreadable))
    cut_off = max(noted, default=0)
    fault = (
        f"records after {last_id} are missing: the log ends with it, but record {cut_off} is known: "
        "records were removed at the end, or an older backup was restored"
    )
    return Verification(last_id, head_text(last_id, last_mac), fault if cut_off > last_id else None)


def _link_fault(row: AuditRow, last_id: int, last_mac: bytes, keys: Mapping[str, bytes]) -> str | None:
    if row.id != last_id + 1:
        return f"record {last_id + 1} is missing; record {row.id} follows record {last_id}"
    if row.key_id not in keys:
        return (
            f"record {row.id} was sealed with the key {row.key_id}, which is not one of the configured keys "
            f"({', '.join(keys)}); check AUDIT_KEY and AUDIT_KEYS_OLD"
        )
    sealed = AuditRecord(**{name: getattr(row, name) for name in _SEALED})
    try:
        intact = compare_digest(seal(keys[row.key_id], last_mac, sealed), row.mac)
    except TypeError:  # SQLite holds bytes in a column of text, too
        intact = False
    if not intact:
        return f"record {row.id} does not match the record before it: it was changed, inserted or moved"
    return None


def list_audit(
    gateway: Gateway, wanted: AuditFilter = EVERYTHING, *, before: int | None = None, limit: int = 50
) -> Sequence[AuditRow]:
    """A page of records, newest first, without changes; ``before`` is the last id of the page before."""
    with reading(gateway.reads) as connection:
        return audit_page(connection, wanted, before, limit)


def show_audit(gateway: Gateway, record_id: int) -> AuditEntry | None:
    """One record with its changes; None where there is none."""
    with reading(gateway.reads) as connection:
        row = audit_record(connection, record_id)
    return None if row is None else AuditEntry(row, read_changes(row.changes))


def export_audit(gateway: Gateway, wanted: AuditFilter = EVERYTHING) -> Iterator[bytes]:
    """The records as lines of JSON, oldest first, with everything that verification needs but the key.

    :raises RecordUnreadable: the next one cannot be read.
    """
    with reading_consistently(gateway.engine) as connection:
        for row in audit_records(connection, wanted):
            line = {name: getattr(row, name) for name in _SEALED}
            line["at"] = row.at.astimezone(UTC).isoformat(timespec="microseconds")
            line["changes"] = orjson.Fragment(row.changes)
            line |= {"mac": row.mac.hex(), "key_id": row.key_id}
            yield orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
