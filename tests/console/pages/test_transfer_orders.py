"""Lists of transfers by age and by the amounts of one token, and how many they have."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import insert, text, update
from werkzeug.datastructures import MultiDict

from app.console.transfers.list_request import AGES, ListRequest, read_list_request
from app.console.transfers.lists import list_transfers
from app.db.database import Database
from app.db.engine import writing
from app.http.application import part_of
from app.network.snapshot import SnapshotSource
from app.transfers.models import Transfer
from app.transfers.queries import lists
from app.transfers.queries.lists import ListCount, Order
from app.values.amounts import MAX_UINT256
from app.values.codes import TransferHistoryStatus as Status
from tests.amounts import few_or_many
from tests.console.pages.plans import plans
from tests.feed.services.world import NOW, SENDER

DECIMALS = {1: 6, 2: 18, 3: 6}
"""Of USDT; it is not configured on chain 999."""
AMOUNTS = (None, 0, 1, 9, 10, 99, 100, 10**6, 10**18, 10**18 + 1, 2**63, 2**64, 10**30, MAX_UINT256)


def fill(database: Database, count: int = 300) -> list[dict[str, Any]]:
    """Transfers of all amounts and ages, many of them equal."""
    rng = random.Random(7)
    rows = [
        {
            "transfer_id": rng.randbytes(32),
            "status": rng.choice([1, 3, 5, 5, 5, 6, 10]),
            "refund_reason": 0,
            "src_chain_id": rng.choice([1, 2, 3, 999, None]),
            "dst_chain_id": rng.choice([1, 2, None]),
            "symbol": rng.choice(["USDT", "USDT", "CELR", None]),
            "sender": rng.choice([SENDER, None]),
            "amount": rng.choice(AMOUNTS),
            "updated_at": NOW - timedelta(minutes=rng.randrange(60)),
            "began_at": rng.choice([None, NOW - timedelta(minutes=rng.randrange(60, 3_000))]),
        }
        for _ in range(count)
    ]
    with writing(database.engine) as connection:
        connection.execute(insert(Transfer), rows)
    return rows


def requested(app: Flask, **fields: str) -> ListRequest:
    return read_list_request(part_of(app, Database), part_of(app, SnapshotSource), MultiDict(fields))


def pages(app: Flask, wanted: ListRequest, size: int = 17) -> list[str]:
    found: list[str] = []
    page = None
    for _ in range(1000):
        got = list_transfers(
            part_of(app, Database), part_of(app, SnapshotSource), wanted.filters, page, size, wanted.order
        )
        assert len(got.transfers) <= size
        found += [line.transfer_id for line in got.transfers]
        page = got.next_page
        if page is None:
            return found
    raise AssertionError("the pages do not end")


def began(row: dict[str, Any]) -> Any:
    return row["began_at"] or row["updated_at"]


def tokens(row: dict[str, Any]) -> int | None:
    """The amount in the finest unit; None where it cannot be compared."""
    decimals = DECIMALS.get(row["src_chain_id"])
    if row["symbol"] != "USDT" or row["amount"] is None or decimals is None:
        return None
    return int(row["amount"]) * 10 ** (18 - decimals)


KEYS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "oldest": began,
    "youngest": lambda row: -began(row).timestamp(),
    "largest": lambda row: -(tokens(row) or 0),
    "smallest": tokens,
}


def expected(rows: list[dict[str, Any]], fields: dict[str, str]) -> list[str]:
    """By the rule, without a database."""
    met = []
    for row in rows:
        amount = tokens(row)
        _, least, most = AGES[fields["age"]] if "age" in fields else ("", None, None)
        least_amount = int(fields.get("least", "0")) * 10**18
        most_amount = int(fields["most"]) * 10**18 if "most" in fields else None
        if (
            ((fields["sort"] not in ("largest", "smallest") and "least" not in fields) or amount is not None)
            and (amount or 0) >= least_amount
            and (most_amount is None or (amount is not None and amount <= most_amount))
            and ("token" not in fields or row["symbol"] == fields["token"])
            and (
                "status" not in fields
                or (
                    row["status"]
                    not in (Status.TRANSFER_FAILED, Status.TRANSFER_COMPLETED, Status.TRANSFER_REFUNDED)
                )
                == (fields["status"] == "open")
            )
            and ("src" not in fields or row["src_chain_id"] == int(fields["src"]))
            and ("account" not in fields or row["sender"] == fields["account"])
            and (least is None or began(row) < NOW - least)
            and (most is None or began(row) >= NOW - most)
        ):
            met.append(row)
    key = KEYS[fields["sort"]]
    return ["0x" + row["transfer_id"].hex() for row in sorted(met, key=lambda r: (key(r), r["transfer_id"]))]


OF_AGE = [
    {"sort": sort, **more, **age}
    for sort, more, age in itertools.product(
        ("oldest", "youngest"),
        ({}, {"status": "open"}, {"src": "1"}, {"account": SENDER}, {"token": "USDT"}),
        ({}, {"age": "over-1h"}, {"age": "under-24h"}),
    )
]
OF_AMOUNT = [
    {"sort": sort, "token": "USDT", **more, **bounds}
    for sort, more, bounds in itertools.product(
        ("largest", "smallest"),
        ({}, {"status": "open"}, {"src": "2"}, {"account": SENDER, "age": "over-1h"}),
        ({}, {"least": "1"}, {"least": "1", "most": "1000000000000"}),
    )
]
BOTH = [{"sort": "oldest", "token": "USDT", "least": "1"}]


@pytest.mark.parametrize("step", few_or_many(4, 1))
@pytest.mark.parametrize("few", [10_000, 0])
def test_orders_and_filters_list_each_once(
    app: Flask, database: Database, monkeypatch: pytest.MonkeyPatch, few: int, step: int
) -> None:
    """Sorted here, and walked in the index of the order."""
    rows = fill(database, 300 if step == 1 else 150)
    monkeypatch.setattr(lists, "FEW", few)
    monkeypatch.setattr(lists, "SCANNED", 40)
    for fields in [*OF_AGE, *OF_AMOUNT, *BOTH][::step]:
        wanted = requested(app, **fields)
        assert wanted.complaints == []
        assert pages(app, wanted) == expected(rows, fields), fields


def put(database: Database, *rows: tuple[int, int, int]) -> None:
    """Transfers of USDT, each with its source chain, its amount and its status; ids rise."""
    known = {"refund_reason": 0, "updated_at": NOW, "symbol": "USDT"}
    with writing(database.engine) as connection:
        for n, (chain, amount, status) in enumerate(rows):
            of_row = {
                "src_chain_id": chain,
                "amount": amount,
                "status": status,
                "transfer_id": bytes([n]) * 32,
            }
            connection.execute(insert(Transfer).values(known | of_row))


def numbers(found: list[str]) -> list[int]:
    return [int(each[2:4], 16) for each in found]


def test_amounts_compare_in_one_unit(app: Flask, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """One USDT has 6 decimals on chain 1 and 18 on chain 2: the smaller number can be more."""
    monkeypatch.setattr(lists, "SCANNED", 1)
    amounts = [(1, 2 * 10**6), (2, 10**18), (2, 3 * 10**18), (1, 10**6 + 1), (3, MAX_UINT256)]
    # The place after a fraction of a chain's unit is before all that have the whole unit, whatever their ids.
    amounts += [(1, 10**6), (2, 10**18 + 1)]
    put(database, *((chain, amount, 5) for chain, amount in amounts))
    for few, size in ((10_000, 2), (0, 1), (0, 5)):
        monkeypatch.setattr(lists, "FEW", few)
        found = pages(app, requested(app, sort="largest", token="USDT"), size)
        assert numbers(found) == [4, 2, 0, 3, 6, 1, 5]
        found = pages(app, requested(app, sort="smallest", token="USDT"), size)
        assert numbers(found) == [1, 5, 6, 3, 0, 2, 4]
    found = pages(app, requested(app, token="USDT", least="1.000001", most="2"))
    assert numbers(found) == [0, 3]


def test_pages_wait_for_rows_of_unread_chain(
    app: Flask, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of chain 1 only the largest are read, and none meets the filter: chain 3 cannot go on without it."""
    monkeypatch.setattr(lists, "FEW", 1)
    monkeypatch.setattr(lists, "SCANNED", 40)
    of_one = [(1, amount * 10**6, 10 if amount in (50, 45) else 5) for amount in range(100, 40, -1)]
    of_three = [(3, amount * 10**6 + 5 * 10**5, 10) for amount in range(49, 40, -1)]
    put(database, *of_one, *of_three)
    found = pages(app, requested(app, sort="largest", token="USDT", status="10"), 5)
    assert numbers(found) == [50, 60, 61, 62, 63, 64, 55, 65, 66, 67, 68]


