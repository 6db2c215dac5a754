"""Pages of histories: every transfer once, in one statement, also while new ones arrive."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from msgspec.structs import replace
from sqlalchemy import Connection, event, insert, text

from app.db.database import CachedReads, Database
from app.db.engine import writing
from app.db.writes import writes_of
from app.http.application import part_of
from app.network.snapshot import SnapshotSource
from app.transfers.models import Transfer, TransferAccount
from app.transfers.queries import history
from app.transfers.services.lookups import find_transfers, transfer_history
from app.transfers.services.status import transfer_statuses
from app.values.identifiers import account_key
from app.values.times import unix_milliseconds
from tests.databases import SharedDatabase
from tests.feed.services.world import NOW, small_network

ACCOUNTS = ("0xaa", "0xbb", "0xcc")
READS_OF_A_LOOK_UP = 5
"""How far chains are read, the transfers, their log, what of it is retracted, and what is proven."""


@pytest.fixture
def app(app: Flask, shared_database: SharedDatabase) -> Flask:
    return small_network(app, shared_database, clock=lambda: NOW)


def add(connection: Connection, made: Sequence[tuple[int, float, str, str]]) -> None:
    """Transfers as the feed projects them: number, seconds after NOW, sender, receiver."""
    rows: list[dict[str, Any]] = []
    entries: list[dict[str, Any]] = []
    for n, after, sender, receiver in made:
        key, began = n.to_bytes(32, "big"), NOW + timedelta(seconds=after)
        rows.append(
            {"transfer_id": key, "status": 1, "refund_reason": 0, "sender": sender, "receiver": receiver}
            | {"kind": "pool", "src_chain_id": 1, "dst_chain_id": 2, "symbol": "USDT", "amount": n}
            | {"src_tx_hash": f"0x{n:064x}", "sent_at": began, "began_at": began, "updated_at": began}
        )
        entries += [
            {"account": account, "began_ms": unix_milliseconds(began), "transfer_id": key}
            for account in {account_key(sender), account_key(receiver)}
        ]
    connection.execute(insert(Transfer), rows)
    connection.execute(insert(TransferAccount), entries)


def walk(app: Flask, accounts: Sequence[str], size: int) -> Iterator[list[int]]:
    """The pages until the first empty one, by the numbers of their transfers."""
    token = ""
    while True:
        page = transfer_history(
            part_of(app, Database),
            part_of(app, SnapshotSource),
            accounts,
            int(token) if token else None,
            size,
        )
        if not page.transfers:
            assert not page.next_page_token
            return
        yield [int.from_bytes(each.transfer_id, "big") for each in page.transfers]
        token = page.next_page_token


@pytest.mark.parametrize("seed", range(2))
def test_paging_shows_every_transfer_once(app: Flask, database: Database, seed: int) -> None:
    """While new ones arrive."""
    draw = random.Random(seed)
    old: list[tuple[int, float, str, str]] = []
    for n in range(1, 60):
        ago = draw.choice((1, 1.0004, 1.5, 2, 2, 2, 7, 9, draw.random() * 9))
        old.append((n, -ago, draw.choice(ACCOUNTS), draw.choice(ACCOUNTS)))
    with writing(database.engine) as connection:
        add(connection, old)
    for accounts in (ACCOUNTS[:1], ACCOUNTS[:2], (*ACCOUNTS, "0xdd")):
        expected = {n for n, _, *parties in old if set(parties) & set(accounts)}
        for size in (1, 3, 10, 100):
            seen: list[int] = []
            for page in walk(app, accounts, size):
                seen += page
                with writing(database.engine) as connection:  # each page is followed by an arrival
                    add(connection, [(draw.getrandbits(64), draw.random(), *ACCOUNTS[:2])])
            shown = [n for n in seen if n < 60]
            assert len(seen) == len(set(seen))
            assert set(shown) == expected
            began = {n: int((100 + after) * 1000) for n, after, *_ in old}
            assert [began[n] for n in shown] == sorted((began[n] for n in shown), reverse=True)


def test_history_puts_ties_on_one_page(app: Flask, database: Database) -> None:
    """The page has no more than they need."""
    with writing(database.engine) as connection:
        add(connection, [(n, -(n // 50), "0xaa", "0xbb") for n in range(300)])
    lengths = [len(page) for page in walk(app, ("0xaa", "0xbb"), 40)]
    assert lengths == [50] * 6
    assert [len(page) for page in walk(app, ("0xaa",), 1000)] == [100] * 3


def test_each_answer_is_few_reads(app: Flask, database: Database, snapshots: SnapshotSource) -> None:
    with writing(database.engine) as connection:
        add(connection, [(n, -n, "0xaa", "0xbb") for n in range(1, 100)])
    snapshots.current()
    executed: list[str] = []
    own = threading.get_ident()

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_rest: Any) -> tuple[str, Any]:
        if threading.get_ident() == own:  # an application of before may still look at the journal
            executed.append(statement)
        return statement, parameters

    # What is cached outlasts the test, however slow the machine is.
    database = replace(database, cached=CachedReads(600, writes_of(database.engine)))
    fixed: Any = _Fixed(snapshots.current())
    event.listen(database.reads, "before_cursor_execute", note, retval=True)
    try:
        for _ in range(2):  # compiled the first time, run directly from then on
            executed.clear()
            assert len(transfer_history(database, fixed, ("0xaa", "0xbb"), None, 10).transfers) == 10
            assert len(executed) == 1
        ids = [n.to_bytes(32, "big") for n in range(1, 100)]
        for cached in (False, True):  # the first time what their progress needs is read, too, and cached
            executed.clear()
            assert len(transfer_statuses(database, fixed, ids)) == 99  # type: ignore[arg-type]
            assert len([each for each in executed if "transfers" in each]) == 1
            assert (len(executed) == 1) == cached
        if database.engine is not database.reads:  # one snapshot, which is read elsewhere
            event.listen(database.engine, "before_cursor_execute", note, retval=True)
        for _ in range(2):  # the first time what its progress needs is read, too, and cached
            executed.clear()
            found = find_transfers(database, fixed, f"0x{5:064x}", None)
            assert len(found.transfers) == 1
        selects = [each for each in executed if each.startswith("SELECT")]
        assert len(selects) == READS_OF_A_LOOK_UP, selects
    finally:
        if database.engine is not database.reads:
            event.remove(database.engine, "before_cursor_execute", note)
        event.remove(database.reads, "before_cursor_execute", note)


class _Fixed:
    """A configuration that is not read again."""

    def __init__(self, snapshot: Any) -> None:
        self._snapshot = snapshot

    def current(self) -> Any:
        return self._snapshot


@pytest.mark.postgresql_alone  # SQLite's plan has no numbers
def test_page_reads_only_what_it_shows(database: Database) -> None:
    """By the plan that PostgreSQL stores: the list is read by its key, the transfers by theirs."""
    with writing(database.engine) as connection:
        accounts = [*ACCOUNTS, *(f"0x{n}" for n in range(500))]
        add(connection, [(n, -n, accounts[n % 3], accounts[n % len(accounts)]) for n in range(1, 4001)])
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("ANALYZE"))
        for count in (1, 3):
            plan = _plan(connection, count)
            assert "Seq Scan" not in plan, plan
            assert "pk_transfer_accounts" in plan
            assert "pk_transfers" in plan


def _plan(connection: Connection, accounts: int) -> str:
    """The generic plan of a page of 10, carried out."""
    select = history._page(accounts)
    compiled = select.compile(connection, compile_kwargs={"render_postcompile": True})
    names = [f"account_{n}" for n in range(accounts)]
    types = {"before_ms": "bigint", "size": "integer"} | dict.fromkeys(names, "text")
    sql, order = str(compiled), list(types)
    for position, name in enumerate(order, start=1):
        sql = sql.replace(f"%({name})s", f"${position}")
    kinds = ", ".join(types.values())
    values = ", ".join([str(unix_milliseconds(NOW)), "10", *(f"'{a}'" for a in ACCOUNTS[:accounts])])
    connection.exec_driver_sql("SET plan_cache_mode = force_generic_plan")
    connection.exec_driver_sql(f"PREPARE page_{accounts} ({kinds}) AS {sql}")
    rows = connection.exec_driver_sql(f"EXPLAIN (ANALYZE, BUFFERS) EXECUTE page_{accounts} ({values})")
    return "\n".join(row[0] for row in rows)
