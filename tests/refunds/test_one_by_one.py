"""Refunds of all three kinds, fed one event after the other: status 8 exactly with a provable quorum."""

from __future__ import annotations

from typing import Any

import pytest

from app.values.codes import SendKind
from app.values.codes import TransferHistoryStatus as Status
from tests.feed.services.world import about, event, released, signed
from tests.refunds.kit import KINDS, PEOPLE, Gateway, Powers, Story, rotation
from tests.refunds.rules.evidence_kit import flipped, twin

POWERS: Powers = dict(zip(PEOPLE, (100, 7, 7, 30, 30, 1, 55), strict=False))


@pytest.fixture(params=KINDS)
def story(request: pytest.FixtureRequest) -> Story:
    return Story(request.param)


def begin(gateway: Gateway, story: Story, powers: Powers = POWERS) -> None:
    gateway.take(rotation(story.chain, powers), story.sent(), story.prepared())


def test_a_flipped_signature_is_refused(gateway: Gateway, story: Story) -> None:
    begin(gateway, story)
    genuine = story.signature(PEOPLE[0])
    spoiled = [flipped(genuine, bit) for bit in range(0, 65 * 8, 97)]
    spoiled += [twin(genuine), genuine[:64], genuine + b"\0", b""]
    verdict = gateway.feed(*(signed(story.n, each) for each in spoiled))
    assert (verdict.accepted, len(verdict.refused)) == (0, len(spoiled))
    assert all(refused.reason.startswith("signature: ") for refused in verdict.refused)
    assert gateway.evidence(story)["power_signed"] == "0"
    gateway.take(*(story.signed(key) for key in POWERS))
    assert gateway.status(story)["status"] == Status.TRANSFER_REFUND_TO_BE_CONFIRMED


def test_request_before_contradicting_send_is_void(gateway: Gateway, story: Story) -> None:
    """It is stored while nothing is known that it contradicts. Then it counts for nothing."""
    stolen = story.request(receiver=bytes(19) + b"\1")
    gateway.take(story.prepared(stolen), *(story.signed(key, stolen) for key in POWERS))
    assert gateway.status(story)["status"] == Status.TRANSFER_REQUESTING_REFUND
    gateway.take(rotation(story.chain, POWERS), story.sent())
    assert gateway.status(story)["status"] == Status.TRANSFER_SUBMITTING
    evidence = gateway.evidence(story)
    assert "contradicts the transfer" in evidence["missing"][0]
    assert len(evidence["contradictions"]) == 1


def test_rotation_of_other_chain_changes_nothing(gateway: Gateway, story: Story) -> None:
    begin(gateway, story)
    gateway.take(*(story.signed(key) for key in POWERS))
    before = gateway.status(story)
    gateway.take(rotation(3 - story.chain, {PEOPLE[30]: 1}, at=-20))
    assert gateway.status(story) == before


def test_reorganised_send_serves_nothing(gateway: Gateway, story: Story) -> None:
    begin(gateway, story)
    gateway.take(*(story.signed(key) for key in POWERS))
    gateway.take(event("chain.reorged", chain_id=story.chain, from_block=100))
    assert gateway.status(story)["status"] == Status.TRANSFER_REQUESTING_REFUND
    assert gateway.evidence(story)["missing"][0] == "not known yet: the kind of the send"
    gateway.feed(story.sent())
    answer = gateway.status(story)
    assert answer["status"] == Status.TRANSFER_REFUND_TO_BE_CONFIRMED
    assert story.contract_takes(answer, POWERS)


OVERTAKEN: list[tuple[dict[str, Any], int, str]] = [
    (about(1, "refund.submitted", tx_hash="0x" + "dd" * 32), 9, "already in a block"),
    (about(1, "transfer.delayed"), 11, "waits in the contract's delay queue"),
    (released(1), 5, "was completed"),
    (about(1, "refund.completed"), 10, "has been paid"),
]


@pytest.mark.parametrize(("report", "status", "words"), OVERTAKEN, ids=[each[2] for each in OVERTAKEN])
def test_finished_refund_serves_nothing(
    gateway: Gateway, report: dict[str, Any], status: int, words: str
) -> None:
    story = Story(SendKind.POOL)
    begin(gateway, story)
    gateway.take(*(story.signed(key) for key in POWERS), report)
    assert gateway.status(story)["status"] == status
    evidence = gateway.evidence(story)
    assert evidence["proven"]
    assert len(evidence["missing"]) == 1
    assert words in evidence["missing"][0]
