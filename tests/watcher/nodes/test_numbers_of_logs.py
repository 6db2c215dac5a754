"""A log counts once, with the id of its first report, however nodes count logs and any reporter."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

import pytest
from sqlalchemy import select, update

from app.db.database import Database
from app.db.engine import reading, writing
from app.feed.services.log import export_log
from app.feed.verifying.run import verify
from app.network.models import Chain, NetworkPart, ReportedValidatorSet
from app.transfers.models import Event
from tests.feed.services.world import feed, forget_events
from tests.watcher.fake_node import FakeNode
from tests.watcher.kit import (
    CHAIN,
    ELSEWHERE,
    REFUNDED,
    Watched,
    leaves_out,
    liquidity,
    queued,
    refund,
    relay,
    rotation,
    send,
)
from tests.watcher.nodes.behaviours import counting, results

Count = Callable[[int, int], int]

COUNTS: dict[str, Count] = {
    "in the block": lambda in_block, _: in_block,
    "in the transaction": lambda _, in_tx: in_tx,
    "in the transaction from one on": lambda _, in_tx: in_tx + 1,
}


def mine(watched: Watched) -> None:
    """Blocks with several transactions of several logs, some of which are equal."""
    chain = watched.chain
    chain.mine(ELSEWHERE, send(1), send(2, tx="two"), send(3, tx="two"))
    chain.mine(*(liquidity(n, 100, tx) for n, tx in ((1, "a"), (1, "a"), (2, "a"), (3, "b"), (3, "b"))))
    chain.mine(send(REFUNDED, tx="c"), liquidity(4, 100, "c"), liquidity(5, 200, "d"), relay(7, tx="d"))
    chain.mine(*(rotation(bytes([member]) * 20) for member in range(1, 9)))
    chain.mine(liquidity(6, 300, "e"), queued(8, "e"), relay(8, tx="e"), refund(REFUNDED, tx="f"))
    chain.mine_many(12)


def read(watched: Watched, *counts: Count, receipts: bool = True) -> None:
    """Read everything by nodes that count so, and prove it."""
    nodes = [FakeNode(watched.chain, receipts=receipts) for _ in counts]
    watched.nodes = nodes
    for node, count in zip(nodes, counts, strict=True):
        node.behaviours = [counting(watched.chain, count)]
    watched.settle(watched.reader())


def read_once(watched: Watched, count: Count) -> None:
    """Read everything once by a node that counts so."""
    watched.nodes = [FakeNode(watched.chain, behaviours=[counting(watched.chain, count)])]
    reader = watched.reader()
    reader.poll()
    while watched.row.backfilled_to is None:
        reader.background()


def ids(database: Database) -> list[str]:
    """The ids of all that was reported of logs, in the order of their text."""
    with reading(database.engine) as connection:
        found = connection.scalars(select(Event.event_id).where(Event.type != "chain.head"))
        return sorted(set(found))


def signers(database: Database) -> Any:
    """The set that is in force."""
    with reading(database.engine) as connection:
        return connection.scalar(select(ReportedValidatorSet.members))


def expect(watched: Watched) -> None:
    """Everything is proven without a difference, and the answers are those of a node that counts by block."""
    final = watched.chain.head.number - 6
    stored = watched.row
    assert (stored.reread_to, stored.proven_to) == (final, final)
    assert not watched.missed and stored.differed == stored.refused == 0
    verify(watched.database, lambda found: pytest.fail(str(found)))
    assert (watched.answers, signers(watched.database)) == counted_by_block(watched)


RIGHT: dict[str, tuple[dict[str, Any], Any]] = {}
"""What ``counted_by_block`` has found, by the newest block, whose hash identifies the whole chain."""


def counted_by_block(watched: Watched) -> tuple[dict[str, Any], Any]:
    """The answers and the validators where one node is read that counts by block."""
    if (head := watched.chain.head.hash) not in RIGHT:
        forget_events(watched.app)
        read(watched, COUNTS["in the block"])
        RIGHT[head] = watched.answers, signers(watched.database)
    return RIGHT[head]


@pytest.mark.parametrize(
    ("count", "receipts"),
    [
        ("in the block", "in the transaction"),
        ("in the transaction", "in the transaction from one on"),
        ("in the transaction from one on", "in the block"),
    ],
)
def test_watcher_reads_url_with_any_log_numbering(watched: Watched, count: str, receipts: str) -> None:
    mine(watched)
    node = watched.nodes[0]
    node.behaviours = [
        counting(watched.chain, COUNTS[count], "eth_getLogs"),
        counting(watched.chain, COUNTS[receipts], "eth_getBlockReceipts"),
    ]
    watched.settle(watched.reader())
    expect(watched)


@pytest.mark.parametrize(
    ("count", "other", "receipts"),
    [
        ("in the block", "in the transaction", True),
        ("in the transaction", "in the transaction from one on", False),
        ("in the transaction from one on", "in the block", True),
        ("in the block", "in the block", False),
        pytest.param("in the transaction", "in the block", False, marks=pytest.mark.slow),
        pytest.param("in the transaction", "in the transaction", True, marks=pytest.mark.slow),
        pytest.param("in the block", "in the transaction from one on", False, marks=pytest.mark.slow),
    ],
)
def test_urls_agree_with_different_log_numbering(
    watched: Watched, count: str, other: str, receipts: bool
) -> None:
    """What one URL reported by its count is not reported again by another's."""
    mine(watched)
    read_once(watched, COUNTS[count])
    before = ids(watched.database)
    assert before and watched.row.reread_to is None
    read(watched, *map(COUNTS.__getitem__, [other] if receipts else [count, other]), receipts=receipts)
    assert ids(watched.database) == before
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
def test_logs_without_transaction_index_are_ordered(watched: Watched, without: Callable[[Any], Any]) -> None:
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


