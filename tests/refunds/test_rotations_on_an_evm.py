"""Rotations and signatures in whatever order they are reported: what is served is what the contract takes."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from flask import Flask

from app.values.codes import SendKind
from app.values.codes import TransferHistoryStatus as Status
from tests.feed.services.world import about, forget_events
from tests.refunds.bridges import bridge_of, by_address, pays, served_call
from tests.refunds.kit import PEOPLE, Gateway, Powers, Story, rotation

STORY = Story(SendKind.POOL)
OLD: Powers = {PEOPLE[0]: 3, PEOPLE[1]: 2, PEOPLE[2]: 2}
NEW: Powers = {PEOPLE[1]: 2, PEOPLE[2]: 2, PEOPLE[3]: 3}
TX = "0x" + "d1" * 32

pytestmark = pytest.mark.one_database


def signed(*numbers: int) -> list[dict[str, Any]]:
    return [STORY.signed(PEOPLE[n]) for n in numbers]


ROTATIONS = {
    "one block, two logs": (
        rotation(1, OLD, event_id="1:0xb:0xt:9", block=50, log_index=9),
        rotation(1, NEW, event_id="1:0xb:0xt:10", block=50, log_index=10),
    ),
    "a later block with an earlier time": (
        rotation(1, OLD, at=-200, block=50, log_index=1),
        rotation(1, NEW, at=-260, block=51, log_index=1),
    ),
    "a block after none": (rotation(1, OLD, at=-100), rotation(1, NEW, at=-300, block=10)),
}


@pytest.mark.parametrize("case", ROTATIONS)
@pytest.mark.parametrize("backwards", [False, True])
def test_set_of_last_log_is_served(gateway: Gateway, case: str, backwards: bool) -> None:
    bridge = bridge_of(STORY, OLD)
    bridge.set_validators(by_address(NEW))
    rotations = ROTATIONS[case][::-1] if backwards else ROTATIONS[case]
    gateway.take(STORY.sent(), *signed(0, 1, 2, 3), *rotations, STORY.prepared())
    answer = gateway.status(STORY)
    assert answer["status"] == Status.TRANSFER_REFUND_TO_BE_CONFIRMED
    assert pays(bridge, served_call(answer))
    assert gateway.evidence(STORY)["validator_set_hash"] == f"0x{bridge.set_hash:064x}"


def test_future_signature_counts_after_rotation(gateway: Gateway) -> None:
    bridge = bridge_of(STORY, OLD)
    gateway.take(rotation(1, OLD), STORY.sent(), STORY.prepared(), *signed(1, 2))
    (refused,) = gateway.feed(*signed(3)).refused
    assert "must be made by a current validator" in refused.reason
    assert gateway.status(STORY)["status"] == Status.TRANSFER_REQUESTING_REFUND
    gateway.take(rotation(1, NEW, at=-100))
    bridge.set_validators(by_address(NEW))
    answer = gateway.status(STORY)
    assert answer["status"] == Status.TRANSFER_REFUND_TO_BE_CONFIRMED
    assert pays(bridge, served_call(answer))


def test_failed_withdraw_can_be_repeated(gateway: Gateway) -> None:
    """The contract was paused when it came, so it reverted; the evidence is as good as before."""
    bridge = bridge_of(STORY, OLD)
    steps = [about(1, "refund.submitted", tx_hash=TX), about(1, "refund.failed", tx_hash=TX)]
    gateway.take(rotation(1, OLD), STORY.sent(), STORY.prepared(), *signed(0, 1))
    call = served_call(gateway.status(STORY))
    with bridge.chain.undone():
        bridge.at.call("setPaused", True)
        assert bridge.outcome_of(call) == "Paused"
    gateway.take(steps[0])
    assert (gateway.status(STORY)["status"], gateway.evidence(STORY)["valid"]) == (
        Status.TRANSFER_CONFIRMING_YOUR_REFUND,
        False,
    )
    gateway.take(steps[1])
    assert (gateway.status(STORY)["status"], gateway.evidence(STORY)["valid"]) == (
        Status.TRANSFER_REFUND_TO_BE_CONFIRMED,
        True,
    )
    assert pays(bridge, served_call(gateway.status(STORY)))


def test_every_order_is_paid(gateway: Gateway, app: Flask) -> None:
    rotations = [rotation(1, OLD)], [rotation(1, NEW, at=-100)]
    parts = [[STORY.sent()], [STORY.prepared()], signed(1, 2, 3), *rotations]
    bridge = bridge_of(STORY, NEW)
    for number, order in enumerate(itertools.islice(itertools.permutations(parts), 0, None, 7), start=1):
        for part in order:
            gateway.feed(*part)
        answer = gateway.status(STORY)
        assert answer["status"] == Status.TRANSFER_REFUND_TO_BE_CONFIRMED, number
        assert pays(bridge, served_call(answer))
        forget_events(app)
