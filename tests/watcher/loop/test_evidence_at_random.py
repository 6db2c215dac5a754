"""Histories, and URLs that do something wrong, at random: nothing false becomes final, and all is read."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.db.database import Database
from app.db.engine import writing
from app.network.document import import_within, read_document
from app.watcher.loop import reader as reading_loop
from app.watcher.services.advance import Advanced, advance
from tests.builders import network as build
from tests.feed.services.world import NOW, forget_events, network
from tests.watcher.fake_chain import FakeChain, FakeLog
from tests.watcher.fake_node import FakeNode, FalseBlock, Part
from tests.watcher.kit import NAMES, Watched, executed, queued, refund, relay, send, terms
from tests.watcher.loop.table import Chain, World, unrelated

FEW, MANY = 2, 100
"""Histories; PostgreSQL, which is slower, gets a tenth of the many."""

STEPS = 40
FALSE_SENDS, FALSE_PAYOUTS, PAYOUTS = range(500, 600), range(600, 700), range(700, 760)
PENDING, CONFIRMED, DELIVERED, REFUNDED = 1, 3, 5, 10
FORGIVEN_SECONDS = 600.0
SHOWN_POLLS = 3
"""An end that one URL denies is shown for so many polls at most: one to read it, two to request others."""


def is_terminal(client: FlaskClient, number: int) -> bool:
    """Whether a transfer that is paid here is answered as ended."""
    answer = client.post("/v2/getTransferStatus", json={"transfer_id": f"0x{number:064x}"})
    return answer.headers["X-Transfer-Terminal"] == "true"


class Killed(Exception):
    """The process ended."""


@dataclass
class History:
    """A chain whose URLs change what they do, and a watcher that is killed now and then.

    :param faulty: the number of the only URL that says what is false.
    :param sends: those not refunded yet; ``payouts`` to come, and those that are queued.
    :param answered_at: when an honest URL answered last.
    :param usable: the URLs that the watcher could use at the last poll.
    :param forgiven: false payouts that became final while no honest URL answered for long.
    :param shown: by false payout for how many polls it has been shown while an honest URL answered.
    """

    world: World
    rng: random.Random
    faulty: int | None
    sends: list[int] = field(default_factory=list)
    payouts: list[int] = field(default_factory=lambda: list(PAYOUTS))
    waiting: list[int] = field(default_factory=list)
    false: list[int] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=lambda: iter(range(10, 500)))
    invented: Iterator[int] = field(default_factory=lambda: iter(range(100)))
    does: dict[int, str] = field(default_factory=dict)
    answered_at: float = 0.0
    shown: dict[int, int] = field(default_factory=dict)
    forgiven: set[int] = field(default_factory=set)
    usable: set[str] = field(default_factory=set)

    @property
    def chain(self) -> FakeChain:
        return self.world.watched.chain

    def step_and_check(self) -> None:
        """Something happens, and the watcher polls."""
        rng, world = self.rng, self.world
        for number, node in enumerate(world.nodes):
            if rng.random() < 0.2:
                self._change(number, node)
        for _ in range(rng.randrange(3)):
            self._mine()
        if rng.random() < 0.07:
            depth = rng.randrange(1, 3)
            self.chain.reorg(depth)
        seconds = rng.choice([1, 1, 1, 2, 10, 100, 700])
        if rng.random() < 0.1:
            with killed(rng.randrange(1, 4), after=rng.random() < 0.5):
                self._poll(seconds)
        else:
            self._poll(seconds)
        self._check()

    def _poll(self, seconds: float) -> None:
        # Others rest after a fault.
        self.usable = {node.name for node in self.world.reader.view.nodes.usable()}
        try:
            self.world.polls(1, seconds)
        except Killed:
            self.world.begin()
            self.world.polls(1)

    def _change(self, number: int, node: FakeNode) -> None:
        rng, world = self.rng, self.world
        world.honest_again(node)
        faults = ["no logs", "no logs, no receipts", "down", "behind", "late"]
        is_blind = any(what.startswith("no logs") for what in self.does.values())
        if is_blind or len(world.nodes) == 1:  # what two URLs lack is agreed
            faults = faults[2:]
        self.does.pop(number, None)
        what = rng.choice(["honest", "honest", rng.choice(faults)])
        if number == self.faulty and rng.random() < 0.5:
            what = "false"
        elif what == "no logs":
            node.omit = lambda _log: True
        elif what == "no logs, no receipts":
            node.omit, node.receipts = (lambda _log: True), False
        elif what == "down":
            node.fault = lambda _body: (500, {}, b"")
        elif what == "behind":
            node.behind = rng.randrange(1, 5)
        elif what == "late":
            node.omit = lambda log: int(log["blockNumber"], 16) > self.chain.head.number - 2
        if what != "honest":
            self.does[number] = what

    def _mine(self) -> None:
        rng = self.rng
        logs: list[FakeLog] = []
        for _ in range(rng.randrange(3)):
            number = next(self.numbers)
            match rng.randrange(5):
                case 0 | 1:
                    self.sends.append(number)
                    logs.append(send(number, tx=f"send {number}"))
                case 2 if self.payouts:
                    paid = self.payouts.pop()
                    logs.append(relay(paid, tx=f"paid {paid}"))
                case 3 if self.payouts:
                    paid = self.payouts.pop()
                    self.waiting.append(paid)
                    logs += [queued(paid, f"paid {paid}"), relay(paid, tx=f"paid {paid}")]
                case 4 if self.waiting and rng.random() < 0.7:
                    logs.append(executed(self.waiting.pop(0)))
                case 4 if self.sends:
                    back = self.sends.pop(0)
                    logs.append(refund(back, tx=f"refund {back}"))
        number = self.world.mine(1, *logs)
        if self.faulty is not None and self.does.get(self.faulty) == "false":
            self._answer_falsely(number, logs)

    def _answer_falsely(self, number: int, logs: Sequence[FakeLog]) -> None:
        rng, false_logs = self.rng, list(logs)
        match rng.randrange(4):
            case 0 if false_logs:
                del false_logs[rng.randrange(len(false_logs))]
            case 1:
                self.false.append(FALSE_SENDS[next(self.invented)])
                false_logs.append(send(self.false[-1], tx="false"))
            case 2 | 3:
                self.false.append(FALSE_PAYOUTS[next(self.invented)])
                false_logs.append(relay(self.false[-1], tx="false"))
        receipts: Part = rng.choice(["true", "false", "false", "empty", "missing"])
        lists, forged = rng.random() < 0.5, rng.random() < 0.2
        node = self.world.nodes[self.faulty or 0]
        node.false[number] = FalseBlock((unrelated(number), *false_logs), receipts, lists, forged)

    def _check(self) -> None:
        """Nothing false is final, and no false end is shown for long while an honest URL answers."""
        world, now = self.world, self.world.watched.time.seconds
        honest = [
            number
            for number in range(len(world.nodes))
            if number != self.faulty and number not in self.does and NAMES[number] in self.usable
        ]
        if honest:
            self.answered_at = now
        if len(world.nodes) > 1:
            named = world.named_for_a_block - {NAMES[self.faulty] if self.faulty is not None else ""}
            assert not named, self.told("named", named)
        is_forgiven = now - self.answered_at > FORGIVEN_SECONDS or (
            len(world.nodes) == 1 and self.faulty == 0
        )
        for number in self.false:
            if number not in FALSE_PAYOUTS:
                continue  # a send is no end
            is_shown = self.status(number) == DELIVERED
            is_final = is_shown and is_terminal(world.watched.client, number)
            if is_final and is_forgiven:
                self.forgiven.add(number)
            if number in self.forgiven:
                continue
            assert not is_final, self.told("final", number)
            counts = is_shown and honest and not is_forgiven
            self.shown[number] = self.shown.get(number, 0) + 1 if counts else 0
            assert self.shown[number] <= SHOWN_POLLS, self.told(number, self.shown[number])

    def status(self, number: int) -> int:
        return self.world.watched.status(number, {*range(600)})

    def told(self, *what: Any) -> str:
        world, row = self.world, self.world.watched.row
        read = f"read to {row.live_to}, verified to {row.proven_to}, doubts {world.doubts}: {row.fault}"
        return f"{what}, {len(world.nodes)} URLs, faulty {self.faulty}, {self.does}, {world.chain}, {read}"

    def end_and_check(self) -> None:
        """Every URL is honest again for some hours: all is as if none had ever done anything else."""
        world = self.world
        world.honest()
        world.polls(6, seconds=1900)
        world.mine(60)
        world.polls(6, seconds=10)
        world.polls(4, seconds=3700)
        for _ in range(200):  # one range that differs is read again every few polls
            if world.watched.row.proven_to == self.chain.head.number - 6:
                break
            world.polls(seconds=10)
        found = world.watched.answers
        undecided = {str(number) for number in self.false} | {f"paid {number}" for number in self.false}
        right = self._right()
        has_roots = world.chain in (Chain.ALL, Chain.NO_FILTERS)
        missing = {
            key: (found.get(key), want)
            for key, want in right.items()
            if found.get(key) != want and (has_roots or self._block_of(key) not in world.doubts)
        }
        assert not missing, self.told(missing)
        more = {key for key, is_ in found.items() if key not in right and key != "pools" and is_ != PENDING}
        if has_roots:
            assert not more, self.told(more)
            assert not world.doubts, self.told(world.doubts)
        assert more <= undecided, self.told(more)

    def _block_of(self, name: str) -> int | None:
        """The last block with something of a transfer."""
        number = int(name.removeprefix("paid "))
        logs = {
            log.data
            for log in (send(number), refund(number), relay(number), queued(number, ""), executed(number))
        }
        return max(block.number for block in self.chain.blocks if any(log.data in logs for log in block.logs))

    def _right(self) -> dict[str, int]:
        """The status of each transfer that the chain has a log of."""
        right: dict[str, int] = {}
        logs = [log for block in self.chain.blocks for log in block.logs]
        has = {(log.topics, log.data) for log in logs}

        def is_there(log: FakeLog) -> bool:
            return (log.topics, log.data) in has

        for number in range(10, 500):
            if is_there(send(number)):
                right[str(number)] = REFUNDED if is_there(refund(number)) else CONFIRMED
        for number in PAYOUTS:
            if is_there(relay(number)):
                waits = is_there(queued(number, "")) and not is_there(executed(number))
                right[f"paid {number}"] = 11 if waits else DELIVERED
        return right


@contextmanager
def killed(writes: int, *, after: bool) -> Iterator[None]:
    """The process is killed at its next write but so many, before it or after it."""
    left = writes

    def dies(*arguments: Any) -> Advanced:
        nonlocal left
        left -= 1
        if left == 0 and not after:
            raise Killed
        written = advance(*arguments)
        if left == 0:
            raise Killed
        return written

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading_loop, "advance", dies)
        yield


def serve_depth_of_watcher(database: Database) -> None:
    """An end is answered as final at the depth where the watcher finds its block final, and not later."""
    document = network()
    document["chains"][0]["finality"] = terms().finality
    with writing(database.engine) as connection:
        import_within(connection, read_document(build.text(document)), NOW)


def test_random_faults_finalize_no_false_payout(app: Flask, database: Database) -> None:
    """Excused are only: no honest URL answered for 600 s, or the only URL is faulty."""
    live_through(app, database, "few", FEW)


@pytest.mark.slow
@pytest.mark.every_database
@pytest.mark.parametrize("seed", range(20))
def test_many_random_faults_finalize_no_false_payout(app: Flask, database: Database, seed: int) -> None:
    live_through(app, database, str(seed), MANY if database.engine.dialect.name == "sqlite" else MANY // 10)


def live_through(app: Flask, database: Database, seed: str, histories: int) -> None:
    serve_depth_of_watcher(database)
    for number in range(histories):
        forget_events(app)
        rng = random.Random(f"{seed} {number}")
        urls = rng.choice([1, 2, 2, 3, 3])
        chain = rng.choice(list(Chain)) if urls > 1 else rng.choice([Chain.ALL, Chain.NO_FILTERS])
        faulty = rng.choice([None, *range(urls)])
        world = World(Watched(app), urls, chain, range(FALSE_PAYOUTS.start, PAYOUTS.stop))
        history = History(world, rng, faulty)
        for _ in range(STEPS):
            history.step_and_check()
        history.end_and_check()
