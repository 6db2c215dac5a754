"""A block of which URLs say different things: what each does, and what is right then, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select

from app.db.database import Database
from app.db.engine import reading
from app.http.application import part_of
from app.transfers.rules.events.event_types import TransferReleased
from app.values.identifiers import BlockNumber
from app.watcher.loop.reader import VERIFY_SECONDS, Reader
from app.watcher.models import WatchDoubt
from app.watcher.queries import faulty_urls
from app.watcher.rpc.faults import RpcFault
from app.watcher.services.readings import reported
from tests.feed.services.world import NOW, feed, sent
from tests.watcher.fake_chain import START, FakeLog
from tests.watcher.fake_node import FakeNode, FalseBlock, Part
from tests.watcher.kit import CHAIN, ELSEWHERE, OTHER, Watched, relay, send, status
from tests.watcher.nodes.behaviours import receipts, results

SENT, PAID, INVENTED = 4, 7, 8
SEND, PAYOUT = send(SENT, tx="send"), relay(PAID, tx="payout")
FALSE_AMOUNT = 999
CONFIRMED, DELIVERED, PENDING = 3, 5, 1


def unrelated(number: int) -> FakeLog:
    """A log of another contract, in a transaction of its own: each block has one."""
    return FakeLog(ELSEWHERE.address, ELSEWHERE.topics, ELSEWHERE.data, f"unrelated {number}")


class Chain(Enum):
    """What can be verified on a chain."""

    ALL = "roots, filters and receipts"
    NO_FILTERS = "roots and receipts, no filters"
    NO_ROOTS = "receipts that never match"
    NO_RECEIPTS = "no receipts"


def _one_more(each: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [*each, {**each[0], "logs": [], "transactionHash": f"0x{'ee' * 32}"}]


Change = Callable[[FakeNode, int], None]
"""Lets a node do something about the block of this number and those above it."""


def _no_logs(node: FakeNode, number: int) -> None:
    node.omit = lambda log: int(log["blockNumber"], 16) >= number


def _neither_logs_nor_receipts(node: FakeNode, number: int) -> None:
    _no_logs(node, number)
    node.receipts = False


def _down(node: FakeNode, _number: int) -> None:
    node.fault = lambda _body: (500, {}, b"")


def _blank(node: FakeNode, number: int) -> None:
    node.false[number] = FalseBlock((), "empty", blank=True)


def _other_numbers(node: FakeNode, _number: int) -> None:
    def renumbered(logs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [log | {"logIndex": hex(int(log["transactionIndex"], 16) * 1000)} for log in logs]

    node.behaviours = [*node.behaviours, results("eth_getLogs", renumbered)]


def _says(*logs: FakeLog, receipts: Part = "true", lists: bool = False, forged: bool = False) -> Change:
    def change(node: FakeNode, number: int) -> None:
        node.false[number] = FalseBlock((unrelated(number), *logs), receipts, lists, forged)

    return change


DOES: Mapping[str, Change] = {
    "honest": lambda _node, _number: None,
    "returns no logs": _no_logs,
    "returns neither logs nor receipts": _neither_logs_nor_receipts,
    "does not answer": _down,
    "returns an empty root and no transactions": _blank,
    "numbers logs differently": _other_numbers,
    "leaves out the send": _says(PAYOUT),
    "leaves out the send, also in its receipts": _says(PAYOUT, receipts="false", lists=True),
    "leaves out the payout, also in its receipts": _says(SEND, receipts="false", lists=True),
    "forges": _says(SEND, PAYOUT, relay(INVENTED, tx="new"), receipts="false", lists=True, forged=True),
}
"""What a URL does, by the words of a row; besides what it invents or alters (:func:`does`)."""

FALSE = {
    "invents a payout": (SEND, PAYOUT, relay(INVENTED, tx="new")),
    "invents a payout beside another": (SEND, PAYOUT, relay(INVENTED, tx="payout")),
    "alters an amount": (SEND, relay(PAID, FALSE_AMOUNT, tx="payout")),
}
RECEIPTS: Mapping[str, Part] = {
    "true receipts": "true",
    "receipts that hold it": "false",
    "empty receipts": "empty",
    "no receipts": "missing",
}


def does(words: str) -> Change:
    """What a URL does, from the words of a row."""
    if words in DOES:
        return DOES[words]
    lie, _, with_ = words.partition(", with ")
    return _says(*FALSE[lie], receipts=RECEIPTS[with_], lists=with_ == "receipts that hold it")


@dataclass
class World:
    """A chain whose URLs were honest so far, with blocks that were read and verified.

    :param transfers: that come from the other chain, besides two.
    """

    app: Flask
    watched: Watched
    client: FlaskClient
    urls: int = 1
    chain: Chain = Chain.ALL
    transfers: range = range(0)
    reader: Reader = field(init=False)

    def __post_init__(self) -> None:
        at = (datetime.fromtimestamp(START, UTC) - NOW).total_seconds()
        for number in (PAID, INVENTED, *self.transfers):
            event = sent(number, at, src_chain_id=OTHER, dst_chain_id=CHAIN, amount=str(990 * 10**12))
            feed(self.app, event)
        watched = self.watched
        if self.chain is Chain.NO_FILTERS:
            watched.chain.unfiltered = frozenset(range(1000))
        watched.nodes[:] = [FakeNode(watched.chain) for _ in range(self.urls)]
        self.honest()
        self.mine(12)
        self.begin()
        self.polls(30, seconds=10)

    @property
    def nodes(self) -> list[FakeNode]:
        return self.watched.nodes

    def begin(self) -> None:
        """A new reader, as after a kill."""
        self.reader = self.watched.reader()

    def honest(self) -> None:
        """Every URL returns what is true, as far as its chain has it."""
        for node in self.nodes:
            self.honest_again(node)

    def honest_again(self, node: FakeNode) -> None:
        """It returns what is true, as far as its chain has it."""
        node.false, node.omit, node.fault = {}, lambda _log: False, lambda _body: None
        node.behaviours = [receipts(lambda _: True, _one_more)] if self.chain is Chain.NO_ROOTS else []
        node.receipts, node.behind = self.chain is not Chain.NO_RECEIPTS, 0

    def mine(self, count: int = 1, *logs: FakeLog) -> int:
        """Blocks of which the last has these logs. Returns its number."""
        for each in range(count):
            number = self.watched.chain.head.number + 1
            self.watched.chain.mine(unrelated(number), *(logs if each == count - 1 else ()))
        return self.watched.chain.head.number

    def polls(self, count: int = 1, seconds: float = 1) -> None:
        """Polls, each with what is done in between."""
        for _ in range(count):
            self.watched.time.go(seconds)
            part_of(self.app, Database).clock.go(seconds)  # type: ignore[attr-defined]
            self.poll()

    def poll(self) -> None:
        reader = self.reader
        with suppress(RpcFault):
            while reader.poll():
                pass
        with suppress(RpcFault):
            for _ in range(3):
                reader.background()
                self.watched.time.go(VERIFY_SECONDS)
        reader.faults.write(reader.lease)

    def goes_on(self) -> None:
        """All so far becomes final, is verified, and is older than what waits for other URLs."""
        for _ in range(12):
            self.mine()
            self.polls(2)
        self.polls(10, seconds=100)
        self.mine(60)
        self.polls(10, seconds=10)

    def heals(self) -> None:
        """Every URL is honest again, some hours long."""
        self.honest()
        self.polls(4, seconds=3700)
        self.mine()
        self.polls(5)

    def status(self, number: int) -> int:
        return status(self.client, number, {SENT})

    @property
    def doubts(self) -> set[int]:
        with reading(part_of(self.app, Database).engine) as connection:
            return set(connection.scalars(select(WatchDoubt.block).where(WatchDoubt.agreed.is_not(True))))

    @property
    def named(self) -> str:
        """The URLs that returned what cannot be true, by their letters."""
        with reading(part_of(self.app, Database).engine) as connection:
            return "".join(sorted({row.source[-1] for row in faulty_urls(connection, CHAIN)}))

    @property
    def named_for_a_block(self) -> set[str]:
        """The URLs whose logs or header of one block were found to be false."""
        with reading(part_of(self.app, Database).engine) as connection:
            found = faulty_urls(connection, CHAIN)
        return {
            row.source
            for row in found
            if " of its logs of block" in row.words or "its header of" in row.words
        }

    def see(self) -> Seen:
        """What is shown now."""
        shown = {number: self.status(number) for number in (SENT, PAID, INVENTED)}
        facts = reported(part_of(self.app, Database), CHAIN, BlockNumber(1), None)
        paid = {
            each.event.amount for each in facts if each.canonical and isinstance(each.event, TransferReleased)
        }
        return Seen(shown, frozenset(paid), frozenset(self.doubts), self.named)


@dataclass(frozen=True)
class Seen:
    """What users and operators are shown.

    :param shown: the status of each transfer by its number.
    :param paid: the amounts of all payouts.
    :param doubts: the blocks in doubt.
    :param named: the URLs that returned what cannot be true.
    """

    shown: Mapping[int, int]
    paid: frozenset[int]
    doubts: frozenset[int]
    named: str


@dataclass(frozen=True)
class Story:
    """What was seen of a block, in its order.

    :param first: before any URL did anything wrong; None where the block was mined afterwards.
    :param polls: after each of the first polls with it.
    :param end: when it was deep and old.
    :param healed: after all URLs were honest again.
    """

    first: Seen | None
    polls: tuple[Seen, ...]
    end: Seen
    healed: Seen

    @property
    def all(self) -> tuple[Seen, ...]:
        return (*([] if self.first is None else [self.first]), *self.polls, self.end, self.healed)


def _is_kept(story: Story) -> bool:
    return all(seen.shown[SENT] >= 1 and seen.shown[PAID] == DELIVERED for seen in story.all)


def _is_found(seen: Seen) -> bool:
    return (seen.shown[SENT], seen.shown[PAID], seen.paid) == (CONFIRMED, DELIVERED, {990})


def _is_true(seen: Seen) -> bool:
    return seen.shown[INVENTED] == PENDING and FALSE_AMOUNT not in seen.paid


RIGHT: Mapping[str, Callable[[Story], bool]] = {
    "all stays": _is_kept,
    "all is found": lambda story: _is_found(story.end),
    "found at once": lambda story: story.polls[0].shown[SENT] == 1 and _is_kept(story),
    "no false payout": lambda story: all(map(_is_true, (*story.polls[1:], story.end, story.healed))),
    "claimed at most": lambda story: story.end.shown[INVENTED] == PENDING or bool(story.end.doubts),
    "the send is confirmed": lambda story: story.end.shown[SENT] == CONFIRMED,
    "the payout is suspended": lambda story: (
        {seen.shown[PAID] for seen in (*story.polls[1:], story.end)} == {PENDING}
    ),
    "never in doubt": lambda story: not any(seen.doubts for seen in story.polls[1:]) and not story.end.doubts,
    "stays in doubt": lambda story: bool(story.end.doubts),
    "decided": lambda story: not story.end.doubts,
    "nobody is named": lambda story: story.end.named == "",
    "at once": lambda story: not story.polls[1].doubts and bool(story.polls[1].named),
    "A is named": lambda story: story.end.named == "A",
    "B is named": lambda story: story.end.named == "B",
    "heals": lambda story: _is_found(story.healed) and not story.healed.doubts,
}
"""What can be right, by the words of a row."""


def told(world: World, urls: tuple[str, ...], *, read_before: bool) -> Story:
    """What is seen of a block with a send and a payout.

    :param urls: what each does with it.
    :param read_before: it does so after the block was read.
    """
    number = world.watched.chain.head.number + 1
    first: Seen | None = None
    if read_before:
        world.mine(1, SEND, PAYOUT)
        world.polls(4)
        first = world.see()
    for words, node in zip(urls, world.nodes, strict=True):
        does(words)(node, number)
    if not read_before:
        world.mine(1, SEND, PAYOUT)
    polls = []
    for _ in range(4):
        world.polls()
        polls.append(world.see())
    world.goes_on()
    end = world.see()
    world.heals()
    return Story(first, tuple(polls), end, world.see())
