"""Nodes that count logs within the transaction are read as those that count within the block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import update

from app.db.database import Database
from app.db.engine import writing
from app.watcher.models import WatchSpan
from tests.feed.services.world import forget_events
from tests.watcher.fake_node import FakeNode
from tests.watcher.kit import (
    CHAIN,
    Watched,
    answers,
    leaves_out,
    liquidity,
    missed,
    queued,
    row,
    send,
)
from tests.watcher.nodes.behaviours import counting, results
from tests.watcher.nodes.counted import COUNTS, ELSEWHERE, Count, expect, ids, mine, read, read_once

pytestmark = pytest.mark.one_database


@pytest.mark.parametrize("count", COUNTS.values(), ids=COUNTS)
@pytest.mark.parametrize("receipts", COUNTS.values(), ids=COUNTS)
def test_one_url_is_read_however_it_counts(watched: Watched, count: Count, receipts: Count) -> None:
    mine(watched)
    node = watched.nodes[0]
    node.behaviours = [
        counting(watched.chain, count, "eth_getLogs"),
        counting(watched.chain, receipts, "eth_getBlockReceipts"),
    ]
    watched.settle(watched.reader())
    expect(watched)


@pytest.mark.parametrize("receipts", [True, False])
@pytest.mark.parametrize("other", COUNTS.values(), ids=COUNTS)
@pytest.mark.parametrize("count", COUNTS.values(), ids=COUNTS)
def test_two_urls_agree_however_they_count(
    database: Database, watched: Watched, count: Count, other: Count, receipts: bool
) -> None:
    mine(watched)
    read_once(watched, count)
    before = ids(database)
    assert before and row(database).reread_to is None
    read(watched, *([other] if receipts else [count, other]), receipts=receipts)
    assert ids(database) == before
    expect(watched)


def forget_what_was_read(database: Database) -> None:
    """As a reorganisation by somebody else does: everything is read and reported again."""
    with writing(database.engine) as connection:
        connection.execute(update(WatchSpan).values(digest=b"", count=0, state="read"))


@pytest.mark.parametrize("other", COUNTS.values(), ids=COUNTS)
def test_what_is_read_again_by_another_url_keeps_its_ids(
    database: Database, watched: Watched, other: Count
) -> None:
    mine(watched)
    read(watched, COUNTS["in the transaction"])
    before = ids(database)
    forget_what_was_read(database)
    read(watched, other)
    assert ids(database) == before
    expect(watched)


def test_id_has_the_index_that_the_node_gave(database: Database, watched: Watched) -> None:
    block = watched.chain.mine(ELSEWHERE, liquidity(1, 5, "a"), liquidity(2, 6, "a"), liquidity(3, 7, "b"))
    watched.chain.mine_many(12)
    (_, _), (first, _), (second, _) = block.transactions
    read(watched, COUNTS["in the transaction"])
    assert ids(database) == sorted(
        f"{CHAIN}:{block.hash}:{tx}:{index}" for tx, index in ((first, 0), (first, 1), (second, 0))
    )


@pytest.mark.parametrize(
    "without",
    [
        lambda logs: [log | {"transactionIndex": None} for log in logs],
        lambda logs: [{name: log[name] for name in log if name != "transactionIndex"} for log in logs],
        lambda logs: [*reversed(logs)],
    ],
    ids=["no place", "an empty place", "the newest first"],
)
def test_logs_are_in_order_without_the_place_of_their_transaction(
    watched: Watched, without: Callable[[Any], Any]
) -> None:
    mine(watched)
    count = counting(watched.chain, COUNTS["in the transaction"])
    watched.nodes[0].behaviours = [count, results("eth_getLogs", without)]
    watched.settle(watched.reader())
    expect(watched)


def test_logs_of_one_index_are_read(watched: Watched) -> None:
    watched.chain.mine(send(1), send(2, tx="two"), send(9, tx="two"), liquidity(1, 5, "two"), liquidity(2, 6))
    watched.chain.mine_many(12)
    read(watched, lambda _block, _tx: 0)
    expect(watched)


def test_log_that_is_returned_twice_counts_once(watched: Watched) -> None:
    mine(watched)
    watched.nodes[0].behaviours = [results("eth_getLogs", lambda logs: [*logs, *logs])]
    watched.settle(watched.reader())
    expect(watched)


@pytest.mark.parametrize("count", COUNTS.values(), ids=COUNTS)
def test_what_a_url_left_out_is_found_by_one_that_counts_otherwise(
    app: Flask, database: Database, watched: Watched, count: Count
) -> None:
    mine(watched)
    watched.nodes.append(FakeNode(watched.chain, behaviours=[counting(watched.chain, count)]))
    watched.nodes[0].omit = leaves_out(liquidity(1, 100), queued(8, ""))
    watched.settle(watched.reader())
    differences = [(each.missing, each.surplus) for each in missed(database)]
    assert len(differences) == 1 and min(differences[0]) >= 0
    found = answers(database)
    forget_events(app)
    read(watched, COUNTS["in the block"])
    assert answers(database) == found


def test_reorganised_transaction_counts_in_its_new_block(watched: Watched) -> None:
    watched.chain.mine_many(3)
    logs = [liquidity(1, 100, "a"), liquidity(1, 100, "a"), send(1, tx="b")]
    watched.chain.mine(*logs)
    watched.chain.mine_many(2)
    watched.nodes[0].behaviours = [counting(watched.chain, COUNTS["in the transaction"])]
    reader = watched.reader()
    reader.poll()
    old = list(watched.chain.blocks)
    watched.chain.reorg(3, [(), [ELSEWHERE, *logs], (), ()])
    watched.nodes[0].behaviours = []
    reader.poll()
    watched.chain.blocks[:] = [*old]  # the first branch comes back, and is counted by block now
    watched.chain.mine_many(12)
    watched.settle(reader)
    expect(watched)


def test_digest_of_an_earlier_release_is_no_difference(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine(watched)
    reader = watched.reader()
    with monkeypatch.context() as earlier:
        earlier.setattr("app.watcher.loop.fetch.digest", digest_by_index)
        reader.poll()
        reader.poll()
        reader.background()
    watched.settle(watched.reader())
    expect(watched)


def digest_by_index(logs: Sequence[Any]) -> bytes:
    """As releases up to 1.0.1 stored it."""
    return sha256(
        b"".join(
            f"{log.block}:{log.block_hash}:{log.tx_hash}:{log.index}:{len(log.topics)}:{len(log.data)}:".encode()
            + log.address
            + b"".join(log.topics)
            + log.data
            for log in logs
        )
    ).digest()