def test_omitted_logs_are_found_by_other_count(watched: Watched) -> None:
    mine(watched)
    count = counting(watched.chain, COUNTS["in the transaction"])
    watched.nodes.append(FakeNode(watched.chain, behaviours=[count]))
    watched.nodes[0].omit = leaves_out(liquidity(1, 100), queued(8, ""))
    watched.settle(watched.reader())
    differences = [(each.missing, each.surplus) for each in watched.missed]
    assert len(differences) == 1 and min(differences[0]) >= 0
    assert watched.answers == counted_by_block(watched)[0]


def test_reorganised_log_counts_in_its_new_block(watched: Watched) -> None:
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


def test_digest_of_earlier_release_is_equal(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
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


def reports(watched: Watched, count: Count) -> list[dict[str, Any]]:
    """What a reporter sends that reads the chain from a node that counts so, without optional fields."""
    read(watched, count)
    lines = [json.loads(line) for line in export_log(watched.database)]
    forget_events(watched.app)
    left_out = {"seq", "reporter", "received_at", "log_index", "withdraw_id"}
    return [
        {name: line[name] for name in line if name not in left_out or line["type"] == "withdraw.done"}
        for line in lines
        if line["type"] not in ("chain.head", "events.retracted")
    ]


def is_watched(database: Database) -> None:
    """The chain is configured to be watched."""
    with writing(database.engine) as connection:
        connection.execute(update(Chain).where(Chain.chain_id == CHAIN).values(watch_from_block=1, rpc=["A"]))
        connection.execute(update(NetworkPart).values(version=NetworkPart.version + 1))


PAIRS = [
    ("in the block", "in the transaction"),
    ("in the transaction", "in the block"),
    ("in the transaction", "in the transaction from one on"),
]
"""How a reporter's node counts, and how the watcher's does."""
AT_ONCE, ONE_BY_ONE = True, False


@pytest.mark.parametrize(
    ("pair", "first", "together"),
    [
        (PAIRS[0], "reporter", AT_ONCE),
        (PAIRS[1], "watcher", AT_ONCE),
        (PAIRS[2], "watcher", ONE_BY_ONE),
        (PAIRS[0], "reporter", ONE_BY_ONE),
        pytest.param(PAIRS[0], "watcher", ONE_BY_ONE, marks=pytest.mark.slow),
        pytest.param(PAIRS[1], "reporter", AT_ONCE, marks=pytest.mark.slow),
        pytest.param(PAIRS[2], "reporter", ONE_BY_ONE, marks=pytest.mark.slow),
    ],
)
@pytest.mark.every_database
def test_watcher_and_reporter_mean_one_log(
    watched: Watched, pair: tuple[str, str], first: str, together: bool
) -> None:
    """Of a log that both report there is one event."""
    (count, other), database = pair, watched.database
    mine(watched)
    lines = reports(watched, COUNTS[count])
    is_watched(database)
    if first == "watcher":
        read(watched, COUNTS[other])
    before = ids(database)
    for post in [lines] if together else [[line] for line in lines]:
        result = feed(watched.app, *post)
        assert not result.refused
        assert result.repeated == len(post) or first == "reporter"
    if first == "reporter":
        assert not together or result.accepted == len(lines)
        before = ids(database)
        read(watched, COUNTS[other])
    assert ids(database) == before or not together
    expect(watched)


def test_two_reporters_mean_one_log(database: Database, watched: Watched) -> None:
    mine(watched)
    first = reports(watched, COUNTS["in the block"])
    second = reports(watched, COUNTS["in the transaction"])
    is_watched(database)
    assert feed(watched.app, *first, reporter="one").accepted == len(first)
    result = feed(watched.app, *second, reporter="two")
    assert (result.accepted, result.refused) == (0, [])
    read(watched, COUNTS["in the transaction from one on"])
    expect(watched)


def test_equal_logs_of_unwatched_chain_all_count(watched: Watched) -> None:
    mine(watched)
    lines = reports(watched, COUNTS["in the block"])
    assert [feed(watched.app, line).accepted for line in lines] == [1] * len(lines)
    found = watched.answers["pools"]
    assert counted_by_block(watched)[0]["pools"] == found


def test_repetition_is_accepted_after_reorg(database: Database, watched: Watched) -> None:
    watched.chain.mine_many(3)
    watched.chain.mine(ELSEWHERE, liquidity(1, 100, "a"), liquidity(2, 100, "a"))
    watched.chain.mine_many(12)
    lines = reports(watched, COUNTS["in the block"])
    read(watched, COUNTS["in the transaction"])
    before, found = ids(database), watched.answers
    taken_back = {
        "type": "chain.reorged",
        "id": "again",
        "at": lines[0]["at"],
        "chain_id": CHAIN,
        "from_block": 4,
    }
    feed(watched.app, taken_back)
    assert watched.answers != found
    assert feed(watched.app, *lines).accepted == len(lines)
    assert watched.answers == found and set(ids(database)) == {*before, "again"}
    verify(database, lambda difference: pytest.fail(str(difference)))
