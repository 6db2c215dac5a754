"""One box finds a transfer by anything that an operator is sent, however it is spelled."""

from __future__ import annotations

import pytest
from flask import Flask

from app.console.search import MOST_INSIDE, MOST_WORDS, Found, network_rows, search, whole_ones
from app.console.transfers.lists import list_transfers
from app.db.database import Database
from app.network.snapshot import SnapshotSource
from app.transfers.queries.lists import TransferFilters
from tests.console.pages.plans import plans
from tests.feed.services.world import SENDER, about, event, feed, released, sent, transfer_id

SEND = "0x" + "ab" * 32
PAYOUT = "0x" + "ee" * 32
REFUND = "0x" + "fe" * 32
FALLEN = "0x" + "dd" * 32


def spellings(text: str) -> list[str]:
    digits = text[2:]
    return [
        text,
        digits,
        text.upper(),
        f"0X{digits}",
        f"  {text}\n",
        digits.upper(),
        f"{text[:20]}\n {text[20:]}",
    ]


@pytest.fixture
def world(app: Flask) -> Flask:
    verdict = feed(
        app,
        sent(1, src_tx_hash=SEND),
        released(1),
        sent(2, src_tx_hash=FALLEN),
        event("chain.reorged", at=-60, chain_id=1, from_block=100),
        sent(2, at=-55, src_tx_hash="0x" + "dc" * 32, block=101),
        sent(3, src_tx_hash="0x" + "33" * 32, block=50),
        about(3, "refund.submitted", tx_hash=REFUND, block=60),
        sent(4, src_tx_hash="5xNotHexAtAll", sender="T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb", block=50),
        sent(1, src_tx_hash=SEND, event_id="again"),
        released(1, event_id="released again"),
    )
    assert not verdict.refused
    return app


def test_search_finds_id_in_any_spelling(app: Flask, database: Database, snapshots: SnapshotSource) -> None:
    feed(app, sent(0xABC, src_tx_hash=SEND))
    for spelled in spellings(transfer_id(0xABC)):
        found = search(database, snapshots, spelled)
        assert found.kind is Found.TRANSFER, spelled
        assert [line.transfer_id for line in found.transfers] == [transfer_id(0xABC)], spelled
        assert str(found.transfers[0].amount) == "1000 USDT"


LOGGED = {SEND: 1, PAYOUT: 1, FALLEN: 2, "0x" + "dc" * 32: 2, REFUND: 3, "5xNotHexAtAll": 4}
"""Every hash of a transaction, and its transfer."""


def test_finds_every_logged_transaction(world: Flask, database: Database, snapshots: SnapshotSource) -> None:
    for tx_hash, n in LOGGED.items():
        for spelled in spellings(tx_hash) if tx_hash.startswith("0x") else [tx_hash, f" {tx_hash} "]:
            found = search(database, snapshots, spelled)
            assert found.kind is Found.TRANSACTION, spelled
            assert [line.transfer_id for line in found.transfers] == [transfer_id(n)], spelled


def test_search_finds_account_in_any_spelling(
    world: Flask, database: Database, snapshots: SnapshotSource
) -> None:
    for spelled in spellings(SENDER):
        found = search(database, snapshots, spelled)
        assert (found.kind, found.account) == (Found.ACCOUNT, SENDER), spelled
        assert {line.transfer_id for line in found.transfers} == {transfer_id(n) for n in (1, 2, 3, 4)}
    foreign = search(database, snapshots, "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb")
    assert [line.transfer_id for line in foreign.transfers] == [transfer_id(4)]
    assert search(database, snapshots, "t9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb").kind is Found.NOTHING


def test_one_transaction_of_several_transfers(
    app: Flask, database: Database, snapshots: SnapshotSource
) -> None:
    feed(app, sent(1, src_tx_hash=SEND), sent(2, src_tx_hash=SEND), released(2))
    found = search(database, snapshots, SEND)
    assert {line.transfer_id for line in found.transfers} == {transfer_id(1), transfer_id(2)}
    assert found.message == "This is a transaction of 2 transfers."


def test_search_finds_id_that_is_also_a_hash(
    app: Flask, database: Database, snapshots: SnapshotSource
) -> None:
    feed(app, sent(1, src_tx_hash=transfer_id(2)), sent(2, src_tx_hash=SEND))
    found = search(database, snapshots, transfer_id(2))
    assert [line.transfer_id for line in found.transfers] == [transfer_id(2), transfer_id(1)]
    assert "also a transaction of one transfer" in found.message


