"""Many rows at once, as one document or one after the other: the same values are there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.exc import DataError, IntegrityError, StatementError

from app.db.database import Database
from app.db.engine import writing
from app.db.upserts import ROWS_AT_ONCE, add_up, append, delete_rows, upsert
from app.latency.models import LatencyCount
from app.transfers.models import ChainProgress, Event, Refund, Transfer, TransferHash
from tests.steps import statements

AT = datetime(2026, 3, 8, 12, 0, 0, 5, tzinfo=UTC)
LAST = 2**63 - 1
ODD = "\\N\t\n\r\\x41 'q' \"d\" %s {a} é 😀 \u2028"
MOST = 2**256 - 1


def log_row(seq: int, **fields: Any) -> dict[str, Any]:
    row: dict[str, Any] = {
        "seq": seq,
        "event_id": ODD,
        "subject": f"chain:{seq}",
        "occurrence": 0,
        "type": "chain.head",
        "at": AT,
        "received_at": datetime(1, 1, 1, tzinfo=UTC),
        "reporter": "",
        "transfer_id": None,
        "chain_id": LAST,
        "block": None,
        "body": '{"a":"\\u0001\\\\"}',
    }
    return row | fields


def transfer_row(last: int, **fields: Any) -> dict[str, Any]:
    row: dict[str, Any] = {
        "transfer_id": bytes(31) + bytes([last]),
        "status": 5,
        "refund_reason": 0,
        "status_since": None,
        "symbol": ODD[:20],
        "amount": MOST,
        "relayed_amount": -MOST,
        "updated_at": datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    }
    return row | fields


def rows_of(database: Database, model: Any, *columns: str) -> list[tuple[Any, ...]]:
    table = model.__table__
    with database.engine.connect() as connection:
        found = connection.execute(select(*(table.c[name] for name in columns)).order_by(*table.primary_key))
        return [tuple(row) for row in found]


def test_appended_rows_have_their_values(database: Database) -> None:
    there = AT.astimezone(timezone(timedelta(hours=5, minutes=30)))
    given = [log_row(1), log_row(2, transfer_id=b"\\" * 32, block=0, at=there), log_row(LAST, occurrence=7)]
    with writing(database.engine) as connection:
        append(connection, Event, given)
        append(connection, Event, [])
    assert rows_of(database, Event, *given[0]) == [tuple(row.values()) for row in given]


@pytest.mark.parametrize("write", [append, upsert])
def test_amounts_of_any_size_stay_exact(write: Any, database: Database) -> None:
    given = [transfer_row(1), transfer_row(2, amount=0, relayed_amount=None), transfer_row(3, amount=10**77)]
    with writing(database.engine) as connection:
        write(connection, Transfer, given)
    assert rows_of(database, Transfer, *given[0]) == [tuple(row.values()) for row in given]
    assert rows_of(database, Transfer, "sender", "kind") == [(None, None)] * 3


def test_taken_key_undoes_the_transaction(database: Database) -> None:
    engine = database.engine
    with pytest.raises(IntegrityError), writing(engine) as connection:
        append(connection, Event, [log_row(1)])
        append(connection, Event, [log_row(2), log_row(1)])
    assert rows_of(database, Event, "seq") == []


@pytest.mark.parametrize("write", [append, upsert])
@pytest.mark.parametrize(
    "wrong", [{"amount": 2**256}, {"amount": -1}, {"updated_at": AT.replace(tzinfo=None)}]
)
def test_value_out_of_range_is_refused(write: Any, wrong: dict[str, Any], database: Database) -> None:
    with pytest.raises((ValueError, StatementError)), writing(database.engine) as connection:
        write(connection, Transfer, [transfer_row(1), transfer_row(2, **wrong)])
    assert rows_of(database, Transfer, "status") == []


@pytest.mark.postgresql_alone  # SQLite has no lengths
@pytest.mark.parametrize("write", [append, upsert])
def test_long_text_is_never_cut(write: Any, database: Database) -> None:
    with pytest.raises(DataError), writing(database.engine) as connection:
        write(connection, Transfer, [transfer_row(1, symbol="x" * 65)])


def test_listeners_see_appended_rows(database: Database) -> None:
    engine = database.engine
    with statements(engine) as executed, writing(engine) as connection:
        append(connection, Event, [log_row(n) for n in range(1, 50)])
    assert len([statement for statement in executed if " events " in statement]) == 1


def test_upsert_updates_present_and_inserts_new_rows(database: Database) -> None:
    with writing(database.engine) as connection:
        upsert(connection, ChainProgress, [{"chain_id": 1, "highest_block": 5, "newest_at": AT}])
        rows: list[dict[str, Any]] = [
            {"chain_id": 1, "highest_block": None, "newest_at": AT + timedelta(microseconds=1)},
            {"chain_id": LAST, "highest_block": LAST, "newest_at": AT},
        ]
        upsert(connection, ChainProgress, rows)
    assert rows_of(database, ChainProgress, *rows[0]) == [tuple(row.values()) for row in rows]


def test_key_only_row_is_appended(database: Database) -> None:
    row = {"transfer_id": transfer_row(1)["transfer_id"], "tx_hash": ODD}
    with writing(database.engine) as connection:
        upsert(connection, Transfer, [transfer_row(1)])
        append(connection, TransferHash, [row])
    assert rows_of(database, TransferHash, *row) == [tuple(row.values())]


def test_sums_add_up(database: Database) -> None:
    key = {"src_chain_id": 1, "dst_chain_id": 2, "width": 19}
    with writing(database.engine) as connection:
        add_up(connection, LatencyCount, [key | {"bucket": 1, "n": 2}])
        add_up(connection, LatencyCount, [key | {"bucket": 1, "n": -5}, key | {"bucket": 2, "n": 7}])
    assert rows_of(database, LatencyCount, "bucket", "n") == [(1, -3), (2, 7)]


def test_table_with_json_is_set_too(database: Database) -> None:
    row = {"transfer_id": transfer_row(1)["transfer_id"], "wd_onchain": b"\0\\", "powers": ["AA=="]}
    row |= {"sorted_sigs": ["é"], "signers": []}
    with writing(database.engine) as connection:
        upsert(connection, Transfer, [transfer_row(1)])
        upsert(connection, Refund, [row])
        upsert(connection, Refund, [row | {"signers": ["AQ=="]}])
    assert rows_of(database, Refund, "wd_onchain", "sorted_sigs", "signers") == [(b"\0\\", ["é"], ["AQ=="])]


def progress(chain_id: int, block: int = 1) -> dict[str, Any]:
    return {"chain_id": chain_id, "highest_block": block, "newest_at": AT}


def test_upsert_and_delete_split_many_rows(database: Database) -> None:
    given = [progress(chain_id) for chain_id in range(1, 2 * ROWS_AT_ONCE + 3)]
    with writing(database.engine) as connection:
        upsert(connection, ChainProgress, given)
        delete_rows(connection, ChainProgress, given[1:])
    assert rows_of(database, ChainProgress, "chain_id") == [(1,)]


def test_writes_see_earlier_writes_to_table(database: Database) -> None:
    key = {"src_chain_id": 1, "dst_chain_id": 2, "width": 19, "bucket": 1}
    with writing(database.engine) as connection:
        for n in (1, 2, 3):
            upsert(connection, ChainProgress, [progress(1, n)])
            add_up(connection, LatencyCount, [key | {"n": n}])
            assert connection.scalar(select(ChainProgress.highest_block)) == n
    assert rows_of(database, LatencyCount, "n") == [(6,)]
