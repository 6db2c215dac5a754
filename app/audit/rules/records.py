"""Who changed what: a chain of sealed records, so that a change to one of them can be detected.

Each record's MAC covers the record and the MAC of the one before it. The key is stored outside of the
database: without it, a writer of the tables cannot change, remove, insert or reorder records unnoticed. A
later head shows that records were cut off at the end.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

import orjson
from msgspec import Struct

NO_MAC: Final = bytes(32)
"""The MAC before the first record's."""

NETWORK_CHANGES: Final = "network."
"""How the actions begin that change the network document, such as ``network.edit`` and ``network.import``."""

SANDBOX_LOADED: Final = "sandbox.load"
"""The action that fills an empty database, and with it the network document."""

ARCHIVED: Final = "audit.archive"
"""The action that takes the oldest records out of the log. Its subject is ``UP_TO`` and the last one's head.
"""

UP_TO: Final = "records up to "

HEADS_LOGGER: Final = "app.services.audit.record"
"""The source of heads in the process log. It must not change: ``audit verify`` reads logs of any release."""

_KEY_LABEL: Final = b"transfer gateway audit key id"
_KEY_ID_DIGITS: Final = 12

Documented = Mapping[str, Any]
"""A row or another subject as documents write it: text, booleans, small integers, lists, objects."""


class Source(StrEnum):
    """The interface that an operator used."""

    CONSOLE = "console"
    CLI = "cli"


class Actor(Struct, frozen=True):
    """An account's email, or ``cli:`` and the system's user; ``address`` is the caller's IP."""

    name: str
    source: Source
    address: str | None = None


class AuditedChange(Struct, frozen=True):
    """One thing that was created (no ``before``), removed (no ``after``) or changed. Holds no secret."""

    subject: str
    before: Documented | None
    after: Documented | None

    @property
    def row(self) -> Documented:
        """The thing after the change, or before its removal."""
        return self.after or self.before or {}


class AuditRecord(Struct, frozen=True):
    """One operation. ``changes`` is the text of :func:`changes_text`, stored as it was sealed."""

    id: int
    at: datetime
    actor: str
    source: str
    address: str | None
    action: str
    subject: str
    detail: str
    changes: str


class SealedRecord(AuditRecord, frozen=True):
    """A record with its MAC, and the name of the key that sealed it."""

    mac: bytes
    key_id: str


class RecordUnreadable(ValueError):
    """A record has a value that its column cannot hold: it was changed outside of the gateway."""


class AuditFilter(Struct, frozen=True):
    """Which records are wanted. None does not filter. ``since`` is included, ``until`` is not.

    ``actor`` and ``subject`` are parts, in any letter case: ``usdc`` finds every record that changed a row of
    USDC, also one of many. In double quotes they are compared as a whole. An ``action`` without a dot
    includes all of its kind: ``network`` includes ``network.edit``.
    """

    actor: str | None = None
    action: str | None = None
    subject: str | None = None
    since: datetime | None = None
    until: datetime | None = None


EVERYTHING: Final = AuditFilter()


def changes_network(action: str) -> bool:
    """Whether records of the action hold changes that were made to the network document.

    Records of proposals do not count: their changes were only proposed.
    """
    return action == SANDBOX_LOADED or action.startswith(NETWORK_CHANGES)


def changes_text(changes: Sequence[AuditedChange]) -> str:
    """The changes as one canonical JSON text, in ASCII: keys sorted, no spaces."""
    return _canonical(
        [{"subject": change.subject, "before": change.before, "after": change.after} for change in changes]
    )


def read_changes(text: str) -> tuple[AuditedChange, ...]:
    """The changes from their text."""
    return tuple(AuditedChange(**change) for change in json.loads(text))


def seal(key: bytes, previous: bytes, record: AuditRecord) -> bytes:
    """The record's MAC (HMAC-SHA256, 32 bytes).

    :param previous: the MAC of the record before it, ``NO_MAC`` for the first.
    """
    covered = [
        previous.hex(),
        record.id,
        record.at.astimezone(UTC).isoformat(timespec="microseconds"),
        record.actor,
        record.source,
        record.address,
        record.action,
        record.subject,
        record.detail,
        record.changes,
    ]
    return hmac.digest(key, _canonical(covered).encode("ascii"), "sha256")


def export_line(record: SealedRecord) -> bytes:
    """A record as a line of JSON, with everything that verification needs but the key."""
    line = {name: getattr(record, name) for name in AuditRecord.__struct_fields__}
    line["at"] = record.at.astimezone(UTC).isoformat(timespec="microseconds")
    line["changes"] = orjson.Fragment(record.changes)
    line |= {"mac": record.mac.hex(), "key_id": record.key_id}
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)


def read_exported(line: bytes) -> SealedRecord:
    """The record of a line that ``audit export`` wrote.

    :raises ValueError: the line is no record.
    """
    try:
        values = json.loads(line)
        at, mac = datetime.fromisoformat(values["at"]), bytes.fromhex(values["mac"])
        return SealedRecord(**values | {"at": at, "mac": mac, "changes": _canonical(values["changes"])})
    except (KeyError, TypeError) as error:
        raise ValueError(str(error)) from None


def key_id(key: bytes) -> str:
    """A key's public name: 12 hexadecimal digits that do not reveal the key."""
    return hmac.new(key, _KEY_LABEL, hashlib.sha256).hexdigest()[:_KEY_ID_DIGITS]


def head_text(record_id: int, mac: bytes) -> str:
    """A record's position in the chain, ``ID:MAC``, to be noted outside the database."""
    return f"{record_id}:{mac.hex()}"


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
