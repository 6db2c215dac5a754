"""Plans of many kinds of transfers, played on both chains with other branches in between, or without."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace

from flask import Flask

from demo.anvil import Anvil
from demo.chains import DEPLOYER, LEFT, POOL, USDX, USERS, rotation
from demo.contracts import Call
from demo.transfers import Send, liquidity_withdrawal
from tests.watcher.on_anvil.plan import AFTER, BLOCK_DELAYS, CHAINS, FIRST_TURN, Plan, large
from tests.watcher.on_anvil.stage import Answers, Chains, answers, differences, report, statuses
from tests.watcher.on_anvil.watching import Watching

GHOSTS = 4
"""Transfers that are sent on branches only which do not last."""

QUIET_TURNS = 12
"""At the end, so that everything is confirmed and final."""


def ghosts(plan: Plan) -> list[Send]:
    """Transfers that never come to be. Their users have them in their histories, with status 0."""
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
        report(app, plan, turn)
        if turn % every == 0 or turn == last:
            found[turn] = answers(app, plan.begun(turn))
    for node in chains.nodes.values():
        assert_all_went_well(node, last)
    return found


def assert_all_went_well(node: Anvil, last: int) -> None:
    """No transaction of the plan reverted: the plan does what it means."""
    for number in range(1, last + 1):
        for receipt in node.rpc("eth_getBlockReceipts", hex(number)):
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
            report(self.app, self.plan, turn)
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
        stored = self.snapshots[chain]
        stored[turn] = self.chains.nodes[chain].snapshot()
        stored.pop(turn - max(BLOCK_DELAYS.values()) - 4, None)

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
        off = self.watching.runs and self.chance.random() < 0.2
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
        if self.watching.runs:
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

        Nothing comes earlier than it is planned: the time of a send's first sight stays, whether it is
        canonical or not (docs/api/transferHistory.md#rules).
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
        if not self.watching.runs or self.chance.random() < 0.3:
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
        # Nothing is canonical that was only on other branches; the log still knows the ids.
        others = [send for send in self.plan.sends if self.plan.begins[send] > turn] + ghosts(self.plan)
        assert set(statuses(self.app, others).values()) == {0}
        self.compared += 1

    def _in_sight(self, chain: int) -> bool:
        """Whether the chain is as high again as the branch that was read: below that it only seems to lag."""
        if not self.watching.runs:
            return False
        live_to = self.watching.readings(chain).live_to
        return live_to is None or live_to.number <= self.chains.nodes[chain].head


def full_plan(start: int, seed: int = 1, spread: int = 60) -> Plan:
    """Every kind of transfer with every ending, providers, and a rotation in between.

    :param spread: the turns in which transfers begin.
    """
    chance = random.Random(seed)
    plan = Plan(start)
    plan.rotate(FIRST_TURN + spread // 2)
    for like in plan.every_kind():
        for ending in (plan.paid, plan.refunded):
            for delayed in (False, True):
                send = plan.new(like, **({"amount": large(like)} if delayed else {}))
                ending(FIRST_TURN + chance.randrange(spread), send, delayed=delayed)
        plan.prepared(FIRST_TURN + chance.randrange(spread), plan.new(like))
        plan.begin(FIRST_TURN + chance.randrange(spread), plan.new(like))
    for number, chain in enumerate(CHAINS * 4):
        turn = FIRST_TURN + chance.randrange(spread)
        provider = USERS[2 + number % 2]
        plan.call(turn, chain, POOL.call(provider, "addLiquidity", USDX.address, 10**6 + number))
        taken = turn + 3
        by = plan.validators(chain, taken)
        plan.call(taken, chain, liquidity_withdrawal(chain, provider, 10**5 + number, 10_000 + number, by))
    _rotations_first(plan)
    return plan


def small_plan(start: int) -> Plan:
    """One transfer of each kind, paid or refunded or held back, in few blocks."""
    plan = Plan(start)
    plan.rotate(FIRST_TURN + 4)
    for place, like in enumerate(plan.every_kind()):
        late = place % 3 == 2
        send = plan.new(like, **({"amount": large(like)} if late else {}))
        (plan.paid if place % 2 else plan.refunded)(FIRST_TURN + place % 6, send, delayed=late)
    plan.call(FIRST_TURN + 1, LEFT, POOL.call(USERS[2], "addLiquidity", USDX.address, 10**6))
    _rotations_first(plan)
    return plan


def _rotations_first(plan: Plan) -> None:
    """In its block, so that what is signed for this turn is signed by whom the contract believes."""
    if plan.rotates_at is not None:
        calls = plan.turns[plan.rotates_at].calls[LEFT]
        calls.sort(key=lambda call: call.sender != DEPLOYER or call.data[:4] != _ROTATES)


_ROTATES = rotation(POOL, AFTER).data[:4]
