"""Reorganisations of the local chains while the plan is played, and a watcher that is off now and then."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace

from flask import Flask

from demo.chains import USERS
from demo.contracts import Call
from demo.transfers import Send
from tests.watcher.on_anvil.plan import BLOCK_DELAYS, CHAINS, FIRST_TURN, Plan
from tests.watcher.on_anvil.stage import Answers, Chains, answers, differences, statuses, tell
from tests.watcher.on_anvil.watching import Watching

GHOSTS = 4
"""Transfers that are sent on branches only which do not last."""

QUIET_TURNS = 12
"""At the end, so that everything is confirmed and final."""


def ghosts(plan: Plan) -> list[Send]:
    """Transfers that never come to be. Their users keep them in their histories, with status 0."""
    never = enumerate(plan.every_kind()[:GHOSTS], start=90_000)
    return [replace(like, nonce=nonce, sender=USERS[6], receiver=USERS[7]) for nonce, like in never]


def undisturbed(app: Flask, chains: Chains, watching: Watching, plan: Plan, every: int) -> dict[int, Answers]:
    """The answers after every so many turns, and after the last one, when nothing goes wrong."""
    found = {}
    last = plan.last + QUIET_TURNS
    for turn in range(FIRST_TURN, last + 1):
        for chain in CHAINS:
            chains.mine(plan, chain, turn)
            assert watching.poll(chain), watching.faults
        tell(app, plan, turn)
        if turn % every == 0 or turn == last:
            found[turn] = answers(app, plan.begun(turn))
    for node in chains.nodes.values():
        assert_all_went_well(node, last)
    return found


def assert_all_went_well(node: object, last: int) -> None:
    """No transaction of the plan reverted: the plan means what it says."""
    for number in range(1, last + 1):
        for receipt in node.rpc("eth_getBlockReceipts", hex(number)):  # type: ignore[attr-defined]
            assert receipt["status"] == "0x1", receipt


@dataclass
class Disturbance:
    """Plays a plan, and another branch of some chain after some of its turns.

    :param expected: the answers of the undisturbed run.
    :param likely: the share of turns after which a chain is disturbed.
    :param begins_at: the turn in which the watcher is started first; before that nobody looks.
    """

    app: Flask
    chains: Chains
    watching: Watching
    plan: Plan
    expected: dict[int, Answers]
    chance: random.Random
    likely: float = 0.7
    begins_at: int = FIRST_TURN
    snapshots: dict[int, dict[int, str]] = field(default_factory=lambda: {chain: {} for chain in CHAINS})
    depths: Counter[int] = field(default_factory=Counter)
    compared: int = 0
    switches: int = 0
    eventless: int = 0
    while_off: int = 0
    in_backfill: int = 0

    @property
    def count(self) -> int:
        """Reorganisations so far."""
        return sum(self.depths.values())

    def play(self, most: int) -> None:
        """Play everything, with at most so many reorganisations."""
        last = self.plan.last + QUIET_TURNS
        for chain in CHAINS:
            self._remember(chain, FIRST_TURN - 1)
        for turn in range(FIRST_TURN, last + 1):
            for chain in CHAINS:
                self._mine(chain, turn)
                self._maybe_look(chain)
            tell(self.app, self.plan, turn)
            if turn == self.begins_at:
                self.watching.start()
            if self.count < most and self.chance.random() < self.likely:
                self._disturb(self.chance.choice(CHAINS), turn)
            if turn in self.expected and (turn == last or self.chance.random() < 0.3):
                self._compare(turn)

    def _mine(self, chain: int, turn: int, miner: bytes = bytes(20)) -> None:
        self.chains.mine(self.plan, chain, turn, miner)
        self._remember(chain, turn)

    def _remember(self, chain: int, turn: int) -> None:
        kept = self.snapshots[chain]
        kept[turn] = self.chains.nodes[chain].snapshot()
        kept.pop(turn - max(BLOCK_DELAYS.values()) - 4, None)

    def _back(self, chain: int, turn: int) -> None:
        """Take back all blocks above that of this turn."""
        self.chains.nodes[chain].revert(self.snapshots[chain][turn])
        for later in [each for each in self.snapshots[chain] if each >= turn]:
            del self.snapshots[chain][later]
        self._remember(chain, turn)

    def _disturb(self, chain: int, turn: int) -> None:
        """Another branch takes the place of the last blocks; then they come back, in other blocks or not."""
        depth = min(self.chance.randint(1, BLOCK_DELAYS[chain] + 2), turn - FIRST_TURN + 1)
        below = turn - depth
        off = bool(self.watching.readers) and self.chance.random() < 0.2
        if off:
            self.watching.stop()
        self._note(chain, turn, depth, off)
        self._back(chain, below)
        self._other_branch(chain, below, self.chance.randint(max(1, depth - 1), depth + 3))
        self._back(chain, below)
        miner = self.chance.choice((bytes(20), b"\xbb" * 20, self.chance.randbytes(20)))
        for again in range(below + 1, turn + 1):
            self._mine(chain, again, miner)
            if self.chance.random() < 0.2:
                self._maybe_look(chain)
        if off:
            self.watching.start()

    def _note(self, chain: int, turn: int, depth: int, off: bool) -> None:
        self.depths[depth] += 1
        self.while_off += off
        planned = (self.plan.turns[each].calls[chain] for each in range(turn - depth + 1, turn + 1)
                   if each in self.plan.turns)  # fmt: skip
        self.eventless += not any(planned)
        if chain in self.watching.readers:
            self.in_backfill += self.watching.backfilling(chain)

    def _other_branch(self, chain: int, below: int, length: int) -> None:
        """Some of what was planned, in other blocks, and sends that never come to be; or nothing at all."""
        node = self.chains.nodes[chain]
        node.coinbase(self.chance.randbytes(20))
        empty = self.chance.random() < 0.3
        for number in range(below + 1, below + length + 1):
            for call in () if empty else self._other_calls(chain, below, number):
                call.send(node)
            node.mine(self.plan.time(number) + self.chance.randint(0, 9))
            if self.chance.random() < 0.4:
                self._maybe_look(chain)
        if self.chance.random() < 0.7:
            self._maybe_look(chain)

    def _other_calls(self, chain: int, below: int, number: int) -> list[Call]:
        """Some of what was planned for the branch so far.

        Nothing comes earlier than it is planned: the time of a send's first sight stays, whether it stands or
        not (docs/interface.md#transfer-history).
        """
        near = [
            call
            for turn in range(below + 1, number + 1)
            if turn in self.plan.turns
            for call in self.plan.turns[turn].calls[chain]
        ]
        some = [call for call in near if self.chance.random() < 0.4]
        never = [each.call() for each in ghosts(self.plan) if each.chain == chain]
        return some + [call for call in never if self.chance.random() < 0.3]

    def _maybe_look(self, chain: int) -> None:
        if chain not in self.watching.readers or self.chance.random() < 0.3:
            return
        self.watching.poll(chain)
        while self.chance.random() < 0.3:
            self.watching.background(chain)

    def _compare(self, turn: int) -> None:
        """What is answered now, once the watcher has seen everything, is what was answered then."""
        if any(not self._in_sight(chain) for chain in CHAINS):
            return
        for chain in CHAINS:
            self.watching.settle(chain, str(self.chains.nodes[chain].block()["hash"]))
        found = differences(self.expected[turn], answers(self.app, self.plan.begun(turn)))
        assert not found, f"after turn {turn}:\n" + "\n".join(found[:12])
        # Nothing stands of what was on other branches alone; the log still knows the ids.
        others = [send for send in self.plan.sends if self.plan.begins[send] > turn] + ghosts(self.plan)
        assert set(statuses(self.app, others).values()) == {0}
        self.compared += 1

    def _in_sight(self, chain: int) -> bool:
        """Whether the chain is as high again as the branch that was read: below that it only seems to lag."""
        if chain not in self.watching.readers:
            return False
        live_to = self.watching.readers[chain].view.readings.live_to
        return live_to is None or live_to.number <= self.chains.height(chain)
