"""Refusals as nodes word them, and what each means: the rows of ``messages.tsv``."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from app.watcher.rpc.faults import (
    Forbidden,
    Incomplete,
    NotOffered,
    NotThere,
    RateLimited,
    RpcFault,
    TooLarge,
    Unreachable,
    fault_of,
)
from app.watcher.rpc.refusals import (
    READ_CHARACTERS,
    AccessRefused,
    HeaderMissing,
    MethodOff,
    Other,
    Pruned,
    RangeTooLarge,
    Refusal,
    SomeLimit,
    TooManyCalls,
    TooManyRequests,
    refusal,
)

MEANINGS: dict[str, tuple[Callable[[], Refusal], type[RpcFault], bool]] = {
    "size": (RangeTooLarge, TooLarge, True),
    "calls": (TooManyCalls, Unreachable, True),
    "rate": (TooManyRequests, RateLimited, False),
    "unclear": (SomeLimit, RateLimited, True),
    "missing": (HeaderMissing, NotThere, False),
    "old": (Pruned, Incomplete, False),
    "off": (MethodOff, NotOffered, False),
    "access": (AccessRefused, Forbidden, False),
    "other": (Other, Unreachable, True),
}
"""What each means, the fault that it is, and whether a smaller request may be answered."""


class Message(NamedTuple):
    """A row.

    :param source: who writes so, and where it was found. ``made up`` are words in which others may put it.
    """

    meaning: str
    blocks: int | None
    status: int | None
    code: int | None
    source: str
    message: str


def _number(text: str) -> int | None:
    return int(text) if text else None


with Path(__file__).with_name("messages.tsv").open(encoding="utf-8", newline="") as lines:
    rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    MESSAGES = [
        Message(
            row["meaning"], _number(row["blocks"]), _number(row["status"]), _number(row["code"]),
            row["source"], row["message"],
        )
        for row in rows
    ]  # fmt: skip


def _named(each: Message) -> str:
    return f"{each.source.split(',')[0]}: {each.message[:40]}"


@pytest.mark.parametrize("each", MESSAGES, ids=_named)
def test_refusal_is_understood(each: Message) -> None:
    meaning, fault, may_be_size = MEANINGS[each.meaning]
    meant = RangeTooLarge(each.blocks) if each.meaning == "size" else meaning()
    assert refusal(each.message, each.code, each.status) == meant
    raised = fault_of(each.message, each.code, each.status)
    assert (type(raised), raised.may_be_size) == (fault, may_be_size)
    if isinstance(raised, TooLarge):
        assert raised.suggested == each.blocks


@pytest.mark.parametrize("code", [-32000, -32005, -32600, -32602, -32603])
def test_words_about_a_size_count_more_than_the_code(code: int) -> None:
    for each in MESSAGES:
        if each.meaning == "size" and "range" in each.message.lower():
            assert refusal(each.message, code) == RangeTooLarge(each.blocks), each.message


def test_messages_are_not_twice_and_none_is_left_out() -> None:
    keys = [(each.message, each.code, each.status) for each in MESSAGES]
    assert len(keys) == len(set(keys))
    assert {each.meaning for each in MESSAGES} == set(MEANINGS)


@pytest.mark.parametrize(
    "words",
    [
        "x" * READ_CHARACTERS + "query timed out",
        "9" * 1_000_000,
        "[0x" + "f" * 1_000_000,
        *(
            f"{word} " * 200_000
            for word in ("range", "max range", "exceed", "block", "method eth_a", "batch")
        ),
        "[" * 1_000_000,
        "1,111" * 200_000,
    ],
    ids=lambda words: words[:12],
)
def test_long_and_hostile_words_are_read_quickly(words: str) -> None:
    began = time.process_time()
    for _ in range(10):
        assert refusal(words) == Other()
    assert time.process_time() - began < 5
