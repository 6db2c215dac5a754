"""Lists of transfers: every filter, in pages that together hold each transfer once."""

from __future__ import annotations

import itertools
import random
import re
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import insert, text, update

from app.console.transfers.lists import list_transfers, read_cursor, write_cursor
from app.db.database import Database
from app.db.engine import writing
from app.http.application import part_of
from app.network.snapshot import SnapshotSource
from app.transfers.models import Transfer
from app.transfers.queries import lists as transfer_list
from app.transfers.queries.lists import TransferFilters
from app.transfers.queries.status import Cursor
from app.values.codes import TransferHistoryStatus as Status
from tests.amounts import few_or_many
from tests.console.pages.plans import plans
from tests.feed.services.world import NOW, SENDER, address

OTHER = address(77)


def fill(database: Database, count: int = 400, seed: int = 1) -> list[dict[str, Any]]:
    """Projected transfers of every kind, many of the same time."""
    rng = random.Random(seed)
    rows = []
    for n in range(count):
        src, dst = rng.choice([(1, 2), (2, 1), (1, 3), (3, 2), (1, None), (None, None), (999, 1)])
        rows.append(
            {
                "transfer_id": rng.randbytes(32),
                "status": rng.choice([0, 1, 2, 3, 5, 5, 5, 5, 6, 7, 8, 10, 11]),
                "refund_reason": 0,
                "src_chain_id": src,
                "dst_chain_id": dst,
                "symbol": rng.choice(["USDT", "CELR", None]),
                "sender": rng.choice([SENDER, OTHER, None]),
                "receiver": rng.choice([SENDER, OTHER, None]),
                "amount": 10**6 * n,
                "updated_at": NOW - timedelta(minutes=rng.randrange(60)),
            }
        )
    with writing(database.engine) as connection:
        connection.execute(insert(Transfer), rows)
    return rows


def expected(rows: list[dict[str, Any]], filters: TransferFilters) -> list[str]:
    def meets(row: dict[str, Any]) -> bool:
        return (
            (not filters.statuses or row["status"] in filters.statuses)
            and filters.src_chain_id in (None, row["src_chain_id"])
            and filters.dst_chain_id in (None, row["dst_chain_id"])
            and filters.symbol in (None, row["symbol"])
            and filters.account in (None, row["sender"], row["receiver"])
            and (filters.since is None or row["updated_at"] >= filters.since)
            and (filters.until is None or row["updated_at"] < filters.until)
        )

    met = sorted((row for row in rows if meets(row)), key=lambda r: (NOW - r["updated_at"], r["transfer_id"]))
    return ["0x" + row["transfer_id"].hex() for row in met]


def pages(app: Flask, filters: TransferFilters, size: int) -> list[str]:
    found: list[str] = []
    page = None
    for _ in range(1000):
        got = list_transfers(part_of(app, Database), part_of(app, SnapshotSource), filters, page, size)
        assert len(got.transfers) <= size
        assert got.searching == (got.next_page is not None and len(got.transfers) < size)
        found += [line.transfer_id for line in got.transfers]
        page = got.next_page
        if page is None:
            return found
    raise AssertionError("the pages do not end")


CASES = [
    TransferFilters(statuses=statuses, src_chain_id=src, dst_chain_id=dst, symbol=symbol, account=account)
    for statuses, src, dst, symbol, account in itertools.product(
        (
            frozenset(),
            frozenset({Status(1), Status(7)}),
            frozenset({Status(5)}),
            frozenset({Status(2), Status(6)}),
        ),
        (None, 1, 999),
        (None, 2),
        (None, "USDT"),
        (None, SENDER),
    )
]