def test_long_account_list_has_next_page(app: Flask, database: Database, snapshots: SnapshotSource) -> None:
    feed(app, *(sent(n, at=-n, src_tx_hash=f"0x{n:064x}") for n in range(1, 61)))
    found = search(database, snapshots, SENDER)
    assert (len(found.transfers), found.transfers[0].transfer_id) == (50, transfer_id(1))
    rest = list_transfers(database, snapshots, TransferFilters(account=found.account), found.next_page)
    assert [line.transfer_id for line in rest.transfers] == [transfer_id(n) for n in range(51, 61)]
    assert rest.next_page is None


NOT_FOUND = (
    ("", "Enter a transfer id"),
    ("   ", "Enter a transfer id"),
    ("0x" + "12" * 32, "No transfer has this id or transaction hash"),
    ("0x" + "12" * 20, f"This is an address, but no transfer from or to 0x{'12' * 20}"),
    ("0x1234", "has 4 digits: a transfer id and a transaction hash have 64, an address 40"),
    ("0x" + "1" * 63, "has 63 digits"),
    ("hello", "are case-sensitive"),
    ("https://scan.example/tx/", "Paste a transfer id"),
    ("x" * 200, "none has more than 128 characters"),
    ("a\0b", "none has more than"),
    ("'; DROP TABLE transfers; --", "Paste a transfer id"),
)
"""What is typed, and what the search says to do."""


def test_empty_search_suggests_next_step(world: Flask, database: Database, snapshots: SnapshotSource) -> None:
    for typed, words in NOT_FOUND:
        found = search(database, snapshots, typed)
        assert (found.kind, found.transfers) == (Found.NOTHING, ()), typed
        assert words in found.message, typed


def numbered(hex_digits: str) -> int:
    """The number of the transfer with this id."""
    return int(hex_digits, 16)


PARTS = (
    "0306" + "00" * 28 + "beef",
    "0306" + "11" * 28 + "beef",
    "77" * 30 + "0306",
    "aabb" + "22" * 27 + "cdbeef",
)


@pytest.fixture
def parts(app: Flask) -> Flask:
    feed(app, *(sent(numbered(each), src_tx_hash=f"0x{n:064x}") for n, each in enumerate(PARTS)))
    return app


def test_search_finds_part_of_id(parts: Flask, database: Database, snapshots: SnapshotSource) -> None:
    for typed, which in (
        ("0x0306…beef", {0, 1}),
        ("0306...BEEF", {0, 1}),
        ("0x030600…00beef", {0}),
        ("0x0306", {0, 1}),
        ("0306", {0, 1}),
        ("0x030611…ef", {1}),
        (f"0x{PARTS[0][:63]}", {0}),
    ):
        found = search(database, snapshots, typed)
        assert {line.transfer_id for line in found.transfers} == {f"0x{PARTS[n]}" for n in which}, typed
        assert found.kind is Found.PART, typed


@pytest.mark.every_database
def test_search_finds_part_of_account(world: Flask, database: Database, snapshots: SnapshotSource) -> None:
    for typed in (f"{SENDER[:8]}…{SENDER[-6:]}", SENDER[:9]):
        assert search(database, snapshots, typed).accounts == (SENDER,), typed
    assert search(database, snapshots, f"{SENDER[:8]}…000000").accounts == ()


def test_short_part_needs_more_digits(parts: Flask, database: Database, snapshots: SnapshotSource) -> None:
    for typed in ("0x03", "0x03…ef", "…beef", "03…cdbeef"):
        assert "at least the first 4 digits" in search(database, snapshots, typed).message, typed


def test_search_by_prefix_stops_at_one_page(
    app: Flask, database: Database, snapshots: SnapshotSource
) -> None:
    feed(app, *(sent((0x0306 << 240) + n, src_tx_hash=f"0x{n:064x}") for n in range(1, 60)))
    found = search(database, snapshots, "0x0306…")
    assert len(found.transfers) == 50
    assert "At least 50 transfers" in found.message


@pytest.mark.postgresql_alone
def test_no_search_reads_a_whole_table(parts: Flask, database: Database, snapshots: SnapshotSource) -> None:
    """At a million transfers each of them has to find what it shows by an index."""
    with plans(database.engine, database.reads) as seen:
        for typed in ("0x0306…beef", "0306", SENDER, SEND, f"{SENDER[:8]}…{SENDER[-6:]}"):
            search(database, snapshots, typed)
    of_transfers = [plan for plan in seen if "transfer" in plan]
    assert of_transfers
    whole = [plan for plan in of_transfers if "Seq Scan on transfer" in plan]
    assert not whole, "\n\n".join(whole)


def test_search_ignores_excess_words(database: Database) -> None:
    """Of a thousand words each was compared with every token; of fifty addresses each was looked up."""
    assert network_rows(database, "usdt")
    assert not network_rows(database, "usdt " * (MOST_WORDS + 1))
    addresses = [f"0x{number:040x}" for number in range(50)]
    assert whole_ones(" ".join(addresses)) == addresses[: -MOST_INSIDE - 1 : -1]
