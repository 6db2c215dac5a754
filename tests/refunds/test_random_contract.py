"""A watched contract in random states: what is served is what a call of the contract would pay."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from flask import Flask

from app.feed.services.reprojection import replay
from app.transfers.rules.refunds.request_checks import signing_digest
from app.values.codes import SendKind
from app.values.codes import TransferHistoryStatus as Status
from app.values.crypto import address_of, sign_digest
from tests.actors import TESTER
from tests.amounts import few_or_many
from tests.applications import audited_of
from tests.contract.evm.machine import Call, Reverted
from tests.feed.services.world import about, forget_events
from tests.refunds.bridges import WatchedBridge, bridge_of, by_address, known_call, pays, served_call
from tests.refunds.kit import PEOPLE, Gateway, Powers, Story

PEOPLE_HERE = PEOPLE[:4]
POWERS = (0, 1, 1, 2, 3)
GREAT_POWERS = (2**254, 2**255 - 1, 2**255, 2**256 - 1)
STORIES = [Story(SendKind.POOL, int(digit * 64, 16)) for digit in "1234"]
"""Each has the withdraw id of the one two after it."""

STEPS = 30
DEEPEST = 4
"""Blocks that a reorganisation replaces at most: fewer than are final."""


def request_of(story: Story, **changes: Any) -> bytes:
    return story.request(seqnum=STORIES.index(story) % 2, **changes)


class Walk:
    """One chain, its contract and the gateway that watches it, moved at random."""

    def __init__(self, gateway: Gateway, chance: Random) -> None:
        self.gateway, self.chance = gateway, chance
        self.watched = WatchedBridge(gateway.app, STORIES[0], bridge_of(STORIES[0], {PEOPLE[0]: 1}))
        self.bridge = self.watched.bridge
        self.powers: Powers = {}
        self.snapshots: list[tuple[Any, Powers]] = []
        gateway.take(*(story.sent(src_tx_hash="0x" + "ab" * 32, block=1) for story in STORIES))
        gateway.take(*(about(story.n, "refund.requested") for story in STORIES))
        gateway.take(*(story.prepared(request_of(story)) for story in STORIES))
        self.watched.watched.chain.mine_many(2)
        self.reset()

    def remember(self) -> None:
        self.snapshots.append((self.bridge.chain.state.snapshot(), dict(self.powers)))

    def reset(self) -> None:
        """Any set that the contract accepts."""
        self.remember()
        people = self.chance.sample(PEOPLE_HERE, self.chance.choice((0, 1, 2, 3, 3, 4)))
        powers = self.chance.choice((POWERS, POWERS, POWERS[1:], POWERS + GREAT_POWERS))
        self.powers = {key: self.chance.choice(powers) for key in people}
        self.watched.reset(by_address(self.powers))

    def sign(self) -> None:
        """Somebody signs a request, who may not be in the set."""
        story = self.chance.choice(STORIES)
        self.gateway.feed(story.signed(self.chance.choice(PEOPLE_HERE), request_of(story)))

    def withdraw(self) -> None:
        """A request that the contract may take: of a transfer, of an unknown one, or of liquidity."""
        story = self.chance.choice(STORIES)
        reference: dict[str, bytes] = self.chance.choice(
            ({}, {"ref_id": b""}, {"ref_id": bytes.fromhex("77" * 32)})
        )
        request = request_of(story, **reference)
        digest = signing_digest(SendKind.POOL, story.chain, story.contract, request)
        signers = sorted(by_address(self.powers))
        keys = sorted(self.powers, key=address_of)
        powers = [self.powers[key] for key in keys]
        call = Call(request, [sign_digest(digest, key) for key in keys], signers, powers)
        self.remember()
        self.bridge.at.call("setDelay", story.token, self.chance.choice((0, 1)), 3600)
        try:
            self.watched.mine(self.bridge.at.send(self.bridge.data(call)))
        except Reverted:
            self.watched.mine()

    def reorganise(self) -> None:
        """Some blocks are replaced by empty ones: what the contract did in them was not."""
        depth = min(self.chance.randint(1, DEEPEST), len(self.snapshots) - 1)
        if depth > 0:
            for _ in range(depth):  # one by one: py-evm goes back over one deleted account at a time
                snapshot, self.powers = self.snapshots.pop()
                self.bridge.chain.state.revert(snapshot)
            self.watched.watched.chain.reorg(depth, [[]] * (depth + 1))
            for _ in range(depth + 1):
                self.remember()
            self.watched.read()

    def replay(self) -> None:
        replay(*audited_of(self.gateway.app), actor=TESTER)

    def step(self) -> None:
        moves = {self.sign: 12, self.reset: 4, self.withdraw: 2, self.reorganise: 3, self.replay: 1}
        self.chance.choices(list(moves), list(moves.values()))[0]()

    def compare(self) -> None:
        """Compare what is served of every transfer with the contract."""
        for story in STORIES:
            query = {"transfer_id": story.id}
            answer = self.gateway.client.post("/v2/getTransferStatus", json=query).get_json()
            evidence = self.gateway.client.get("/v2/getRefundEvidence", query_string=query).get_json()
            call = (
                served_call(answer)
                if answer["status"] == Status.TRANSFER_REFUND_TO_BE_CONFIRMED
                else known_call(evidence)
            )
            paid = pays(self.bridge, call)
            assert (
                paid is evidence["valid"] is (answer["status"] == Status.TRANSFER_REFUND_TO_BE_CONFIRMED)
            ), (story.id, answer["status"])


@pytest.mark.one_database
@pytest.mark.parametrize("walks", few_or_many(1, 17))
def test_served_equals_paid_by_contract(gateway: Gateway, app: Flask, walks: int) -> None:
    for seed in range(walks):
        forget_events(app)
        walk = Walk(gateway, Random(seed))
        for _ in range(STEPS):
            walk.step()
            walk.compare()