@pytest.mark.parametrize("step", few_or_many(5, 1))
def test_filters_list_each_transfer_once(
    app: Flask, database: Database, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    rows = fill(database, 400 if step == 1 else 200)
    monkeypatch.setattr(transfer_list, "SCANNED", 40)
    for few in (10_000, 0):
        monkeypatch.setattr(transfer_list, "FEW", few)
        for filters in CASES[::step]:
            assert pages(app, filters, 17) == expected(rows, filters), (few, filters)


def test_span_filters_transfers(app: Flask, database: Database) -> None:
    rows = fill(database)
    since, until = NOW - timedelta(minutes=40), NOW - timedelta(minutes=10)
    for filters in (
        TransferFilters(since=since, until=until),
        TransferFilters(since=since, src_chain_id=1),
        TransferFilters(until=until, account=OTHER, symbol="CELR"),
    ):
        assert pages(app, filters, 9) == expected(rows, filters)


def test_transfer_changed_while_paging_is_on_top(database: Database, snapshots: SnapshotSource) -> None:
    """And no other transfer is missed."""
    rows = fill(database, 30)
    first = list_transfers(database, snapshots, TransferFilters(), size=10)
    last = expected(rows, TransferFilters())[-1]
    with writing(database.engine) as connection:
        changed = update(Transfer).where(Transfer.transfer_id == bytes.fromhex(last[2:]))
        connection.execute(changed.values(updated_at=NOW + timedelta(minutes=1)))
    rest = list_transfers(database, snapshots, TransferFilters(), first.next_page, size=50)
    assert [line.transfer_id for line in rest.transfers] == expected(rows, TransferFilters())[10:-1]
    assert list_transfers(database, snapshots, TransferFilters(), size=1).transfers[0].transfer_id == last


def test_cursor_survives_its_url(database: Database, snapshots: SnapshotSource) -> None:
    (row,) = fill(database, 1)
    cursor = Cursor(row["updated_at"], row["transfer_id"])
    assert read_cursor(write_cursor(cursor)) == cursor
    for nonsense in (None, "", "x", "ä", "AAAA", "!" * 56, "_" * 56, write_cursor(cursor)[:-4]):
        assert read_cursor(nonsense) is None or nonsense == "_" * 56
    assert list_transfers(database, snapshots, TransferFilters(), "nonsense").transfers


def test_lines_show_amounts_and_chains(database: Database, snapshots: SnapshotSource) -> None:
    row = {
        "status": 6, "refund_reason": 4, "updated_at": NOW, "symbol": "USDT", "amount": 1_500_000,
    }  # fmt: skip
    with writing(database.engine) as connection:
        for n, chains in enumerate(({"src_chain_id": 1, "dst_chain_id": 2}, {"src_chain_id": 77}, {})):
            connection.execute(insert(Transfer).values(**row, **chains, transfer_id=n.to_bytes(32, "big")))
    known, unknown, nowhere = list_transfers(database, snapshots, TransferFilters()).transfers
    assert known.amount and (known.amount.units, str(known.amount)) == (1_500_000, "1.5 USDT")
    assert known.src and known.dst and (known.src.name, known.dst.name) == ("Chain 1", "Chain 2")
    assert (known.words.label, known.refund_reason.name) == ("To be refunded", "BAD_SLIPPAGE")
    assert str(unknown.amount) == "1500000 smallest units of USDT"
    assert unknown.src and (unknown.src.name, unknown.src.known) == ("chain 77", False)
    assert nowhere.src is None and nowhere.dst is None


@pytest.mark.postgresql_alone
@pytest.mark.parametrize("step", few_or_many(5, 1))
def test_no_list_reads_the_whole_table(
    database: Database, snapshots: SnapshotSource, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """PostgreSQL's plans of every kind of list, with sequential scans as dear as they are at ten millions."""
    fill(database, 2000)
    with database.engine.begin() as connection:
        connection.execute(text("ANALYZE transfers"))
    cases = CASES[::step]
    with plans(database.reads) as seen:
        for few in (10_000, 10):
            monkeypatch.setattr(transfer_list, "FEW", few)
            for filters in cases:
                list_transfers(database, snapshots, filters)
    assert len(seen) >= 2 * len(cases)
    assert not [plan for plan in seen if re.search(r"Seq Scan on transfers.*\n +Filter:", plan)]
