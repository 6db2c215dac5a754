"""Answers of nodes that cannot be true."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest
from msgspec.structs import replace

from app.values.identifiers import BlockNumber
from app.watcher.rules.blocks import Header, ImpossibleAnswer, Log, check_blocks, check_logs, check_parents
from app.watcher.rules.logs.contracts import TOPICS
from tests.watcher.logs import POOL, block_hash, header, headers_of, send

GOOD = (send(block=100, index=4), send(block=100, index=9), send(block=102, index=0))


def check(*logs: Log) -> None:
    check_logs(logs, BlockNumber(100), BlockNumber(102), {POOL}, TOPICS)


def test_valid_answer_passes() -> None:
    check(*GOOD)
    check()
    check_blocks(GOOD, headers_of(*GOOD))


BAD: list[tuple[str, Sequence[Log]]] = [
    ("for blocks 100 to 102", [send(block=99)]),
    ("for blocks 100 to 102", [send(block=103)]),
    ("not requested", [send(contract=b"\x33" * 20)]),
    ("not requested", [replace(send(), topics=(bytes(32),))]),
    ("not requested", [replace(send(), topics=())]),
    ("repeated or out of order", [GOOD[0], GOOD[0]]),
    ("repeated or out of order", [GOOD[1], GOOD[0]]),
    ("repeated or out of order", [GOOD[2], GOOD[0]]),
    ("different block hashes", [GOOD[0], send(block=100, index=9, branch="b")]),
]


@pytest.mark.parametrize(("reason", "logs"), BAD)
def test_impossible_log_is_refused(reason: str, logs: Sequence[Log]) -> None:
    with pytest.raises(ImpossibleAnswer, match=reason):
        check(*logs)


def test_logs_of_another_branch() -> None:
    with pytest.raises(ImpossibleAnswer, match="block 100"):
        check_blocks([send(branch="b")], {BlockNumber(100): header(100)})
    with pytest.raises(ImpossibleAnswer, match="block 100"):
        check_blocks([send()], {})


BAD_PARENTS = [
    ([header(7), header(8, "b")], "does not build on block 7"),
    ([header(8, "b"), header(7)], "does not build on block 7"),
    ([header(7), header(7, "b")], "two blocks"),
    ([header(7), replace(header(8), at=header(7).at - timedelta(seconds=1))], "older"),
]


def test_parents() -> None:
    check_parents([header(7), header(8), header(20, "b"), header(8)])
    check_parents([header(7), header(8, "b", parent_branch="a")])
    check_parents([replace(header(8), at=header(7).at), header(7)])


@pytest.mark.parametrize(("headers", "reason"), BAD_PARENTS)
def test_headers_that_do_not_chain(headers: list[Header], reason: str) -> None:
    with pytest.raises(ImpossibleAnswer, match=reason):
        check_parents(headers)


def test_no_hash_in_words() -> None:
    with pytest.raises(ImpossibleAnswer) as raised:
        check_parents([header(7), header(8, "b")])
    assert block_hash(7) not in str(raised.value)