def test_equal_amounts_do_not_block_paging(
    app: Flask, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "FEW", 1)
    monkeypatch.setattr(lists, "SCANNED", 1)
    put(database, *[(1, 10**6, 5)] * 10, (2, 10**18 + 1, 5), (1, 2 * 10**6, 5))
    found = pages(app, requested(app, sort="smallest", token="USDT"), 1)
    assert numbers(found) == [*range(12)]


def test_order_follows_the_filter(app: Flask) -> None:
    assert requested(app).order is Order.CHANGED
    assert requested(app, age="over-1h").order is Order.OLDEST
    assert requested(app, token="USDT", least="1").order is Order.LARGEST
    assert requested(app, age="over-1h", sort="changed").order is Order.CHANGED


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"sort": "largest"}, "Choose a token"),
        ({"least": "5"}, "Choose a token"),
        ({"least": "5", "token": "NONE"}, "Choose a token"),
        ({"least": "1e5", "token": "USDT"}, "Amount from: “1e5” is not an amount"),
        ({"most": "-1", "token": "USDT"}, "Amount to: “-1” is not an amount"),
        ({"age": "old"}, "Age: “old” is not one of the ages"),
        ({"sort": "up"}, "Order: “up” is not an order"),
    ],
)
def test_unusable_filter_is_reported_and_ignored(app: Flask, fields: dict[str, str], words: str) -> None:
    wanted = requested(app, **fields)
    assert [each for each in wanted.complaints if words in each]
    assert wanted.order is Order.CHANGED
    assert set(wanted.fields) <= {"token"}


