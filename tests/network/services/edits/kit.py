"""Rows to edit, transfers that use them, and what the database and the audit log have afterwards."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, cast

from sqlalchemy import Table, insert, select

from app.audit.models import AuditRecord
from app.audit.previews import Preview
from app.audit.rules.records import Actor, Source
from app.db.database import Database
from app.db.engine import reading, writing
from app.feed.projection.shared import apply_trends
from app.network.document import export_network
from app.network.edits.entered import ShownRow, show_row
from app.network.edits.plan import EDITABLE, Edit
from app.network.queries import load_rows, load_versions
from app.transfers.models import Transfer, TransferAccount
from app.transfers.rules.sums import TrendKey, Trends
from app.values.identifiers import ChainId, account_key
from app.values.times import hour_of, unix_milliseconds

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
ALICE = Actor("alice@example.org", Source.CONSOLE, "192.0.2.7")
BOB = Actor("bob@example.org", Source.CONSOLE, "192.0.2.8")


def shown(database: Database, section: str, *key: Any) -> ShownRow:
    """The row with this key, as an operator's form has it."""
    of = EDITABLE[section]
    with reading(database.engine) as connection:
        (row_id,) = [
            row["id"]
            for row in load_rows(connection, of.model)
            if tuple(row[column] for column in of.key) == key
        ]
    found = show_row(database, section, row_id)
    assert found is not None
    return found


def edited(database: Database, section: str, *key: Any, **values: Any) -> Edit:
    """An edit of the row with this key as it is now."""
    row = shown(database, section, *key)
    return Edit(section, row.row_id, values, row.fingerprint)


def removed(database: Database, section: str, *key: Any) -> Edit:
    row = shown(database, section, *key)
    return Edit(section, row.row_id, None, row.fingerprint)


def document(database: Database) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(export_network(database))
    return found


def versions(database: Database) -> dict[str, int]:
    with reading(database.engine) as connection:
        return {part: at.version for part, at in load_versions(connection).items()}


def records(database: Database) -> list[Any]:
    """The audit records after the one of the import."""
    table = cast(Table, AuditRecord.__table__)
    with reading(database.engine) as connection:
        return list(connection.execute(select(table).where(table.c.id > 1).order_by(table.c.id)))


def add_transfer(database: Database, n: int, src: int = 1, dst: int = 56, **values: Any) -> None:
    """A transfer of USDT under way, sent at noon, listed and counted as the feed would."""
    row: dict[str, Any] = {
        "transfer_id": n.to_bytes(32, "big"),
        "status": 3,
        "refund_reason": 0,
        "kind": "pool",
        "src_chain_id": src,
        "dst_chain_id": dst,
        "symbol": "USDT",
        "sent_at": NOON,
        "updated_at": NOON,
    }
    with writing(database.engine) as connection:
        row |= values
        connection.execute(insert(Transfer).values(row))
        if (sent := row["sent_at"]) is None:
            return
        for account in {account_key(row[party]) for party in ("sender", "receiver") if row.get(party)}:
            listed = {"account": account, "began_ms": unix_milliseconds(sent)}
            connection.execute(insert(TransferAccount).values(listed | {"transfer_id": row["transfer_id"]}))
        way = ChainId(row["src_chain_id"]), ChainId(row["dst_chain_id"]), row["symbol"]
        apply_trends(connection, {TrendKey(hour_of(sent), row["kind"], *way): Trends(begun=1)})


def texts(preview: Preview) -> list[str]:
    return [effect.text for effect in preview.effects]


def put(database: Database, model: Any, **values: Any) -> None:
    with writing(database.engine) as connection:
        connection.execute(insert(model).values(values))
