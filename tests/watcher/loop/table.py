"""A block of which URLs return different things: what each does, and what is right then, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from sqlalchemy import select

from app.db.engine import reading
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
from tests.watcher.kit import CHAIN, ELSEWHERE, OTHER, Watched, relay, send
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


def _returns(*logs: FakeLog, receipts: Part = "true", lists: bool = False, forged: bool = False) -> Change:
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
    "leaves out the send": _returns(PAYOUT),
    "leaves out the send, also in its receipts": _returns(PAYOUT, receipts="false", lists=True),
    "leaves out the payout, also in its receipts": _returns(SEND, receipts="false", lists=True),
    "forges": _returns(SEND, PAYOUT, relay(INVENTED, tx="new"), receipts="false", lists=True, forged=True),
}
"""What a URL does, by the words of a row; besides what it invents or alters (:func:`does`)."""

FALSE = {
    "invents a payout": (SEND, PAYOUT, relay(INVENTED, tx="new")),
    "invents a payout next to another": (SEND, PAYOUT, relay(INVENTED, tx="payout")),
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
    false, _, with_ = words.partition(", with ")
    return _returns(*FALSE[false], receipts=RECEIPTS[with_], lists=with_ == "receipts that hold it")


@dataclass
class World:
    """A chain whose URLs were honest so far, with blocks that were read and verified.

    :param transfers: that come from the other chain, besides two.
    """

    watched: Watched
    urls: int = 1
    chain: Chain = Chain.ALL
    transfers: range = range(0)
    reader: Reader = field(init=False)

    def __post_init__(self) -> None:
        at = (datetime.fromtimestamp(START, UTC) - NOW).total_seconds()
        of = {"src_chain_id": OTHER, "dst_chain_id": CHAIN, "amount": str(990 * 10**12)}
        feed(self.watched.app, *(sent(number, at, **of) for number in (PAID, INVENTED, *self.transfers)))
        watched = self.watched
        if self.chain is Chain.NO_FILTERS:
            watched.chain.unfiltered = frozenset(range(1000))
        watched.nodes[:] = [FakeNode(watched.chain) for _ in range(self.urls)]
        self.honest()
        self.mine(12)
        self.begin()
        self.polls(4, seconds=75)

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
            self.watched.database.clock.forward(seconds=seconds)  # type: ignore[attr-defined]
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
        for _ in range(3):
            self.mine(4)
            self.polls()
        self.polls(2, seconds=500)
        self.mine(60)
        self.polls(3, seconds=34)

    def heals(self) -> None:
        """Every URL is honest again, some hours long."""
        self.honest()
        self.polls(3, seconds=5000)
        self.mine()
        self.polls(3)

    def status(self, number: int) -> int:
        return self.watched.status(number, {SENT})

    @property
    def doubts(self) -> set[int]:
        with reading(self.watched.database.engine) as connection:
            return set(connection.scalars(select(WatchDoubt.block).where(WatchDoubt.agreed.is_not(True))))

    @property
    def named(self) -> str:
        """The URLs that returned what cannot be true, by their letters."""
        with reading(self.watched.database.engine) as connection:
            return "".join(sorted({row.source[-1] for row in faulty_urls(connection, CHAIN)}))

    @property
    def named_for_a_block(self) -> set[str]:
        """The URLs whose logs or header of one block were found to be false."""
        with reading(self.watched.database.engine) as connection:
            found = faulty_urls(connection, CHAIN)
        return {
            row.source
            for row in found
            if " of its logs of block" in row.words or "its header of" in row.words
        }

    def see(self) -> Seen:
        """What is shown now."""
        shown = {number: self.status(number) for number in (SENT, PAID, INVENTED)}
        facts = reported(self.watched.database, CHAIN, BlockNumber(1), None)
        paid = {
            each.event.amount
            for each in facts
            if each.canonical and isinstance(each.event, TransferReleased) and each.event.amount is not None
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