def test_unreadable_page_begins_at_start(
    app: Flask, database: Database, snapshots: SnapshotSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(database, 30)
    for few, sort in itertools.product((10_000, 1), ("oldest", "youngest", "largest", "smallest")):
        monkeypatch.setattr(lists, "FEW", few)
        wanted = requested(app, sort=sort, token="USDT")
        listed = (database, snapshots, wanted.filters)
        first = list_transfers(*listed, None, 5, wanted.order)
        for page in ("x", "", "AAAA", "a" * 400):
            assert list_transfers(*listed, page, 5, wanted.order).transfers == first.transfers, (sort, page)
        for page in ("_" * 56, "f" * 120, "A" * 56):  # places at which there is nothing
            list_transfers(*listed, page, 5, wanted.order)


def hashed(database: Database, count: int) -> None:
    """Transfers with ids as hashes, of which one in ten is not finished and one in a hundred at status 8."""
    rows = [
        {
            "transfer_id": sha256(b"%d" % n).digest(),
            "status": 8 if n % 100 == 0 else 3 if n % 10 == 0 else 5,
            "refund_reason": 0,
            "updated_at": NOW - timedelta(seconds=n),
        }
        for n in range(count)
    ]
    with writing(database.engine) as connection:
        connection.execute(insert(Transfer), rows)


@pytest.mark.every_database
@pytest.mark.parametrize("rare", [lists.RARE, 20])
def test_count_is_exact_up_to_a_bound(
    app: Flask, database: Database, snapshots: SnapshotSource, monkeypatch: pytest.MonkeyPatch, rare: int
) -> None:
    """With any filters together; more than the bound are *at least* so many.

    :param rare: rows of one filter that are read first in SQLite.
    """
    hashed(database, 3_000)
    monkeypatch.setattr(lists, "RARE", rare)

    def count(**fields: str) -> ListCount:
        return list_transfers(database, snapshots, requested(app, **fields).filters).count

    assert count() == ListCount(3_000)
    assert count(status="5", within="1h") == ListCount(2_700)
    monkeypatch.setattr(lists, "FEW", 400)
    assert count() == count(status="5") == ListCount(400, at_least=True)
    assert count(status="open") == ListCount(300)
    assert count(account=SENDER) == ListCount(0)
    assert count(status="8") == ListCount(30)
    assert count(status="5", token="USDT") == ListCount(0), "no transfer is of this token"
    assert count(status="5", age="under-1h") == ListCount(400, at_least=True)
    changed = f"{NOW - timedelta(seconds=200):%Y-%m-%dT%H:%M:%S}"
    assert count(status="3", since=changed) == ListCount(18)
    changed = f"{NOW - timedelta(seconds=2_990):%Y-%m-%dT%H:%M:%S}"
    assert count(status="5", until=changed, age="under-1h") == ListCount(9), "few of many and of many"
    monkeypatch.setattr(lists, "FEW", 299)
    assert count(status="open") == ListCount(299, at_least=True), "one more than the bound"


@pytest.mark.every_database
def test_transfer_list_quotes_any_filter_text(
    app: Flask, database: Database, snapshots: SnapshotSource
) -> None:
    """Values are written into the statement, quoted."""
    hashed(database, 10)
    for text_of_it in ("O'Brien", "' OR 1=1 --", "%s", "%(x)s", ":x", "\\", "\\' OR 1=1 --", "☃"):
        for name in ("account", "token"):
            filters = requested(app, **{name: text_of_it}).filters
            assert list_transfers(database, snapshots, filters).count == ListCount(0), text_of_it
    with writing(database.engine) as connection:
        connection.execute(update(Transfer).values(sender="a%s' \\ :b", symbol="%(x)s'"))
    odd = requested(app, account="a%s' \\ :b", token="%(x)s'").filters
    assert list_transfers(database, snapshots, odd).count == ListCount(10)


@pytest.mark.postgresql_alone
@pytest.mark.parametrize("step", few_or_many(7, 1))
def test_no_order_reads_the_whole_table(
    app: Flask, database: Database, snapshots: SnapshotSource, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """PostgreSQL's plans, with sequential scans as dear as they are at ten millions."""
    fill(database, 2000)
    with database.engine.begin() as connection:
        connection.execute(text("ANALYZE transfers"))
    with plans(database.reads) as seen:
        for few in (10_000, 10):
            monkeypatch.setattr(lists, "FEW", few)
            for fields in [*OF_AGE, *OF_AMOUNT][::step]:
                wanted = requested(app, **fields)
                list_transfers(database, snapshots, wanted.filters, None, 20, wanted.order)
    assert not [plan for plan in seen if re.search(r"Seq Scan on transfers.*\n +Filter:", plan)]
    assert [plan for plan in seen if "ix_transfers_age" in plan]
    assert [plan for plan in seen if "ix_transfers_token_amount" in plan]


SMALL = ("USDT", 1, 2)
GREAT = ("CELR", 10**12, 3)
"""A token, its amount and the chain that it goes to, of half of the transfers each."""


def plans_of_amounts(
    app: Flask, database: Database, snapshots: SnapshotSource, **filters: str
) -> tuple[ListCount, list[str]]:
    """The count of a list of USDT among thousands of transfers, and the plans of its selects."""
    known = {"status": 5, "refund_reason": 0, "updated_at": NOW, "src_chain_id": 1}
    rows = [
        {"transfer_id": n.to_bytes(32, "big"), "symbol": symbol, "amount": amount, "dst_chain_id": chain}
        for n, (symbol, amount, chain) in enumerate([SMALL, GREAT] * 3_000)
    ]
    with writing(database.engine) as connection:
        connection.execute(insert(Transfer).values(**known), rows)
    with database.engine.begin() as connection:
        connection.execute(text("ANALYZE transfers"))
    wanted = requested(app, token="USDT", **filters)
    with plans(database.reads, as_small=True) as seen:
        page = list_transfers(database, snapshots, wanted.filters, None, 20, wanted.order)
    return page.count, seen


@pytest.mark.postgresql_alone
@pytest.mark.parametrize("more", [{}, {"src": "1"}, {"sort": "largest"}])
def test_great_amounts_of_a_token_without_any_are_read_by_index(
    app: Flask,
    database: Database,
    snapshots: SnapshotSource,
    monkeypatch: pytest.MonkeyPatch,
    more: dict[str, str],
) -> None:
    """PostgreSQL expects to find some soon, wherever it reads: others of the table are great."""
    monkeypatch.setattr(lists, "FEW", 20)
    count, seen = plans_of_amounts(app, database, snapshots, least="1000", **more)
    assert count == ListCount(0)
    assert seen and not [plan for plan in seen if "Seq Scan on transfers" in plan]


@pytest.mark.postgresql_alone
def test_amounts_that_miss_another_filter_are_not_walked(
    app: Flask, database: Database, snapshots: SnapshotSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No USDT goes to the chain of the others. PostgreSQL expects to find some soon by their amounts."""
    monkeypatch.setattr(lists, "FEW", 20)
    count, seen = plans_of_amounts(app, database, snapshots, least="0.000001", dst="3")
    assert count == ListCount(0)
    assert seen and not [plan for plan in seen if "ix_transfers_token_amount" in plan]


@pytest.mark.postgresql_alone
def test_amounts_without_bounds_are_counted_in_any_order(
    app: Flask, database: Database, snapshots: SnapshotSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first rows that are found will do: the order of their amounts would read others for nothing."""
    monkeypatch.setattr(lists, "FEW", 20)
    count, seen = plans_of_amounts(app, database, snapshots, sort="largest")
    (counting,) = (plan for plan in seen if "CTE matching" in plan)
    assert count == ListCount(20, at_least=True)
    assert "ix_transfers_token_amount" not in counting
